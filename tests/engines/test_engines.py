from __future__ import annotations

import importlib.util
import time

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from foldproof.engines import EngineError, OnnxRuntime, Reference, TimedOut, distrust, load_engine
from foldproof.errors import UnverifiedError
from foldproof.verification import verify

CODES = {name: onnx.TensorProto.DataType.Value(name.upper()) for name in ("int4", "uint4", "int2", "uint2")}
ENDLESS = """
g () => (int64 n) {
    zero = Constant <value = int64 {0}> ()
    yes = Constant <value = bool {1}> ()
    n = Loop (, yes, zero) <body = step (int64 i, bool go_on, int64 k) => (bool again, int64 next) {
        again = Identity (go_on)
        one = Constant <value = int64 {1}> ()
        next = Add (k, one)
    }>
}
"""


@pytest.mark.parametrize(
    ("name", "dtype"), [("bfloat16", ml_dtypes.bfloat16), ("float8e4m3fn", ml_dtypes.float8_e4m3fn)]
)
def test_onnxruntime_takes_and_gives_narrow_floats(parse, name, dtype):
    engine = OnnxRuntime(parse(f"g ({name}[N] x) => ({name}[N] y) {{ y = Identity(x) }}", opset=19))
    x = np.array([1.5, -0.0, 0.25], dtype)
    (y,) = engine.run({"x": x})
    assert y.dtype == dtype
    assert y.tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("name", "opset", "ir"), [("int4", 21, 10), ("uint4", 21, 10), ("int2", 25, 13), ("uint2", 25, 13)]
)
def test_onnxruntime_gives_packed_integers(parse, name, opset, ir):
    """7 elements leave a part of their last byte unused."""
    graph = f"g (float[7] x) => ({name}[7] y) {{ y = Cast<to = {CODES[name]}>(x) }}"
    try:
        engine = OnnxRuntime(parse(graph, opset=opset, ir=ir))
    except EngineError as error:
        if "IR version" not in str(error):
            raise
        pytest.skip("this version of onnxruntime does not know the type")
    (y,) = engine.run({"x": np.array([0, 1, 1, 0, 1, 0, 1], np.float32)})
    assert y.dtype == getattr(ml_dtypes, name)
    assert y.astype(int).tolist() == [0, 1, 1, 0, 1, 0, 1]


def test_onnxruntime_says_what_it_dislikes(parse):
    engine = OnnxRuntime(parse("g (float[2] x) => (float[2] y) { y = Abs(x) }"))
    with pytest.raises(EngineError, match="Got: 3 Expected: 2"):
        engine.run({"x": np.zeros(3, np.float32)})


def test_an_endless_loop_is_stopped(parse):
    engine = OnnxRuntime(parse(ENDLESS))
    started = time.monotonic()
    with pytest.raises(TimedOut):
        engine.run({}, seconds=0.3)
    assert time.monotonic() - started < 5


def test_the_reference_is_stopped_too(parse):
    many = "\n".join(f"y{i + 1} = Abs(y{i})" for i in range(50))
    engine = Reference(parse(f"g (float[64] y0) => (float[64] y50) {{ {many} }}"))
    assert engine.run({"y0": np.zeros(64, np.float32)}, seconds=30)[0].shape == (64,)
    with pytest.raises(TimedOut):
        engine.run({"y0": np.zeros(64, np.float32)}, seconds=-1)


def test_the_reference_has_a_process_of_its_own(parse):
    """It would take all memory, or never come back from one operator: no time limit that it looks at would help."""
    graph = "g (complex64[1] x) => (complex64[N] y) <int64[1] s = {1099511627776}> { e = Expand (x, s) y = Neg (e) }"
    engine = Reference(parse(graph))
    with pytest.raises(EngineError):
        engine.run({"x": np.ones(1, np.complex64)}, seconds=5)
    few = Reference(parse("g (complex64[1] x) => (complex64[1] y) { y = Identity (x) }"))
    assert few.run({"x": np.ones(1, np.complex64)})[0].tolist() == [1]


def test_the_reference_stands_in_for_types_that_onnxruntime_lacks(parse):
    engine = load_engine(parse("g (complex64[N] x) => (int64 s) { s = Size(x) }"))
    assert isinstance(engine, Reference)
    (size,) = engine.run({"x": np.zeros(7, np.complex64)})
    assert (size, size.dtype) == (7, np.int64)


