"""The command as tests call it, and a model for it."""

from __future__ import annotations

from pathlib import Path

import onnx
from click.testing import CliRunner, Result

from foldproof.cli import main
from tests.helpers import parse

DYNAMIC = "g (float[2,3] x, float[N,3] y) => (int64 s, int64 t) { s = Size(x) t = Size(y) }"
"""One Size that folds, and one that does not."""


def command(*arguments: object, input: bytes | None = None) -> Result:
    """What the command says and how it ends."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)


def save_dynamic(folder: Path) -> Path:
    """Writes the model `DYNAMIC` as `model.onnx`."""
    path = folder / "model.onnx"
    onnx.save(parse(DYNAMIC), path)
    return path
