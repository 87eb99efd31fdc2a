"""The forms in which a model's file can be: binary, or one of the texts that onnx has serializers for."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from foldproof.errors import ModelError, UsageError, in_brief
from foldproof.model_file.comparing import differences
from foldproof.model_file.protobuf import PROTOBUF_LIMIT

BINARY = "protobuf"
"""The form of `.onnx` files, and of all whose name says nothing else."""

TEXT_LIMIT = 256 << 20
"""A text of more bytes is not read: its parsers take many times the memory that a binary file takes."""

_ONNX_TEXT = "onnxtxt"
_DEPTH = 100
"""Brackets of `onnxtxt` may be nested so deep: what is nested deeper in a model is more than protobuf reads."""

_NOT_CODE = re.compile(rb'"[^"]*"?|#[^\n]*')
"""Strings and comments of `onnxtxt`, once no quote in a string is escaped."""
_NO_BRACKET = bytes(set(range(256)) - set(b"(){}"))
_BRIEF = 200
"""How long the message of a parser may be."""


def format_of(path: Path) -> str:
    """The form of a file by the end of its name, as onnx has it: such as `protobuf`, `textproto`, `json`, `onnxtxt`."""
    return _registry().get_format_from_file_extension(path.suffix) or BINARY


def is_binary(path: Path) -> bool:
    """Whether a runtime can read the file."""
    return format_of(path) == BINARY


def most_bytes(form: str) -> int:
    """How many bytes a file in a form may have."""
    return PROTOBUF_LIMIT if form == BINARY else TEXT_LIMIT


def from_text(data: bytes, form: str, name: str) -> onnx.ModelProto:
    """Parses a model in one of the text forms.

    Args:
        data: The text, in UTF-8.
        form: The form, as `format_of` names it.
        name: What to call the file in an error.

    Raises:
        ModelError: It is not a model in this form.
    """
    refused = f"{name} is not an ONNX model in the form {form}"
    hint = "The form is told by the end of the name"
    if form == _ONNX_TEXT and _depth(data) > _DEPTH:  # its parser would take the process with it
        raise ModelError(f"{refused}: its brackets are nested more than {_DEPTH} deep", hint=hint)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that onnxtxt is experimental
            proto: onnx.ModelProto = _registry().get(form).deserialize_proto(data, onnx.ModelProto())
            return proto
    except Exception as error:  # each parser has its own errors, some of no common kind
        reason = in_brief(str(error).strip().removesuffix("."), _BRIEF) or type(error).__name__
        if re.fullmatch("sto[a-z]+", reason):  # of C++, which says no more than the function that failed
            reason = "a number is out of range"
        raise ModelError(f"{refused}: {reason}", hint=hint) from error


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


def _depth(text: bytes) -> int:
    """How deep brackets are nested in `onnxtxt`: those of types in types, and of graphs in graphs.

    Each of these levels has a pair of parentheses or braces, so that no other brackets need to be counted.
    """
    code = _NOT_CODE.sub(b"", text.replace(rb"\\", b"").replace(rb"\"", b""))
    brackets = np.frombuffer(code.translate(None, _NO_BRACKET), np.uint8)
    steps = np.where((brackets == ord("(")) | (brackets == ord("{")), np.int8(1), np.int8(-1))
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def _registry() -> Any:
    from onnx import serialization

    return serialization.registry
