"""Model files: reading, keeping what a rewrite has no business with, and writing."""

from foldproof.model_file.comparing import differences
from foldproof.model_file.encoding import to_bytes
from foldproof.model_file.references import data_of
from foldproof.model_file.serializing import to_proto
from foldproof.model_file.source import Source, external_files, from_ir, from_proto, read, read_stream
from foldproof.model_file.staging import Staged, stage, write
from foldproof.model_file.tensors import ProtoTensor, SparseTensor

__all__ = [
    "ProtoTensor",
    "Source",
    "SparseTensor",
    "Staged",
    "data_of",
    "differences",
    "external_files",
    "from_ir",
    "from_proto",
    "read",
    "read_stream",
    "stage",
    "to_bytes",
    "to_proto",
    "write",
]
