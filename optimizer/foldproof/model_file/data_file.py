"""The files beside a model that hold the elements of its external tensors."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import onnx_ir as ir

from foldproof.data_layout import DataLayout, linked_location, spelled
from foldproof.errors import ModelError
from foldproof.large_tensors import let_go
from foldproof.model_file.tensors import ProtoTensor, SparseTensor

INLINE_BELOW = 1024
"""New tensors of fewer bytes than this stay in the model, as constants of shapes do."""

_PAGE = 1 << 16
"""The granularity in which memory is mapped: that of Windows, which is a multiple of all others in use."""
_PAGED_FROM = 1 << 20
"""Tensors of at least this many bytes start on a page, so that a runtime can map them into memory."""


class DataFile:
    """One data file: collects tensors while a model is serialized, and writes them afterwards, one by one.

    Args:
        name: The file's name: it lies in the folder of the model.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._size = 0
        self._places: dict[Hashable, Mapping[str, str]] = {}
        self._tensors: list[tuple[int, ir.TensorProtocol]] = []

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

    def write(self, file: BinaryIO) -> None:
        """Writes all tensors. Those of other files are copied in the kernel, where the system can do that.

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


class DataFiles:
    """Decides for each tensor of a model where its elements go, and holds the data files that come of it.

    Args:
        layout: What the person wants.
        destination: Where the model will lie.
        name: Gives the name of the first data file, the second and so on.
        takes_all: Take each tensor that is not small, also those that lay in the original model itself.
    """

    def __init__(
        self, layout: DataLayout, destination: Path, name: Callable[[int], str], *, takes_all: bool = False
    ) -> None:
        self._layout = layout
        self._destination = destination
        self._name = name
        self._takes_all = takes_all or layout.external == "always"
        self._files: dict[int, DataFile] = {}
        self._numbers: dict[str, int] = {}
        self._found: set[str] = set()

    def __iter__(self) -> Iterator[DataFile]:
        """The files that have something in them, in the order of their numbers."""
        return iter(file for _, file in sorted(self._files.items()))

    def keeps(self, tensor: ir.TensorProtocol) -> bool:
        """Whether a tensor that the original has stays where it is, and what is said of it stays true."""
        if not isinstance(tensor, ir.ExternalTensor):
            return not self.takes(tensor, is_new=False)
        return self.links(tensor) and self._linked(tensor) == str(tensor.location)

    def takes(self, tensor: ir.TensorProtocol, is_new: bool) -> bool:
        """Whether `place` says where a tensor lies outside: one that was external stays so, unless all go inside.

        Args:
            tensor: The tensor.
            is_new: Whether the original has it nowhere.
        """
        if isinstance(tensor, ir.ExternalTensor):
            return self._layout.external != "never" and not self.keeps(tensor)
        if self._layout.external == "never" or tensor.dtype == ir.DataType.STRING or isinstance(tensor, SparseTensor):
            return False
        return (is_new or self._takes_all) and tensor.nbytes >= INLINE_BELOW

    def links(self, tensor: ir.TensorProtocol) -> bool:
        """Whether a tensor stays in the file that it lies in."""
        return self._layout.link and isinstance(tensor, ir.ExternalTensor)

    def place(self, tensor: ir.TensorProtocol) -> Mapping[str, str]:
        """The `external_data` entries of a tensor that is taken.

        Raises:
            UsageError: It can't be linked from the destination, or the destination's name can't be part of a location.
            ModelError: The data file that is linked is not there, or too short.
        """
        if isinstance(tensor, ir.ExternalTensor) and self.links(tensor):
            entries = {"location": self._linked(tensor), "offset": str(tensor.offset or 0)}
            return {**entries, "length": str(_size(tensor))}
        number = 0
        if self._layout.external == "auto" and isinstance(tensor, ir.ExternalTensor):
            number = self._numbers.setdefault(os.path.realpath(tensor.path), len(self._numbers))
        if number not in self._files:
            self._files[number] = DataFile(spelled(self._name(number), self._destination))
        return self._files[number].place(tensor)

    def _linked(self, tensor: ir.ExternalTensor) -> str:
        path = str(tensor.path)
        if path not in self._found:  # nothing else reads the file before the result is written
            _check_readable(tensor)
            self._found.add(path)
        return linked_location(Path(tensor.path), self._destination)


def elements_of(tensor: ir.ExternalTensor) -> bytes:
    """The bytes of a tensor of a data file, little endian and packed as in the file.

    Raises:
        ModelError: The file is missing or too short.
    """
    _check_readable(tensor)
    try:
        with let_go(tensor):
            return tensor.tobytes() if tensor.size else b""
    except ValueError as error:
        raise ModelError(f"the data of {tensor.name!r} can't be read: {error}") from error


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
