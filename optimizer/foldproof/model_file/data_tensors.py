"""External tensors that onnx_ir can't read: those behind links, as in a cache of downloads, and empty ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from foldproof.protos import external_locations


class LinkedTensor(ir.ExternalTensor):
    """An external tensor whose location is a link out of the model's folder.

    onnx_ir reads no such links. Those that are to be read were chosen before, see `external_data`.

    Args:
        tensor: What the model says.
        path: The file that its location leads to.
    """

    __slots__ = ("_real",)

    def __init__(self, tensor: ir.ExternalTensor, path: str) -> None:
        super().__init__(tensor.location, **_stated(tensor), base_dir=Path(path).parent)
        self._real = path

    @property
    def path(self) -> str:
        """The file itself."""
        return self._real


class EmptyTensor(ir.ExternalTensor):
    """An external tensor without elements. onnx_ir maps nothing of its file, and then asks for the map.

    Args:
        tensor: What the model says.
        folder: The folder that its data lies in.
    """

    __slots__ = ()

    def __init__(self, tensor: ir.ExternalTensor, folder: str | Path) -> None:
        super().__init__(tensor.location, **_stated(tensor), base_dir=folder)

    def tobytes(self) -> bytes:
        """No bytes."""
        return b""


def _stated(tensor: ir.ExternalTensor) -> dict[str, Any]:
    """What the model says of a tensor, but for the file that it lies in."""
    return {
        "offset": tensor.offset,
        "length": tensor.length,
        "dtype": tensor.dtype,
        "shape": tensor.shape,
        "name": tensor.name,
        "doc_string": tensor.doc_string,
        "metadata_props": dict(tensor.metadata_props),
    }


def home_of(path: Path, proto: onnx.ModelProto) -> Path:
    """The path beside which a model's data lies: its own, or where that is a link, maybe that of the file it leads to.

    Args:
        path: The model's file.
        proto: The model.
    """
    if not path.is_symlink():
        return path
    real, locations = Path(os.path.realpath(path)), external_locations(proto)
    is_beside = any(os.path.lexists(path.parent / location) for location in locations)
    is_there = any(os.path.lexists(real.parent / location) for location in locations)
    return real if is_there and not is_beside else path


def placing(home: Path | None) -> Callable[[ir.ExternalTensor], ir.ExternalTensor]:
    """Gives external tensors the folder that their data lies in.

    Args:
        home: The path beside which it lies; None for the working directory.
    """
    if home is None:
        return _in_folder("")
    if not home.is_symlink():
        return _in_folder(home.parent)
    folder = Path(os.path.realpath(home.parent))

    def placed(tensor: ir.ExternalTensor) -> ir.ExternalTensor:
        real = os.path.realpath(home.parent / tensor.location)
        if Path(real).is_relative_to(folder):
            return _in_folder(home.parent)(tensor)
        return LinkedTensor(tensor, real)

    return placed


def _in_folder(folder: str | Path) -> Callable[[ir.ExternalTensor], ir.ExternalTensor]:
    def placed(tensor: ir.ExternalTensor) -> ir.ExternalTensor:
        if tensor.size == 0:
            return EmptyTensor(tensor, folder)
        tensor.base_dir = folder
        return tensor

    return placed
