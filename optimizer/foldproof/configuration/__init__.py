"""The file in which a project says how its models are optimized, verified and gated."""

from foldproof.configuration.file import ConfigurationFile, find, read
from foldproof.configuration.place import Place
from foldproof.configuration.section import Section
from foldproof.configuration.setting import InForce, Setting, settings_of

__all__ = ["ConfigurationFile", "InForce", "Place", "Section", "Setting", "find", "read", "settings_of"]
