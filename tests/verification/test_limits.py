"""Models that nobody trusts: what is not run at all, and what a run of the others may take."""

from __future__ import annotations

import re
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from foldproof.comparing import verify as verify_models
from foldproof.engines import Allowance, EngineError, OutOfMemory, TimedOut
from foldproof.explaining.explain import explain
from foldproof.facts import Facts
from foldproof.model_file import from_proto
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.verification import limits, verify
from foldproof.verification.clock import Clock
from foldproof.verification.scratch import scratch_of
from foldproof.verification.sizes import Sizes
from tests.commands import command
from tests.helpers import needs_recent_onnxruntime, parse

STEP = "on = Identity (go) next = Add (s, s)"
DOUBLE = "on = Identity (go) next = Concat <axis = 0> (s, s)"


def loop(trips: str, step: str = STEP) -> str:
    body = f"b (int64 i, bool go, float[P] s) => (bool on, float[Q] next) {{ {step} }}"
    return f"y = Loop ({trips}, yes, start) < body = {body} >"


def nested_loops(depth: int, trips: int) -> str:
    step = f"next{depth} = Add (s{depth}, s{depth})"
    for level in range(depth, 0, -1):
        body = f"b (int64 i{level}, bool go{level}, float[P] s{level}) => (bool on{level}, float[P] next{level})"
        made = f"next{level - 1}" if level > 1 else "y"
        step = f"{made} = Loop (n, yes, s{level - 1}) < body = {body} {{ on{level} = Identity (go{level}) {step} }} >"
    return f"g (float[P] s0) => (float[P] y) <int64 n = {{{trips}}}, bool yes = {{1}}> {{ {step} }}"


def of(model: onnx.ModelProto) -> limits.Limits:
    made = from_proto(model).model
    return limits.limits_of(made, Facts(made))


def calls(depth: int) -> onnx.ModelProto:
    """A function that calls the next one twice, so many deep."""
    callees = [*(f"my.f{number + 1}" for number in range(depth - 1)), "Neg"]
    functions = [
        f'<domain: "my", opset_import: ["": 18, "my": 1]> f{k} (x) => (b) {{ a = {callee} (x) b = {callee} (a) }}'
        for k, callee in enumerate(callees)
    ]
    graph = "g (float[N] x) => (float[N] y) { y = my.f0 (x) }"
    return parse(graph, imports='"my": 1', functions="\n".join(functions))


# What is not run ------------------------------------------------------------------------------------------------------


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
        ("g (string[1] x) => (string[N] y) <int64[1] s = {10000000000}> { y = Expand (x, s) }", "80000000000 bytes"),
        (nested_loops(4, 100), "steps"),
        (f"g (float[1] start) => (float[1] z) <bool yes = {{1}}> {{ {loop('')} z = Neg (start) }}", "for ever"),
    ],
)
def test_a_model_that_never_ends_is_not_run(graph, words):
    model = parse(graph)
    assert words in (of(model).reason or "")
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
        assert of(parse(graph)).reason is None


def test_calls_that_come_to_too_many_nodes_are_not_even_loaded():
    model = calls(16)
    start = time.monotonic()
    with pytest.warns(UserWarning, match=r"'y' \(my::f0\) comes to 131070 nodes"):
        Optimizer(Options(rules=[])).run(model)
    assert "131070 nodes" in (verify_models(model, model).reason or "")
    assert time.monotonic() - start < 20  # onnxruntime takes minutes to load it


def test_as_many_nodes_in_one_function_as_a_model_may_have_are_run():
    steps = " ".join(f"a{k + 1} = Neg (a{k})" for k in range(40_000))
    functions = f'<domain: "my", opset_import: ["": 18]> f (a0) => (a40000) {{ {steps} }}'
    model = parse("g (float[N] x) => (float[N] y) { y = my.f (x) }", imports='"my": 1', functions=functions)
    assert of(model).reason is None
    assert of(calls(13)).reason is None


