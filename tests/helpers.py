"""Small models as text, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version

import onnx
import onnx_ir as ir
import pytest

from foldproof.facts import Facts
from foldproof.graphs import count_operators
from foldproof.rewriting import Rewriter, Rule
from foldproof.rewriting.packs import installed


def _is_older(package: str, *least: int) -> bool:
    return tuple(int(part) for part in version(package).split(".")[:2]) < least


needs_recent_onnxruntime = pytest.mark.skipif(
    _is_older("onnxruntime", 1, 32),
    reason="an older onnxruntime refuses this, crashes or computes something else; 1.23 is the last for Python 3.10",
)
"""For a test that takes onnxruntime for the truth where it was mended of late, such as at dims of 0."""

needs_recent_onnx = pytest.mark.skipif(
    _is_older("onnx", 1, 22), reason="the inference of an older onnx ends the process on some invalid nodes"
)


def parse(
    body: str, *, opset: int = 18, ir_version: int = 10, imports: str = "", functions: str = ""
) -> onnx.ModelProto:
    """A model from its graph in ONNX's text form, such as `g (float[N] x) => (int64 s) { s = Size(x) }`."""
    more = f", {imports}" if imports else ""
    text = f'<ir_version: {ir_version}, opset_import: ["": {opset}{more}]>\n{body}\n{functions}'
    return onnx.parser.parse_model(text)


def rewrite(
    model: onnx.ModelProto, *names: str, overridable: Sequence[str] = (), keep_node: Sequence[str] = ()
) -> tuple[onnx.ModelProto, Rewriter]:
    """Applies the named rules alone (all of them where none is named), without verification."""
    rules = [rule for rule in installed() if rule.name in names or (not names and not rule.on_request)]
    return rewrite_by(model, rules, overridable=overridable, keep_node=keep_node)


def rewrite_by(
    model: onnx.ModelProto, rules: Sequence[Rule], *, overridable: Sequence[str] = (), keep_node: Sequence[str] = ()
) -> tuple[onnx.ModelProto, Rewriter]:
    """Applies rules to a copy of a model, and checks that the result is a valid model."""
    copy = ir.from_proto(model)
    facts = Facts(copy, overridable)
    rewriter = Rewriter(copy, facts, rules, overridable=frozenset(overridable), keep_node=keep_node)
    rewriter.run()
    assert facts.problems == []
    proto = ir.to_proto(copy)
    onnx.checker.check_model(proto, full_check=True)
    return proto, rewriter


def operators(model: onnx.ModelProto) -> Counter[str]:
    """How many nodes of each operator a model has, bodies and functions counted, `Constant` not."""
    return count_operators(ir.from_proto(model))


def initializers(model: onnx.ModelProto) -> dict[str, object]:
    """The main graph's initializers as Python values."""
    return {tensor.name: onnx.numpy_helper.to_array(tensor).tolist() for tensor in model.graph.initializer}
