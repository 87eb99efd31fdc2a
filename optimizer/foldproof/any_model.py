"""The kinds of model that a person may give, each as the source of a run."""

from __future__ import annotations

import foldproof.lazy_sympy  # noqa: F401  before all that imports onnx_ir

# isort: split
import contextlib
import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import onnx
import onnx_ir as ir

from foldproof import model_file
from foldproof.errors import UsageError
from foldproof.integrations.torch_program import Program, is_program
from foldproof.model_file import Source

if TYPE_CHECKING:
    from foldproof.verification import Runnable

AnyModel: TypeAlias = "onnx.ModelProto | ir.Model | Program | str | os.PathLike[str]"
"""A model in memory, be it in a `torch.onnx.ONNXProgram`, or the path of its file."""


def loader_of(source: str | os.PathLike[str] | BinaryIO) -> Callable[[], Source]:
    """What gives the model anew each time: a stream is read only once."""
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


def runnable_of(source: Source, temporary: contextlib.ExitStack) -> Runnable:
    """A model as verification takes it.

    Args:
        source: The model.
        temporary: Removes what has to be written for it.
    """
    if source.data_files and source.path is not None:
        if source.file is not None:
            return source.file
        path = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="foldproof-"))) / "model.onnx"
        model_file.write(source.model, source, path, is_output=False)
        return path
    return source.proto if source.proto is not None else model_file.to_proto(source.model, source)
