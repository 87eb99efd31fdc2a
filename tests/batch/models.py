"""Small models for batches."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import onnx

from foldproof import optimize_file
from tests.helpers import parse

RULES = Path(__file__).with_name("stalling_rules.py")


def save(folder: Path, *names: str, operator: str = "Relu") -> None:
    """Writes models, each of which has another name for its output, and a `Size` that is static."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model(path.stem, operator), path)


def model(name: str = "y", operator: str = "Relu") -> onnx.ModelProto:
    text = f"g (float[N,3] x, float[2,3] sized) => (float[N,3] {name}, int64 s) {{ {name} = {operator}(x) s = Size(sized) }}"
    return parse(text)


def save_with_data(path: Path) -> None:
    """Writes a model whose weight lies in a data file, `weights/w.bin`."""
    text = "g (float[N,3] x) => (float[N,3] y, int64 s) <float[3] w = {1,2,3}> { y = Add(x, w) s = Size(w) }"
    proto = parse(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "weights").mkdir()
    data = b"\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40"  # 1, 2, 3 as little-endian floats
    (path.parent / "weights" / "w.bin").write_bytes(data)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": "weights/w.bin", "offset": "0", "length": "12"}.items():
        tensor.external_data.add(key=key, value=value)
    path.write_bytes(proto.SerializeToString())


def contents(folder: Path) -> dict[str, bytes]:
    """The files in a folder, by their paths; without the records, which have the times of their runs."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith(".foldproof-batch/")}


def optimized(folder: Path, names: Iterable[str], scratch: Path) -> dict[str, bytes]:
    """What one run for each model makes of them, all in this process."""
    for name in names:
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        optimize_file(folder / name, scratch / name)
    return contents(scratch)