# What a run may take --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "memory", "seconds"),
    [
        ("g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }", False, False),
        ("g (float[N, 3] x) => (int64[K, L] y) { y = NonZero (x) }", True, False),
        ("g (int64[1] n) => (float[N] y) { y = ConstantOfShape (n) }", True, False),
        (f"g (float[1] start, bool yes) => (float[N] y) {{ {loop('')} }}", False, True),
        (f"g (float[1] start) => (float[N] y) <bool yes = {{1}}, int64 n = {{60}}> {{ {loop('n', DOUBLE)} }}", True, False),
        (nested_loops(3, 10), False, False),
        (nested_loops(3, 60), False, True),
        (
            "g (float[1] x) => (float[1] y) <int8[1] e = {1}, int64[1] n = {268435456}> { w = Expand (e, n) y = Scan"
            " <num_scan_inputs = 1, body = b (float[1] s, int8 v) => (float[1] t) { t = Neg (s) }> (x, w) }",
            False,
            True,
        ),
        (
            "g (float[1] x, float[9] w) => (float[1] y) { y = Scan"
            " <num_scan_inputs = 1, body = b (float[1] s, float v) => (float[1] t) { t = Add (s, v) }> (x, w) }",
            False,
            False,
        ),
        (
            "g (float[1, 1] x) => (float[N, M] c) <int64[2] s = {16000, 16000}>"
            " { a = Expand (x, s) b = MatMul (a, a) c = MatMul (b, b) }",
            True,
            True,
        ),
    ],
)  # fmt: skip
def test_what_is_not_proven_to_be_little_is_limited(graph, memory, seconds):
    allowance = of(parse(graph)).allowance
    assert (allowance.memory is not None, allowance.seconds is not None) == (memory, seconds)


# What operators take beside their outputs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "is_limited"),
    [
        # 40 GiB, where all four dims are there at once, and a matrix product.
        ('g (float[200, 200] x) => (float y) { y = Einsum <equation = "ab, cd, ac, bd ->"> (x, x, x, x) }', True),
        ('g (float[200, 200] x) => (float[200, 200] y) { y = Einsum <equation = "ij,jk->ik"> (x, x) }', False),
        ('g (float[9, 200, 200] x) => (float[9, 200, 200] y) { y = Einsum <equation = "...ij,...jk"> (x, x) }', False),
        ('g (float[A, A, 9] x) => (float[A, A] y) { y = Einsum <equation = "abc,abc->ab"> (x, x) }', False),
        ("g (float[1, 1, 600, 600] x, float[1, 1, 64, 64] w) => (float[1, 1, A, B] y) { y = ConvTranspose (x, w) }", True),
        ("g (float[1, 8, 60, 60] x, float[8, 8, 2, 2] w) => (float[1, 8, A, B] y) { y = ConvTranspose (x, w) }", False),
        ("g (uint8[1, 1, 999, 999] x, uint8[1, 1, 64, 64] w) => (int32[1, 1, A, B] y) { y = ConvInteger (x, w) }", True),
        ("g (uint8[1, 3, 224, 224] x, uint8[64, 3, 7, 7] w) => (int32[1, 64, A, B] y) { y = ConvInteger (x, w) }", False),
        ("g (float[1, 3, 224, 224] x, float[64, 3, 7, 7] w) => (float[1, 64, A, B] y) { y = Conv (x, w) }", False),
        ("g (float[1, 1, 40000, 8] q) => (float[1, 1, 40000, 8] y) { y = Attention (q, q, q) }", True),
        ("g (float[1, 12, N, 64] q) => (float[1, 12, N, 64] y) { y = Attention (q, q, q) }", False),
        (
            "g (float[200000, 1, 1] x, float[1, 2048, 1] w, float[1, 2048, 512] r) => (float[1, 1, 512] h)"
            " { y, h = LSTM <hidden_size = 512> (x, w, r) }",
            True,
        ),
        (
            "g (float[1, 8, 32, 32] x, float[8, 8, 3, 3] w, float[1, 18, 30, 30] o) => (float[1, 8, A, B] y)"
            " { y = DeformConv (x, w, o) }",
            False,
        ),
        (
            "g (float[1, 3, 9, 9] x, float[N, 4] r, int64[N] i) => (float[N, 3, 7, 7] y)"
            " { y = RoiAlign <output_height = 7, output_width = 7, sampling_ratio = 20000> (x, r, i) }",
            True,
        ),
        (
            "g (float[1, 3, 9, 9] x, float[N, 4] r, int64[N] i) => (float[N, 3, 7, 7] y)"
            " { y = RoiAlign <output_height = 7, output_width = 7, sampling_ratio = 2> (x, r, i) }",
            False,
        ),
        ("g (float[N] x) => (float[N] y) { y = other.Odd (x) }", True),
    ],
)  # fmt: skip
def test_what_an_operator_takes_for_itself_counts(graph, is_limited):
    model = parse(graph, opset=23, imports='"other": 1' if "other." in graph else "")
    assert (of(model).allowance.memory is not None) == is_limited


