"""Constants that would take terabytes or for ever: their nodes stay, and soon."""

from __future__ import annotations

import time

import onnx
import pytest

from foldproof.options import Options
from foldproof.pipeline import Optimizer
from tests.folding.folding import fold
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


def doubled(times: int) -> str:
    return " ".join(f"s{k + 1} = StringConcat (s{k}, s{k})" for k in range(times))


@pytest.mark.parametrize(
    ("output", "nodes", "words"),
    [
        ("string y", f"{doubled(40)} y = Identity (s40)", "strings that it makes have more than"),
        ("int64 y", f"{doubled(30)} parts, y = StringSplit (s30)", "strings that it makes have more than"),
        (
            "string y",
            "y = Loop (n, yes, s0) < body = b (int64 i, bool go, string s) => (bool on, string next)"
            " { on = Identity (go) next = StringConcat (s, s) } >",
            "its evaluation failed",
        ),
        (
            "bool[9] y",
            'p = StringConcat (many, many) y = RegexFullMatch <pattern = "a"> (p)',
            "strings that it reads have more than",
        ),
    ],
    ids=["one", "parts", "loop", "many"],
)
def test_strings_that_grow_stay(output, nodes, words):
    """They would have terabytes, although they are few elements."""
    weights = 'string s0 = {"abcdefgh"}, int64 n = {40}, bool yes = {1}'
    model = parse(f"g () => ({output}) <{weights}> {{ {nodes} }}", opset=21)
    many = model.graph.initializer.add(name="many", data_type=onnx.TensorProto.STRING, dims=[9])
    many.string_data.extend([bytes(1 << 20)] * 9)
    start = time.monotonic()
    found = fold(model)
    assert words in found.reasons
    assert {"StringConcat", "Loop"} & set(found.operators)
    assert len(found.proto.SerializeToString()) < 100_000 + (9 << 20)
    assert time.monotonic() - start < 20


def test_short_strings_are_folded():
    model = parse(f'g () => (string y) <string s0 = {{"ab"}}> {{ {doubled(4)} y = Identity (s4) }}', opset=21)
    result = Optimizer(Options()).run(model)
    assert not [node for node in result.model.graph.node if node.op_type == "StringConcat"]
    assert b"ab" * 16 in result.model.SerializeToString()


def test_the_bytes_of_strings_count_and_not_their_number():
    """The result is one element, of a kilobyte."""
    model = parse(f'g () => (string y) <string s0 = {{"ab"}}> {{ {doubled(10)} y = Identity (s10) }}', opset=21)
    result = Optimizer(Options(max_growth=0)).run(model)
    assert [node for node in result.model.graph.node if node.op_type == "StringConcat"]


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
