"""Small models as text, in the syntax of `onnx.parser`."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from onnx import parser

Parse = Callable[..., onnx.ModelProto]


@pytest.fixture
def parse() -> Parse:
    """A function that makes a model from the text of its graph, and of its functions."""

    def make(graph: str, functions: str = "", ir: int = 9, opset: int = 17, imports: str = "") -> onnx.ModelProto:
        opsets = f'"" : {opset}' + (f", {imports}" if imports else "")
        return parser.parse_model(f"<ir_version: {ir}, opset_import: [{opsets}]>\n{graph}\n{functions}")

    return make
