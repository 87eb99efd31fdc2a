"""Large tensors, so that memory holds few of them at a time."""

from __future__ import annotations

import contextlib
import hashlib
import math
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

SPILLED_FROM = 8 << 20
"""New tensors of at least this many bytes are kept in a temporary file, not in memory, until the model is written."""

_PAGE = 4096


def are_possible(dims: Iterable[int]) -> bool:
    """Whether any array has these dims. Of an empty one too the others are limited, as numbers of up to 16 bytes."""
    return math.prod(dim for dim in dims if dim) <= 1 << 59


@contextlib.contextmanager
def let_go(tensor: ir.TensorProtocol | None) -> Iterator[None]:
    """Unmaps a tensor of a data file after it was read, where it was not mapped before.

    A view of its elements that outlives the `with` statement stays good: its map goes with it.
    """
    was_mapped = not isinstance(tensor, ir.ExternalTensor) or tensor.raw is not None
    try:
        yield
    finally:
        if isinstance(tensor, ir.ExternalTensor) and not was_mapped:
            unmap(tensor)


def unmap(tensor: ir.ExternalTensor) -> None:
    """Lets go of the map of a data file: at once, or with the last view of it, where there is one."""
    try:
        tensor.release()
    except BufferError:  # the map itself goes with its last view
        tensor.raw = None


class _Digest:
    """Something to write to, of which only a digest stays."""

    def __init__(self) -> None:
        self._found = hashlib.blake2b()

    def write(self, data: bytes) -> None:
        """Adds bytes."""
        self._found.update(data)

    def digest(self) -> bytes:
        """The digest of all that was written."""
        return self._found.digest()


def digest_of(tensor: ir.TensorProtocol) -> bytes:
    """The digest of a tensor's bytes. Those of a data file are read piece by piece.

    Raises:
        OSError: The data file can't be read.
        ValueError: It lies where none may be read.
    """
    found = _Digest()
    if isinstance(tensor, ir.ExternalTensor):
        tensor.tofile(found)
    else:
        found.write(tensor.tobytes())
    return found.digest()


class Spill:
    """Makes tensors of arrays, and keeps large ones in one temporary file."""

    def __init__(self) -> None:
        self._file: Any = None
        self._size = 0

    def tensor(self, array: np.ndarray[Any, Any]) -> ir.TensorProtocol:
        """A tensor with the elements of an array, which is let go if it is large."""
        array = np.ascontiguousarray(array).reshape(array.shape)  # a scalar would become 1-D
        dtype = ir.DataType.from_numpy(array.dtype)
        if array.nbytes < SPILLED_FROM:
            return ir.Tensor(array, dtype=dtype)
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="foldproof-")  # noqa: SIM115  it lives as long as the tensors
        file, offset, kind, shape = self._file, self._size, array.dtype, array.shape
        file.seek(offset)
        array.tofile(file)
        file.flush()
        self._size = offset + -(-array.nbytes // _PAGE) * _PAGE
        # Mapped anew at each question: a map that stays keeps the pages that were read.
        return ir.LazyTensor(
            lambda: ir.Tensor(np.memmap(file, kind, "r", offset, shape), dtype=dtype),
            dtype=dtype,
            shape=ir.Shape(shape),
        )