def test_a_deformed_convolution_takes_its_columns_for_all_groups_at_once():
    """Measured: onnxruntime 1.32 takes 247 MiB where the output has 50 x 50 places."""
    model = parse(
        "g (float[1, 64, 64, 64] x, float[64, 1, 15, 15] w, float[1, 450, 50, 50] o) => (float[1, 64, 50, 50] y)"
        " { y = DeformConv <group = 64> (x, w, o) }",
        opset=22,
    )
    source = from_proto(model)
    assert (scratch_of(source.model.graph[0], Sizes(Facts(source.model), 1)) or 0) > 64 * 15 * 15 * 50 * 50 * 4


def test_an_equation_without_end_is_not_followed():
    equation, reads = "a," * 50_000 + "a->", ", ".join(["x"] * 50_001)
    model = parse(f'g (float[2] x) => (float y) {{ y = Einsum <equation = "{equation}"> ({reads}) }}')
    start = time.monotonic()
    assert of(model).allowance.memory is not None
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("operator", "is_limited"),
    [("StringConcat (s, s)", True), ('StringSplit <delimiter = ","> (s)', True), ('RegexFullMatch <pattern = "a"> (s)', False)],
)  # fmt: skip
def test_strings_may_have_any_length(operator, is_limited):
    outputs = "y, n" if "Split" in operator else "y"
    model = parse(f"g (string s) => (int64 z) {{ {outputs} = {operator} z = Size (y) }}", opset=21)
    assert (of(model).allowance.memory is not None) == is_limited


def test_a_loop_in_a_function_is_limited():
    functions = (
        '<domain: "my", opset_import: ["": 18]> f (start) => (y) { yes = Constant <value = bool {1}> () '
        + loop("")
        + " }"
    )
    model = parse("g (float[1] x) => (float[N] y) { y = my.f (x) }", imports='"my": 1', functions=functions)
    assert of(model).allowance.seconds is not None


