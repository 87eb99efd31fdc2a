"""A model as it was given, in the form that can be rewritten."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import BinaryIO

import onnx
import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.gc_pause import gc_paused
from foldproof.model_file.adopting import adopt, detach, tensors_of
from foldproof.model_file.blame import blame, root_cause
from foldproof.model_file.data_tensors import home_of, placing
from foldproof.model_file.formats import is_binary
from foldproof.model_file.parsing import parse, parse_stream
from foldproof.model_file.tensor_checks import check_tensors
from foldproof.model_file.views import readable_model
from foldproof.validation import check_structure


@dataclasses.dataclass
class Source:
    """A model as it was given: what is rewritten, and all that this form would lose.

    Attributes:
        model: A fresh model that the caller may change freely: what was given is never changed. Its default
            domain is always spelled `""`. Sparse initializers and constants are initializers and `value`
            attributes of the class `SparseTensor`; values of a type that onnx_ir lacks (maps) have the type
            None.
        proto: The original, never changed; None where the source was an `onnx_ir.Model`.
        path: The file that it was read from, if any.
        data_files: The files that its external tensors lie in, whether they exist or not.
        home: The path beside which its data lies: `path`, or the file that this leads to.
        redeclared: Names of graph inputs and outputs whose declaration the caller changed on purpose
            (`--set-dim`). They are written as `model` has them; all others exactly as they were given.
        corrected: Inner values whose declaration inference disproved. They are declared as `model` has them.
    """

    model: ir.Model
    proto: onnx.ModelProto | None = None
    path: Path | None = None
    data_files: tuple[Path, ...] = ()
    home: Path | None = None
    redeclared: set[str] = dataclasses.field(default_factory=set)
    corrected: list[ir.Value] = dataclasses.field(default_factory=list)

    @property
    def file(self) -> Path | None:
        """The file that a runtime can read, and find its data from; None where there is none."""
        return self.home if self.home is not None and is_binary(self.home) else None


def read(path: str | os.PathLike[str]) -> Source:
    """Reads a model's file, in the form that its name says: binary, unless it is that of a text form.

    External data stays in its files, which are opened only where elements are asked for.

    Raises:
        ModelError: The file is missing, unreadable, empty, truncated or no ONNX model, or the model is
            invalid.
    """
    path = Path(path)
    return _load(parse(path), path)


def read_stream(stream: BinaryIO) -> onnx.ModelProto:
    """Reads a model in binary form from a stream, to its end.

    Raises:
        ModelError: It is no ONNX model, or was cut short.
    """
    return parse_stream(stream, "the standard input")


def from_proto(proto: onnx.ModelProto) -> Source:
    """Takes a `ModelProto`, neither changed nor copied: the tensors of the new model refer to its messages.

    External data is looked for relative to the working directory, and only where it is asked for.

    Raises:
        ModelError: The model is invalid.
    """
    return _load(proto, None)


def from_ir(model: ir.Model) -> Source:
    """Takes a clone of an `onnx_ir.Model`. The elements of tensors are shared.

    Raises:
        ModelError: The model can't be cloned: it reads values that are not its own, or its nodes are out of
            order.
    """
    try:
        with gc_paused():
            clone = model.clone()
    except (RuntimeError, ValueError, TypeError, KeyError) as error:
        reason = f"the model can't be cloned: {root_cause(error)}"
        raise ModelError(reason, hint="Each value that it reads must be defined in it, before it is read") from error
    detach(clone)
    return Source(clone, data_files=_data_files(clone))


def external_files(source: Source) -> list[Path]:
    """The files that the input's external tensors lie in, existing or not. No output may overwrite them."""
    return list(source.data_files)


def _load(proto: onnx.ModelProto, path: Path | None) -> Source:
    home = None if path is None else home_of(path, proto)
    try:
        is_sorted = check_structure(proto)
        check_tensors(proto, home)
        with gc_paused():
            model = ir.serde.deserialize_model(readable_model(proto))
            adopt(model, proto, placing(home))
        if not is_sorted:
            model.graph.sort()
        return Source(model, proto, path, _data_files(model), home)
    except RecursionError as error:
        raise ModelError("its subgraphs are nested too deeply", hint="Flatten the model and export it again") from error
    except (
        ir.serde.SerdeError,
        ValueError,
        TypeError,
        KeyError,
        NotImplementedError,
        AttributeError,
    ) as error:
        raise blame(proto) or ModelError(
            f"the model can't be read: {root_cause(error)}",
            hint="Check it with onnx.checker, or export it again",
        ) from error


def _data_files(model: ir.Model) -> tuple[Path, ...]:
    external = (tensor for tensor in tensors_of(model) if isinstance(tensor, ir.ExternalTensor))
    return tuple(dict.fromkeys(Path(tensor.path) for tensor in external))
