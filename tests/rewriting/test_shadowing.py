"""A body's own value never hides one that a rewrite lets it read: files name values, and rewriting follows them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import foldproof
from foldproof.engines import load_engine
from tests.helpers import parse

HIDING = {
    "an input of the body": """g (float[N] x, float[N] w) => (float[N] o, float[N] y) <int64 n = {3}, bool c = {1}> {
        p = Neg (w)  o = Exp (p)
        y = Loop (n, c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
            e = Identity (d)  r = Neg (w)  s = Add (r, p)  q = Mul (s, r) }> }""",
    "an input of a body around it": """g (float[N] x, float[N] w) => (float[N] o, float[N] y) <int64 n = {2}, bool c = {1}> {
        p = Neg (w)  o = Exp (p)
        y = Loop (n, c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
            e = Identity (d)  z = ReduceSum <keepdims = 0> (p)  zero = Constant <value_float = 0.0> ()  k = Less (z, zero)
            q = If (k) <then_branch = t () => (float[N] u) { r = Neg (w)  u = Add (r, p) },
                        else_branch = f () => (float[N] v) { v = Abs (p) }> }> }""",
}  # fmt: skip


@pytest.mark.parametrize("text", HIDING.values(), ids=HIDING)
def test_what_a_body_comes_to_read_is_not_hidden_by_its_own_values(text: str) -> None:
    model = parse(text)
    onnx.checker.check_model(model, full_check=True)
    report = foldproof.Optimizer(foldproof.Options(verify=False)).run(model)
    assert "same_computation" in [entry.rule for entry in report.report.ledger]
    feeds = {"x": np.array([1, -2, 0.5], np.float32), "w": np.array([3, 0.25, -1], np.float32)}
    before, after = (load_engine(each).run(feeds, 20.0) for each in (model, report.model))
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_names_that_hide_nothing_stay() -> None:
    text = HIDING["an input of the body"].replace("r = Neg (w)", "r = Abs (w)")
    result = foldproof.Optimizer(foldproof.Options(verify=False)).run(parse(text)).model
    (loop,) = (node for node in result.graph.node if node.op_type == "Loop")
    (body,) = (attribute.g for attribute in loop.attribute if attribute.name == "body")
    assert body.input[2].name == "p"
