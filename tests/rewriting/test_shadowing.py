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


SIBLINGS = """g (float[4] x, bool c, bool d) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {
    i = Identity (x)  a = Mul (i, w)
    y = If (c) <then_branch = t () => (float[4] o) <float[4] w = {5, 6, 7, 8}> { o = Add (a, w) },
                else_branch = e () => (float[4] p) <float[4] v = {1, 2, 3, 4}> { p = Sub (a, v) }> }"""


@pytest.mark.parametrize("depth", [0, 1])
def test_nor_by_the_values_of_a_body_beside_it(depth: int) -> None:
    """onnxruntime gives both branches by name what one of them, or a body in it, reads from outside."""
    text = SIBLINGS
    if depth:
        inner = "p = If (d) <then_branch = k () => (float[4] q) <float[4] v = {1, 2, 3, 4}> { q = Sub (a, v) }, "
        inner += "else_branch = l () => (float[4] r) { r = Neg (a) }>"
        text = text.replace(" <float[4] v = {1, 2, 3, 4}> { p = Sub (a, v) }", f" {{ {inner} }}")
    report = foldproof.Optimizer(foldproof.Options(verify=False)).run(parse(text))
    assert "same_initializer" in [entry.rule for entry in report.report.ledger]
    engine = load_engine(report.model)
    x, w, own = np.array([1, -2, 0.5, 4], np.float32), np.float32([1, 2, 3, 4]), np.float32([5, 6, 7, 8])
    for c, expected in ((True, x * w + own), (False, x * w - w)):
        (y,) = engine.run({"x": x, "c": np.array(c), "d": np.array(True)}, 20.0)
        assert np.array_equal(y, expected)


def test_names_that_hid_something_from_the_start_stay() -> None:
    """What a runtime makes of them is not for a rewrite to change."""
    model = parse(SIBLINGS.replace("<float[4] v = {1, 2, 3, 4}> { p = Sub (a, v) }", "{ p = Sub (a, w) }"))
    result = foldproof.Optimizer(foldproof.Options(verify=False)).run(model)
    assert result.report.ledger
    names = [[tensor.name for tensor in attribute.g.initializer] for attribute in result.model.graph.node[-1].attribute]
    assert names == [["w"], []]
