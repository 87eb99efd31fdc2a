"""Constants that would take terabytes or for ever: their nodes stay, and soon."""

from __future__ import annotations

import time

import onnx
import pytest

from foldproof.facts import Facts
from foldproof.folding.limits import infeasible
from foldproof.model_file import from_proto
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


def nested_loops(depth: int, trips: int) -> str:
    step = f"next{depth} = Add (s{depth}, s{depth})"
    for level in range(depth, 0, -1):
        body = f"b (int64 i{level}, bool go{level}, float[P] s{level}) => (bool on{level}, float[P] next{level})"
        made = f"next{level - 1}" if level > 1 else "y"
        step = f"{made} = Loop (n, yes, s{level - 1}) < body = {body} {{ on{level} = Identity (go{level}) {step} }} >"
    return f"g (float[P] s0) => (float[P] y) <int64 n = {{{trips}}}, bool yes = {{1}}> {{ {step} }}"


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (f"g (float[1] start) => (float[N] y) <bool yes = {{1}}> {{ {loop('')} }}", "for ever"),
        (
            f"g (float[1] start) => (float[N] y) <bool yes = {{1}}, int64 n = {{1000000000}}> {{ {loop('n')} }}",
            "000000001 steps",
        ),
        ("g (float[1, 1] x) => (float[N, M] y) <int64[2] s = {1048576, 1048576}> { y = Tile (x, s) }", "bytes"),
        (
            "g (float[N] x) => (float[M] y) <int64[1] k = {1073741824}> { s = Shape (x) t = Mul (s, k)"
            " y = Tile (x, t) }",
            "bytes",
        ),
        (nested_loops(4, 100), "steps"),
    ],
)
def test_a_model_that_never_ends_is_not_run(graph, words):
    model = parse(graph)
    made = from_proto(model).model
    assert words in infeasible(made, Facts(made))
    start = time.monotonic()
    with pytest.warns(UserWarning, match=words):
        Optimizer(Options()).run(model)
    assert time.monotonic() - start < 20


def test_models_that_end_are_run():
    for graph in (
        f"g (float[1] start) => (float[N] y) <bool yes = {{1}}, int64 n = {{10}}> {{ {loop('n')} }}",
        f"g (float[1] start, bool yes) => (float[N] y) {{ {loop('')} }}",
        nested_loops(3, 10),
        # It makes 2 GiB of a quarter.
        "g (float[67108864] x) => (float[M] y) <int64[1] k = {8}> { y = Tile (x, k) }",
    ):
        made = from_proto(parse(graph)).model
        assert infeasible(made, Facts(made)) is None


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
