"""Model files: reading, keeping what a rewrite has no business with, and writing."""

from foldproof.model_file.serializing import to_proto
from foldproof.model_file.source import Source, external_files, from_ir, from_proto, read
from foldproof.model_file.staging import Staged, stage, write
from foldproof.model_file.tensors import ProtoTensor, SparseTensor

__all__ = [
    "ProtoTensor",
    "Source",
    "SparseTensor",
    "Staged",
    "external_files",
    "from_ir",
    "from_proto",
    "read",
    "stage",
    "to_proto",
    "write",
]