def test_the_reference_computes_shape_by_our_kernel(parse):
    engine = Reference(parse("g (complex64[2, 3] x) => (int64[K] s) { s = Shape <start = 0, end = -7> (x) }"))
    (dims,) = engine.run({"x": np.zeros((2, 3), np.complex64)})
    assert dims.tolist() == []


@pytest.mark.parametrize(
    ("graph", "opset", "reason"),
    [
        ("g (float[2] x) => (float[2] y) { y = BatchNormalization (x, x, x, x, x) }", 9, "BatchNormalization"),
        ("g (uint8[2] x, float s) => (float[2] y) { y = DequantizeLinear (x, s) }", 13, "DequantizeLinear"),
        ("g (float[1,2,4] b, float[1,1,2] s) => (int64[N,3] y) { y = NonMaxSuppression (b, s) }", 17, "NonMax"),
        (ENDLESS.replace("yes, zero", ", zero"), 17, "Loop"),
        ("g (float[2,2] x, float[2] b) => (float[2,2] y) { y = Mul <broadcast = 1, axis = 0> (x, b) }", 6, "Mul"),
        ("g (float[1,2,3] x, float[2] s) => (float[1,2,3] y) { y = PRelu (x, s) }", 6, "PRelu"),
        ("g (float[2] x) => (float[2] y) { y = Selu (x) }", 5, "Selu"),
        ("g (double[2,2,2] x) => (double[2,2,2] y) { y = Hardmax (x) }", 11, "Hardmax"),
        ("g (float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool <kernel_shape = [2], pads = [1, 1]> (x) }", 6, "Av"),
    ],
)
def test_the_reference_refuses_what_it_is_known_to_compute_wrongly(parse, graph, opset, reason):
    model = parse(graph, opset=opset)
    assert any(reason in each for each in distrust(model))
    with pytest.raises(EngineError, match=reason):
        Reference(model)


@pytest.mark.parametrize(
    ("graph", "opset"),
    [
        ("g (float[2,2] x, float[2] b) => (float[2,2] y) { y = Mul <broadcast = 1> (x, b) }", 6),
        ("g (float[2,2] x, float[2] b) => (float[2,2] y) { y = Mul (x, b) }", 7),
        ("g (double[2,2,2] x) => (double[2,2,2] y) { y = Hardmax (x) }", 13),
    ],
)
def test_the_reference_is_trusted_where_the_meaning_is_that_of_today(parse, graph, opset):
    assert not list(distrust(parse(graph, opset=opset)))


def test_the_reference_is_not_asked_about_overloads(parse):
    model = parse("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    model.functions.add(name="f", domain="my", overload="a")
    assert list(distrust(model)) == ["overloads of functions"]


def test_the_reference_refuses_sparse_tensors_and_the_spelled_domain(parse):
    model = parse("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    assert not list(distrust(model))
    model.opset_import[0].domain = "ai.onnx"
    assert list(distrust(model))
    model.opset_import[0].domain = ""
    values = helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    assert list(distrust(model))


def test_operators_that_nothing_knows_are_reported_by_the_runtimes_words(parse):
    model = parse("g (float[2] x) => (float[2] y) { y = acme.Foo(x) }", imports='"acme" : 1')
    with pytest.raises(EngineError, match="acme:Foo"):
        load_engine(model)


def test_without_onnxruntime_the_error_says_what_to_install(parse, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "onnxruntime" else find_spec(name, *rest)
    )
    model = parse("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    with pytest.raises(UnverifiedError, match=r"foldproof\[onnxruntime\]"):
        verify(model, model)


@pytest.mark.parametrize("nothing", ["<float nothing = {0}> {", "{ nothing = Neg (high)"])
def test_what_has_no_name_is_not_read_where_an_input_is_left_out(parse, nothing):
    """The evaluator keeps all values by name, the empty one too."""
    model = parse(f"g (float[N] x, float high) => (float[N] y) {nothing} y = Clip (x, , high) }}")
    for tensor in model.graph.initializer:
        tensor.name = ""
    for node in model.graph.node:
        node.output[0] = node.output[0].replace("nothing", "")
    feeds = {"x": np.array([-5, 5], np.float32), "high": np.array(3, np.float32)}
    assert Reference(model).run(feeds)[0].tolist() == [-5, 3]
