"""Functions with the names and parameters of onnxsim's and onnxslim's, see the documentation's part on migrating."""

from foldproof.compat.onnxsim import simplify
from foldproof.compat.onnxslim import slim

__all__ = ["simplify", "slim"]
