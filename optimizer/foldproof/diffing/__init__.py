"""The differences of two models, by structure rather than by name."""

from foldproof.diffing.comparison import Comparison, compare
from foldproof.diffing.difference import Difference

__all__ = ["Comparison", "Difference", "compare"]
