"""The file beside a model that holds the elements of its external tensors."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import BinaryIO

import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.model_file.tensors import ProtoTensor, SparseTensor

INLINE_BELOW = 1024
"""New tensors of fewer bytes than this stay in the model, as constants of shapes do."""

_PAGE = 4096
_PAGED_FROM = 1 << 20
"""Tensors of at least this many bytes start on a page, so that a runtime can map them into memory."""


class DataFile:
    """Collects tensors while a model is serialized; writes them afterwards, one by one.

    Args:
        name: The file's name: it lies in the folder of the model.
        takes_all: Take each tensor that is not small, also those that lay in the original model itself.
    """

    def __init__(self, name: str, takes_all: bool = False) -> None:
        self.name = name
        self._takes_all = takes_all
        self._size = 0
        self._places: dict[Hashable, Mapping[str, str]] = {}
        self._tensors: list[tuple[int, ir.TensorProtocol]] = []

    def takes(self, tensor: ir.TensorProtocol, is_new: bool) -> bool:
        """Whether this tensor goes to the file: one that was external stays so."""
        if isinstance(tensor, ir.ExternalTensor):
            return True
        if tensor.dtype == ir.DataType.STRING or isinstance(tensor, SparseTensor):
            return False
        return (is_new or self._takes_all) and tensor.nbytes >= INLINE_BELOW

    def place(self, tensor: ir.TensorProtocol) -> Mapping[str, str]:
        """Reserves the place of a tensor. Tensors that share their elements share the place."""
        key = _elements(tensor)
        if key not in self._places:
            size = _size(tensor)
            if size >= _PAGED_FROM:
                self._size = -(-self._size // _PAGE) * _PAGE
            self._places[key] = {"location": self.name, "offset": str(self._size), "length": str(size)}
            self._tensors.append((self._size, tensor))
            self._size += size
        return self._places[key]

    @property
    def is_empty(self) -> bool:
        """Whether no tensor was taken."""
        return not self._tensors

    def write(self, file: BinaryIO) -> None:
        """Writes all tensors. Those of other files are streamed.

        Raises:
            ModelError: A data file of the input is missing, too short or out of bounds.
            OSError: The file can't be written.
        """
        for offset, tensor in self._tensors:
            if isinstance(tensor, ir.ExternalTensor):
                _check_readable(tensor)
            file.seek(offset)
            try:
                _copy(tensor, file)
            except ValueError as error:
                raise ModelError(f"the data of {tensor.name!r} can't be read: {error}") from error
            if file.tell() != offset + _size(tensor):
                raise ModelError(f"the data of {tensor.name!r} is not as long as its dims say", hint="Export it again")
        file.truncate(self._size)


def _copy(tensor: ir.TensorProtocol, file: BinaryIO) -> None:
    tofile = getattr(tensor, "tofile", None)  # not every kind of tensor has it
    if tofile is None:
        file.write(tensor.tobytes())
    else:
        tofile(file)


def _size(tensor: ir.TensorProtocol) -> int:
    return (tensor.length if isinstance(tensor, ir.ExternalTensor) else None) or tensor.nbytes


def _elements(tensor: ir.TensorProtocol) -> Hashable:
    if isinstance(tensor, ir.ExternalTensor):
        return (os.path.realpath(tensor.path), tensor.offset or 0, _size(tensor))
    return id(tensor.origin) if isinstance(tensor, ProtoTensor) else id(tensor)


def _check_readable(tensor: ir.ExternalTensor) -> None:
    path = Path(tensor.path)
    need = (tensor.offset or 0) + _size(tensor)
    try:
        have = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise ModelError(
            f"the data file {path} of the tensor {tensor.name!r} can't be read: {reason}",
            hint="It must lie beside the model; give the model by its path",
        ) from error
    if have < need:
        raise ModelError(
            f"the data file {path} has {have} bytes, but the tensor {tensor.name!r} ends at {need}",
            hint="Download or export the model again, with its data",
        )
