"""The person's own inputs: `.npz` and `.npy` files, and the test data of ONNX.

One `.npz` file is one feed, its keys are input names. The `NAME.npy` files of a folder make one feed together, and each
subfolder that holds such files makes another. So do files `input_0.pb`, `input_1.pb` and so on, as in the folders
`test_data_set_0` that come with models of ONNX; `output_0.pb` is not looked at.
"""

from __future__ import annotations

import contextlib
import pathlib
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import helper, numpy_helper

from ..errors import UsageError
from .signature import Input


def read_feeds(folder: pathlib.Path, inputs: tuple[Input, ...]) -> list[tuple[str, dict[str, Any]]]:
    """The feeds in a folder, each with where it came from, sorted by that.

    Args:
        folder: The folder.
        inputs: The model's inputs, which the feeds have to match.

    Raises:
        UsageError: There is no such folder or no feed in it, a file can't be read, or a name, dtype or
            shape does not match.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", hint="--feeds takes a folder of .npz, .npy or input_0.pb files")
    found: list[tuple[str, dict[str, Any]]] = []
    for place in [folder, *sorted(each for each in folder.iterdir() if each.is_dir())]:
        singles = sorted(place.glob("*.npy"))
        if singles:
            found.append((str(place), {each.stem: _array(each) for each in singles}))
        found += [(str(archive), _arrays(archive)) for archive in sorted(place.glob("*.npz"))]
        protos = {each.stem: each for each in place.glob("input_*.pb")}
        if protos:
            found.append((str(place), _protos(protos, inputs)))
    if not found:
        raise UsageError(
            f"{folder} holds no .npz, .npy and no input_0.pb file", hint=f"The model takes {_expected(inputs)}"
        )
    return [(source, _checked(source, feed, inputs)) for source, feed in found]


def _array(path: pathlib.Path) -> np.ndarray:
    """The array in a `.npy` file."""
    with _reading(path):
        content = np.load(path, allow_pickle=False)
        if not isinstance(content, np.ndarray):
            raise ValueError("it is an archive of several arrays")
        return content


def _arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
    """The arrays in a `.npz` file by name."""
    with _reading(path):
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            raise ValueError("it is no archive, but one array")
        with content:
            return {name: content[name] for name in content.files}


def _protos(files: dict[str, pathlib.Path], inputs: tuple[Input, ...]) -> dict[str, Any]:
    """The values in files of protobuf: the place of the input is in a file's name."""
    feed: dict[str, Any] = {}
    for stem, path in sorted(files.items()):
        number = stem.removeprefix("input_")
        if not number.isdecimal() or int(number) >= len(inputs):
            hint = f"The model takes {_expected(inputs)}"
            raise UsageError(f"{path}: the model has no input of that number", hint=hint)
        declared = inputs[int(number)]
        with _reading(path):
            feed[declared.name] = _decoded(path.read_bytes(), declared)
    return feed


def _decoded(content: bytes, declared: Input) -> Any:
    """The value in a message, of the type that an input declares."""
    if declared.kind == "sequence":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if declared.kind == "optional":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    if declared.kind == "map":
        return numpy_helper.to_dict(onnx.MapProto.FromString(content))
    array = numpy_helper.to_array(onnx.TensorProto.FromString(content))
    return array.astype(str) if array.dtype == object else array


@contextlib.contextmanager
def _reading(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, DecodeError) as error:
        raise UsageError(
            f"{path} can't be read: {error}",
            hint="Write it with numpy.save or numpy.savez, or as a TensorProto of onnx.numpy_helper.from_array",
        ) from error


def _checked(source: str, feed: dict[str, Any], inputs: tuple[Input, ...]) -> dict[str, Any]:
    known = {each.name: each for each in inputs}
    unknown = [name for name in feed if name not in known]
    missing = [each.name for each in inputs if each.name not in feed and each.default is None]
    if unknown or missing:
        parts = [f"no input is called {', '.join(map(repr, unknown))}"] if unknown else []
        parts += [f"input {', '.join(map(repr, missing))} is missing"] if missing else []
        raise UsageError(f"{source}: {' and '.join(parts)}", hint=f"The model takes {_expected(inputs)}")
    return {name: _fitted(source, known[name], value) for name, value in feed.items()}


def _fitted(source: str, declared: Input, value: Any) -> Any:
    """The value as the model takes it: strings as objects, the narrow float types by their bits."""
    hint = f"The model takes {_expected((declared,))}"
    if not isinstance(value, np.ndarray):
        return value
    if declared.kind == "optional":
        return value
    if declared.kind != "tensor":
        raise UsageError(f"{source}: input {declared.name!r} is no tensor, and .npy files hold only tensors", hint=hint)
    if declared.element_type == onnx.TensorProto.STRING:
        if value.dtype.kind not in "US":
            raise UsageError(f"{source}: input {declared.name!r} is {value.dtype}, not text", hint=hint)
        return value.astype(str).astype(object)
    wanted = np.dtype(helper.tensor_dtype_to_np_dtype(declared.element_type))
    if value.dtype != wanted:
        # numpy.save forgets the types of ml_dtypes: they come back as raw bytes of the same width.
        if not (wanted.kind == value.dtype.kind == "V" and value.dtype.itemsize == wanted.itemsize):
            raise UsageError(f"{source}: input {declared.name!r} is {value.dtype}, not {wanted}", hint=hint)
        value = value.view(wanted)
    dims = declared.dims
    if dims is not None and (
        len(dims) != value.ndim
        or any(isinstance(dim, int) and dim != size for dim, size in zip(dims, value.shape, strict=True))
    ):
        raise UsageError(f"{source}: input {declared.name!r} has shape {list(value.shape)}", hint=hint)
    return value


def _expected(inputs: tuple[Input, ...]) -> str:
    parts = []
    for each in inputs:
        kind = (
            helper.tensor_dtype_to_string(each.element_type).rpartition(".")[2].lower()
            if each.element_type
            else each.kind
        )
        dims = "" if each.dims is None else " [" + ", ".join(map(str, each.dims)) + "]"
        parts.append(f"{each.name} ({kind}{dims})")
    return ", ".join(parts) or "no input"


def binding_of(feed: dict[str, Any], inputs: tuple[Input, ...]) -> dict[str, int]:
    """The binding at which a feed is."""
    binding: dict[str, int] = {}
    for each in inputs:
        value = feed.get(each.name)
        if isinstance(value, np.ndarray) and each.dims is not None:
            binding.update(
                {dim: size for dim, size in zip(each.dims, value.shape, strict=True) if isinstance(dim, str)}
            )
    return binding
