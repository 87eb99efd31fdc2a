"""Constants that would take terabytes or for ever: their nodes stay, and soon."""

from __future__ import annotations

import time

import onnx
import pytest

from foldproof.options import Options
from foldproof.pipeline import Optimizer
from tests.helpers import parse

STEP = "on = Identity (go) next = Add (s, s)"
DOUBLE = "on = Identity (go) next = Concat <axis = 0> (s, s)"
CARRIED = "float[1] start = {1}, bool yes = {1}"


def loop(trips: str, step: str = STEP) -> str:
    body = f"b (int64 i, bool go, float[P] s) => (bool on, float[Q] next) {{ {step} }}"
    return f"y = Loop ({trips}, yes, start) < body = {body} >"


@pytest.mark.parametrize(
    ("weights", "nodes"),
    [
        ("int64[2] s = {1048576, 1048576}", "c = ConstantOfShape (s) y = Neg (c)"),
        ("int64[1] s = {4294967296}", "c = ConstantOfShape (s) d = Sqrt (c) y = ReduceSum <keepdims = 0> (d)"),
        ("int64 a = {0}, int64 b = {1099511627776}, int64 c = {1}", "r = Range (a, b, c) y = ReduceSum (r)"),
        ("int64 a = {0}, int64 b = {10}, int64 c = {0}", "y = Range (a, b, c)"),
        ("float[1, 1] x = {1}, int64[2] s = {1048576, 1048576}", "y = Tile (x, s)"),
        ("float[1, 1] x = {1}, int64[2] s = {1048576, 1048576}", "y = Expand (x, s)"),
        ("float[1] x = {1}, int64[2] s = {1099511627776, 1099511627776}", "y = Pad (x, s)"),
        ("int64[2] x = {1, 2}, int64 d = {1099511627776}, float[2] v = {0, 1}", "y = OneHot (x, d, v)"),
        ("float[1, 1] x = {1}, float[2] s = {1048576, 1048576}", 'y = Resize <mode = "nearest"> (x, , s)'),
        (f"int64 n = {{1099511627776}}, {CARRIED}", loop("n")),
        (f"int64 n = {{60}}, {CARRIED}", loop("n", DOUBLE)),
        (CARRIED, loop("")),
        ("float[1] x0 = {1}", " ".join(f"x{k + 1} = Concat <axis = 0> (x{k}, x{k})" for k in range(50)) + " y = Neg (x50)"),
    ],
)  # fmt: skip
def test_what_is_too_much_stays(weights, nodes):
    model = parse(f"g () => (float[N] y) <{weights}> {{ {nodes} }}")
    start = time.monotonic()
    result = Optimizer(Options(verify=False)).run(model)
    assert model.graph.node[-1].op_type in [node.op_type for node in result.model.graph.node]
    assert len(result.model.SerializeToString()) < 100_000
    assert time.monotonic() - start < 30  # it takes 4 s, where nothing else is going on


def test_a_sparse_tensor_is_not_made_dense_beyond_a_limit():
    model = parse("g () => (float[N] y) <float k = {1}> { y = Identity (k) }")
    values = onnx.helper.make_tensor("s", 1, [2], [1, 2])
    indices = onnx.helper.make_tensor("", 7, [2], [0, 1])
    model.graph.sparse_initializer.append(
        onnx.SparseTensorProto(values=values, indices=indices, dims=[1 << 30, 1 << 30])
    )
    model.graph.node.append(onnx.helper.make_node("Neg", ["s"], ["z"]))
    model.graph.output.add(name="z")
    result = Optimizer(Options(verify=False)).run(model)
    assert result.model.graph.sparse_initializer == model.graph.sparse_initializer
