"""From a path to a `ModelProto`, or to an error that says what lies there instead."""

from __future__ import annotations

import io
import stat
from pathlib import Path
from typing import BinaryIO

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from foldproof.errors import ModelError
from foldproof.model_file.formats import BINARY, format_of, from_text, most_bytes

_PIECE = 1 << 20
"""So many bytes of a stream are read at once."""

_SIGNATURES = (
    (b"version https://git-lfs", "It is a Git LFS pointer: fetch the model itself with `git lfs pull`"),
    (
        b"PK\x03\x04",
        "It is a ZIP archive, perhaps a PyTorch checkpoint: unpack it, or export the model to ONNX",
    ),
    (b"\x1f\x8b", "It is compressed: unpack it first"),
    (b"\x89HDF", "It is an HDF5 file, perhaps of Keras: export the model to ONNX"),
    (b"{", "It looks like JSON: if it is a model in that form, name it .json"),
    (b"<", "It looks like text, perhaps a web page that was downloaded in place of the model"),
)


def parse(path: Path) -> onnx.ModelProto:
    """Reads and parses the file at `path`, in the form that its name says. External data is not read.

    Raises:
        ModelError: There is no readable file, or it is not a whole ONNX model in this form.
    """
    form = format_of(path)
    data = _contents(path, most_bytes(form))
    return parse_bytes(data, str(path)) if form == BINARY or not data else from_text(data, form, str(path))


def parse_stream(stream: BinaryIO, name: str) -> onnx.ModelProto:
    """Reads and parses a model in binary form from a stream, to its end.

    Args:
        stream: The stream.
        name: What to call it in an error.

    Raises:
        ModelError: It is not a whole ONNX model.
    """
    most = most_bytes(BINARY)
    data = io.BytesIO()
    while piece := stream.read(_PIECE):
        data.write(piece)
        if data.tell() > most:
            raise _too_large(name, most)
    return parse_bytes(data.getvalue(), name)


def parse_bytes(data: bytes, path: str) -> onnx.ModelProto:
    """Parses a model in binary form.

    Args:
        data: All of it.
        path: What to call it in an error.

    Raises:
        ModelError: It is not a whole ONNX model.
    """
    if not data:
        raise ModelError(f"{path} is empty", hint="Download or export the model again")
    try:
        proto = onnx.ModelProto()
        proto.ParseFromString(data)
    except DecodeError as error:
        raise ModelError(f"{path} is not an ONNX model, or was cut short", hint=_guess(data)) from error
    if not proto.HasField("graph"):
        raise ModelError(f"{path} is not an ONNX model: it has no graph", hint=_guess(data))
    return proto


def _contents(path: Path, most: int) -> bytes:
    try:
        status = path.stat()
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            raise ModelError(f"{path} is a directory", hint="Give the .onnx file in it")
        if not stat.S_ISREG(mode):
            raise ModelError(f"{path} is not a regular file", hint="Give a .onnx file")
        if status.st_size > most:
            raise _too_large(str(path), most)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelError(f"there is no file {path}", hint="Check the path") from error
    except PermissionError as error:
        raise ModelError(
            f"no permission to read {path}", hint="Change its mode, or copy it to a place of your own"
        ) from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ModelError(f"{path} can't be read: {reason}", hint="Check the path and the disk") from error


def _too_large(name: str, most: int) -> ModelError:
    return ModelError(
        f"{name} has more than {most:,} bytes, the most that a model in its form may have",
        hint="Save the model with its weights in a data file beside it",
    )


def _guess(data: bytes) -> str:
    """What to do about a file that isn't a model, judged by its first bytes."""
    for signature, hint in _SIGNATURES:
        if data.startswith(signature):
            return hint
    return "Check that it is a .onnx file, and that it was copied or downloaded as a whole"
