"""Folding, as a rule that can be listed and skipped. It is tried in batches, by the engine."""

from foldproof.folding import constant_folding

__all__ = ["constant_folding"]
