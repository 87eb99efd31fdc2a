"""Constant folding: computes once what is the same in every run, and stores the result."""

from foldproof.folding.budget import Budget
from foldproof.folding.folder import Folder
from foldproof.folding.folding_rule import constant_folding

__all__ = ["Budget", "Folder", "constant_folding"]