def test_a_model_may_take_in_proportion_to_its_weights_and_inputs():
    model = parse("g (float[N] x) => (int64[K, L] y) { z = NonZero (x) y = Add (z, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((1, 1 << 17), np.int64), "w"))
    allowance = of(model).allowance
    assert allowance.memory == limits.MEMORY + 64 * 2**20
    assert allowance.for_inputs({"x": np.zeros(100, np.float32)}) == allowance.memory + 64 * 400


def test_a_loop_for_which_the_time_does_not_suffice_is_not_verified_and_soon(monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0.3)
    count = "n = Size (start) k = Constant <value_int = 1000000000> () m = Mul (n, k)"
    graph = f"g (float[N] start) => (float[M] y) <bool yes = {{1}}> {{ {count} {loop('m')} }}"
    start = time.monotonic()
    with pytest.warns(UserWarning, match=r"a run of it may take 0.3 seconds.*--trust-model"):
        Optimizer(Options()).run(parse(graph))
    assert time.monotonic() - start < 10  # it is four runs, and each is stopped


@pytest.mark.skipif(sys.platform != "linux", reason="the limit holds on Linux only")
def test_a_model_for_which_the_memory_does_not_suffice_is_not_verified_unless_it_is_trusted(monkeypatch):
    monkeypatch.setattr(limits, "MEMORY", 16 << 20)
    graph = """g (int64[1] n) => (float[1] y) <int64[1] k = {16777216}, int64[1] axis = {0}> {
        least = Min (n, k)
        m = Max (least, k)
        c = ConstantOfShape (m)
        y = ReduceMax (c, axis)
    }"""  # 64 MiB whatever the input is
    model = parse(graph)
    result = verify_models(model, model)
    assert result.status == "unverified"
    assert re.search(r"alloc.*16 MiB.*--trust-model", result.reason or "")
    assert verify_models(model, model, trust_model=True).status == "same"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit holds on Linux only")
def test_an_optimized_model_for_which_the_memory_does_not_suffice_is_not_different():
    graph = "g (float[N] x) => (float[N] y) {{ {} y = Neg (x) }}"
    large = "k = Constant <value_ints = [268435456]> () c = ConstantOfShape (k)"
    result = verify(parse(graph.format("")), parse(graph.format(large)), allowance=Allowance(memory=256 << 20))
    assert result.status == "unverified"
    assert any("ran out of memory" in note for note in result.notes)


def test_a_clock_runs_out_of_patience_with_what_is_not_trusted_only():
    for allowance, error, losses in (
        (Allowance(seconds=1.0), TimedOut("slow"), 2),
        (Allowance(seconds=1.0), EngineError("wrong"), 2),
        (Allowance(memory=1), OutOfMemory("large"), 3),
        (Allowance(memory=1), TimedOut("slow"), None),
        (Allowance(), OutOfMemory("large"), None),
    ):
        clock = Clock(60.0)
        clock.allowance = allowance
        assert clock.for_a_run <= (allowance.seconds or 300.0)
        for number in range(1, 9):
            clock.lost(1.0, error)
            assert clock.is_out_of_patience == (losses is not None and number >= losses)
        assert (clock.left < 0) == (losses is not None)


@needs_recent_onnxruntime
def test_a_model_whose_loading_never_ends_is_not_verified_and_soon(monkeypatch):
    """onnxruntime does not come back from this equation for minutes."""
    monkeypatch.setattr(limits, "LOADING_SECONDS", 1.0)
    model = parse('g (float[A, B] x) => (float[N] z) { z = Einsum <equation = "i&j->i"> (x, x) }')
    start = time.monotonic()
    result = verify_models(model, model)
    assert (result.status, time.monotonic() - start < 10) == ("unverified", True)
    assert "at the time limit" in (result.reason or "")


def test_sizes_at_which_a_model_runs_are_not_looked_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    count = "n = Size (start) k = Constant <value_int = 1000000000> () m = Mul (n, k)"
    path = tmp_path / "model.onnx"
    onnx.save(parse(f"g (float[N] start) => (float[M] y) <bool yes = {{1}}> {{ {count} {loop('m')} }}"), path)
    start = time.monotonic()
    (told,) = explain(path, nodes=["n"]).found
    assert time.monotonic() - start < 10
    assert told.suggestion is not None
    assert not told.suggestion.model_runs


def test_what_is_not_verified_is_not_said_to_do_no_harm(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(parse(f"g (float[1] start) => (float[N] y) <bool yes = {{1}}> {{ {loop('')} }}"), path)
    result = command("bisect", path)
    assert result.exit_code == 4
    assert "runs for ever" in result.output
