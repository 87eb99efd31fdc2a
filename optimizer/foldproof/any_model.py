"""The kinds of model that a person may give, each as the source of a run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import BinaryIO, TypeAlias

import onnx
import onnx_ir as ir

from foldproof import model_file
from foldproof.errors import UsageError
from foldproof.integrations.torch_program import Program, is_program
from foldproof.model_file import Source

AnyModel: TypeAlias = "onnx.ModelProto | ir.Model | Program | str | os.PathLike[str]"
"""A model in memory, be it in a `torch.onnx.ONNXProgram`, or the path of its file."""


def loader_of(source: str | os.PathLike[str] | BinaryIO) -> Callable[[], Source]:
    """What gives the model anew each time: a stream is read only once, and now.

    Raises:
        ModelError: The stream holds no model, or an invalid one.
    """
    if isinstance(source, (str, os.PathLike)):
        return functools.partial(model_file.read, source)
    return functools.partial(model_file.from_proto, model_file.read_stream(source))


def source_of(model: AnyModel) -> Source:
    """The source of a model.

    Raises:
        UsageError: It is no model.
        ModelError: It can't be read, or is invalid.
    """
    if isinstance(model, onnx.ModelProto):
        return model_file.from_proto(model)
    if isinstance(model, ir.Model):
        return model_file.from_ir(model)
    if isinstance(model, (str, os.PathLike)):
        return model_file.read(model)
    if is_program(model):
        return model_file.from_ir(model.model)
    raise UsageError(
        f"{type(model).__name__} is no model",
        hint="Give an onnx.ModelProto, an onnx_ir.Model, a torch.onnx.ONNXProgram or the path of a file",
    )
