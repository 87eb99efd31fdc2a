"""The forms in which a model's file can be: binary, or one of the texts that onnx has serializers for."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import onnx

from foldproof.errors import ModelError, UsageError
from foldproof.model_file.comparing import differences

BINARY = "protobuf"
"""The form of `.onnx` files, and of all whose name says nothing else."""


def format_of(path: Path) -> str:
    """The form of a file by the end of its name, as onnx has it: such as `protobuf`, `textproto`, `json`, `onnxtxt`."""
    return _registry().get_format_from_file_extension(path.suffix) or BINARY


def is_binary(path: Path) -> bool:
    """Whether a runtime can read the file."""
    return format_of(path) == BINARY


def from_text(data: bytes, form: str, name: str) -> onnx.ModelProto:
    """Parses a model in one of the text forms.

    Args:
        data: The text, in UTF-8.
        form: The form, as `format_of` names it.
        name: What to call the file in an error.

    Raises:
        ModelError: It is not a model in this form.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that onnxtxt is experimental
            proto: onnx.ModelProto = _registry().get(form).deserialize_proto(data, onnx.ModelProto())
            return proto
    except Exception as error:  # each parser has its own errors, some of no common kind
        reason = " ".join(str(error).split())
        raise ModelError(
            f"{name} is not an ONNX model in the form {form}: {reason}", hint="The form is told by the end of the name"
        ) from error


def to_text(proto: onnx.ModelProto, form: str) -> bytes:
    """Writes a model in one of the text forms, and makes sure that it can be read back as it is.

    Args:
        proto: The model.
        form: The form, as `format_of` names it.

    Raises:
        UsageError: The form can't hold all of the model: not each one has unknown fields, or all of ONNX.
    """
    hint = "Write a .onnx file, which holds everything"
    try:
        text: bytes = _registry().get(form).serialize_proto(proto)
        back = from_text(text, form, "it")
    except Exception as error:
        raise UsageError(f"the model can't be written in the form {form}: {error}", hint=hint) from error
    lost = next(differences(proto, back), None)
    if lost is not None:
        raise UsageError(f"the form {form} can't hold all of this model: {lost}", hint=hint)
    return text


def _registry() -> Any:
    from onnx import serialization

    return serialization.registry
