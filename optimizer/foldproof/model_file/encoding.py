"""A model as bytes, with its tensors inside or outside as the person wants it."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
from google.protobuf.message import EncodeError  # type: ignore[import-untyped]

from foldproof.data_layout import DataLayout, data_name
from foldproof.errors import ModelError, UsageError
from foldproof.model_file.adopting import tensors_of
from foldproof.model_file.data_file import DataFile, DataFiles
from foldproof.model_file.protobuf import PROTOBUF_LIMIT
from foldproof.model_file.serializing import to_proto
from foldproof.model_file.source import Source


def to_bytes(model: ir.Model, source: Source, layout: DataLayout | None = None) -> bytes:
    """The model as one binary file, for a stream.

    Raises:
        UsageError: It needs a data file.
        ModelError: A data file of the input can't be read.
    """
    contents, data = encode(model, source, Path("-"), layout or DataLayout(), "")
    if data or (source.data_files and layout is not None and layout.link):
        raise UsageError(
            "a model with external data can't be written to the standard output",
            hint="Name a file with -o, or put the data into the model with --external-data never",
        )
    return contents


def encode(
    model: ir.Model, source: Source, destination: Path, layout: DataLayout, token: str
) -> tuple[bytes, list[DataFile]]:
    """The bytes of a model, and the data files that go with it.

    Args:
        model: The model, made from `source`. It is not changed.
        source: What it was made from.
        destination: Where it will lie.
        layout: Where the elements of tensors go.
        token: What sets the names of the data files apart from those of another run; empty where nothing has to.

    Raises:
        UsageError: It is too large for one file, and that is what the layout says.
        ModelError: It is too large for any.
    """

    def store(takes_all: bool) -> DataFiles:
        return DataFiles(layout, destination, lambda number: data_name(destination, number, token), takes_all=takes_all)

    sizes = [(tensor.nbytes, isinstance(tensor, ir.ExternalTensor)) for tensor in tensors_of(model)]
    is_inside = layout.external == "never"
    is_too_big = sum(size for size, is_external in sizes if is_inside or not is_external) > PROTOBUF_LIMIT
    if is_too_big and is_inside:
        raise _too_big()
    has_data = bool(source.data_files) or any(is_external for _, is_external in sizes)
    data = store(is_too_big)
    is_plain = layout.external == "auto" and not is_too_big and not has_data
    contents = _to_bytes(to_proto(model, source, None if is_plain else data))
    if contents is None and is_inside:
        raise _too_big()
    if contents is None and not is_too_big:
        data = store(True)
        contents = _to_bytes(to_proto(model, source, data))
    if contents is None:
        raise ModelError("the model has more than 2 GB besides its tensors", hint="ONNX files can't hold so much")
    return contents, list(data)


def _too_big() -> UsageError:
    return UsageError(
        "the model has more than 2 GB, which no file can hold by itself", hint="Leave out --external-data never"
    )


def _to_bytes(proto: onnx.ModelProto) -> bytes | None:
    """The serialized message, or None if it is over the limit."""
    try:
        contents = proto.SerializeToString()
    except (EncodeError, ValueError):  # its ways of saying that it is too big
        return None
    return contents if len(contents) <= PROTOBUF_LIMIT else None
