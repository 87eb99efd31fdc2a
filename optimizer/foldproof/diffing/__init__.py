"""The differences of two models, by structure rather than by name."""

from foldproof.diffing.comparison import compare
from foldproof.diffing.difference import Difference

__all__ = ["Difference", "compare"]
