"""Writes the beginning of a rule pack, a package of somebody else's rules."""

from foldproof.rule_packs.new_pack import write_pack

__all__ = ["write_pack"]
