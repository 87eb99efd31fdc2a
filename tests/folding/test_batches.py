"""All that is ready is computed at once, and what fails spoils nothing else."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof.engines import Worker
from foldproof.folding import evaluation, limits
from tests.folding.folding import fold
from tests.helpers import parse

NODE = helper.make_node


def model_of(
    nodes: list[onnx.NodeProto], outputs: dict[str, int], *, opset: int = 18, **constants: np.ndarray
) -> onnx.ModelProto:
    """A model whose outputs are 1-D."""
    graph = helper.make_graph(
        nodes,
        "g",
        [],
        [helper.make_tensor_value_info(name, dtype, [None]) for name, dtype in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def chain(length: int) -> list[onnx.NodeProto]:
    """Alternating operators, each on the result of the one before; the last one gives `y`."""
    names = ["x", *(f"v{k}" for k in range(1, length)), "y"]
    return [NODE(("Cos", "Exp", "Neg")[k % 3], [names[k]], [names[k + 1]]) for k in range(length)]


def test_a_long_chain_is_one_session() -> None:
    result = fold(model_of(chain(300), {"y": TensorProto.FLOAT}, x=np.arange(4, dtype=np.float32)))
    assert result.operators == []
    assert result.folder.sessions == 1


def test_results_have_the_bits_of_the_runtime() -> None:
    proto = model_of(chain(30), {"y": TensorProto.FLOAT}, x=np.linspace(-3, 3, 1000, dtype=np.float32))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert fold(proto).constant("y").tobytes() == session.run(None, {})[0].tobytes()


def test_a_failing_node_stays_and_the_others_fold() -> None:
    nodes = [NODE("Cos", ["x"], [f"c{k}"]) for k in range(40)]
    nodes += [NODE("Sin", ["x"], ["s"]), NODE("Gather", ["s", "far"], ["bad"]), NODE("Cos", ["bad"], ["worse"])]
    nodes += [NODE("Exp", ["x"], [f"e{k}"]) for k in range(40)]
    names = [*(f"c{k}" for k in range(40)), "worse", *(f"e{k}" for k in range(40))]
    outputs = dict.fromkeys(names, TensorProto.FLOAT)
    result = fold(model_of(nodes, outputs, x=np.arange(3, dtype=np.float32), far=np.array([9])))
    assert result.operators == ["Gather", "Cos"]
    (failure,) = result.folder.failures.values()
    assert "out of data bounds" in failure
    assert "its evaluation failed" in result.reasons
    assert np.allclose(result.constant("s"), np.sin(np.arange(3)))
    assert np.allclose(result.constant("e39"), np.exp(np.arange(3)))
    assert result.folder.sessions < 20  # bisection, not one by one


def test_all_that_depends_on_a_failing_node_stays() -> None:
    nodes = [NODE("Gather", ["x", "far"], ["v0"]), *(NODE("Cos", [f"v{k}"], [f"v{k + 1}"]) for k in range(7))]
    result = fold(model_of(nodes, {"v7": TensorProto.FLOAT}, x=np.arange(3, dtype=np.float32), far=np.array([9])))
    assert result.operators == ["Gather", *["Cos"] * 7]
    assert len(result.folder.failures) == 1


def with_int64_division(nodes: list[onnx.NodeProto], outputs: dict[str, int], x: np.ndarray) -> onnx.ModelProto:
    """A model in which onnxruntime also divides the least int64 by -1, which ends its process."""
    a, b = np.full(300, np.iinfo(np.int64).min), np.full(300, -1)
    a[5], b[7] = 7, 3
    nodes = [*nodes[:3], NODE("Div", ["a", "b"], ["bad"]), *nodes[3:]]
    return model_of(nodes, {**outputs, "bad": TensorProto.INT64}, x=x, a=a, b=b)


def test_a_node_that_ends_the_process_stays_and_the_others_fold() -> None:
    nodes = [NODE("Cos", ["x"], [f"c{k}"]) for k in range(10)]
    outputs = {f"c{k}": TensorProto.FLOAT for k in range(10)}
    result = fold(with_int64_division(nodes, outputs, np.arange(3, dtype=np.float32)))
    assert result.operators == ["Div"]
    (failure,) = result.folder.failures.values()
    assert failure == "it ended its process with SIGFPE"
    assert np.allclose(result.constant("c9"), np.cos(np.arange(3)))


def test_integers_whose_elements_are_proven_start_no_process() -> None:
    worker = Worker()
    proto = parse("""g (float[2, 3, 4] x) => (float[P, Q] y) {
        s = Shape(x)  a = Constant<value_ints = [0, 1]>()  z = Constant<value_int = 0>()
        d = Gather(s, a)  p = ReduceProd<keepdims = 1>(d)  m = Constant<value_ints = [-1]>()
        t = Concat<axis = 0>(p, m)  y = Reshape(x, t)
    }""")
    result = fold(proto, worker=worker)
    assert result.operators == ["Reshape"]
    assert worker.generation == 0


def test_the_reference_does_not_stand_in_for_a_failure() -> None:
    """Integers divided by 0 fail in the runtime, and the ONNX reference gives a number."""
    nodes = [NODE("Div", ["x", "x"], ["y"])]
    result = fold(model_of(nodes, {"y": TensorProto.INT32}, x=np.repeat(np.array([0, 1], np.int32), 1000)))
    assert result.operators == ["Div"]


def test_what_the_runtime_lacks_is_computed_by_the_reference() -> None:
    """onnxruntime's CPU has no Mul of bfloat16."""
    x = np.array([1.5, -2.0, 0.1], ml_dtypes.bfloat16)
    nodes = [NODE("Cos", ["f"], ["c"]), NODE("Mul", ["x", "x"], ["y"])]
    result = fold(
        model_of(nodes, {"c": TensorProto.FLOAT, "y": TensorProto.BFLOAT16}, x=x, f=np.array([0.0], np.float32))
    )
    assert result.operators == []
    assert result.constant("y").tobytes() == (x * x).tobytes()


def test_many_nodes_that_the_runtime_lacks_are_found_out_once() -> None:
    nodes = [NODE("Mul", ["x", "x"], [f"y{k}"]) for k in range(30)]
    outputs = {f"y{k}": TensorProto.BFLOAT16 for k in range(30)}
    result = fold(model_of(nodes, outputs, x=np.array([1.5], ml_dtypes.bfloat16)))
    assert result.operators == []
    assert result.folder.sessions <= 30 + 8


def test_a_huge_result_is_not_computed() -> None:
    result = fold(parse("g () => (float[1] y) { s = Constant<value_ints=[100000, 100000]>() \n"
                        "z = ConstantOfShape(s) \n i = Constant<value_ints=[1]>() \n r = ReduceSum<keepdims=0>(z) \n"
                        "y = Reshape(r, i) }"))  # fmt: skip
    assert result.folder.sessions == 0
    assert "ConstantOfShape" in result.operators


def test_a_loop_that_never_ends_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "SECONDS", 2.0)
    proto = parse("""g () => (float y, float z) <float x = {0.5}> {
        go = Constant<value = bool {1}>()
        y = Loop(, go, x) <body = b (int64 i, bool c, float a) => (bool d, float e) { d = Identity(c)  e = Cos(a) }>
        z = Exp(x)
    }""")
    result = fold(proto)
    assert result.operators == ["Loop"]
    assert list(result.folder.failures.values()) == ["it takes more than 2 seconds"]
    assert result.constant("z") == np.exp(np.float32(0.5))


def test_loops_that_never_end_are_not_begun_when_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "SECONDS", 2.0)
    monkeypatch.setattr(evaluation, "PATIENCE", 3.0)
    loops = "\n".join(
        f"y{k} = Loop(, go, x) <body = b{k} (int64 i, bool c, float a) => (bool d, float e) "
        f"{{ d = Identity(c)  e = Cos(a) }}>"
        for k in range(4)
    )
    outputs = ", ".join(f"float y{k}" for k in range(4))
    result = fold(
        parse(f"""g () => ({outputs}, float z) <float x = {{0.5}}> {{
        go = Constant<value = bool {{1}}>() \n {loops} \n z = Exp(x) }}""")
    )
    assert result.operators == ["Loop"] * 4
    assert list(result.folder.failures.values())[-1] == "others like it took too long"
    assert result.constant("z") == np.exp(np.float32(0.5))


def test_a_loop_of_many_iterations_is_not_begun() -> None:
    proto = parse("""g () => (float y) <float x = {0.5}, int64 n = {1000000}> {
        y = Loop(n, , x) <body = b (int64 i, bool c, float a) => (bool d, float e) { d = Identity(c)  e = Cos(a) }>
    }""")
    result = fold(proto)
    assert result.operators == ["Loop"]
    assert result.folder.sessions == 0


def test_a_short_loop_folds() -> None:
    proto = parse("""g () => (float y) <float x = {0.5}, int64 n = {3}> {
        go = Constant<value = bool {1}>()
        y = Loop(n, go, x) <body = b (int64 i, bool c, float a) => (bool d, float e) { d = Identity(c)  e = Add(a, x) }>
    }""")
    result = fold(proto)
    assert result.operators == []
    assert result.constant("y") == np.float32(2.0)


def test_batches_are_split_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldproof.folding.folder.BATCH_BYTES", 100_000)
    nodes = [NODE("Cos", [f"x{k}"], [f"y{k}"]) for k in range(10)]
    constants = {f"x{k}": np.full(10_000, k, np.float32) for k in range(10)}
    result = fold(model_of(nodes, {f"y{k}": TensorProto.FLOAT for k in range(10)}, **constants))
    assert result.operators == []
    assert result.folder.sessions == 10
    assert np.array_equal(result.constant("y7"), np.cos(np.full(10_000, 7, np.float32)))


def test_large_results_are_kept_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldproof.large_tensors.SPILLED_FROM", 1000)
    x = np.linspace(0, 1, 5000, dtype=np.float32).reshape(50, 100)
    result = fold(parse_transposed(x))
    kept = result.model.graph.initializers["y"].const_value
    assert isinstance(kept, ir.LazyTensor)
    assert isinstance(kept.numpy(), np.memmap)
    assert np.array_equal(result.constant("y"), x.T)
    stored = next(tensor for tensor in result.proto.graph.initializer if tensor.name == "y")
    assert np.array_equal(numpy_helper.to_array(stored), x.T)


def parse_transposed(x: np.ndarray) -> onnx.ModelProto:
    graph = helper.make_graph(
        [NODE("Transpose", ["x"], ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])],
        [numpy_helper.from_array(x, "x")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_without_a_runtime_only_what_rounds_nothing_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "has_onnxruntime", lambda: False)
    nodes = [NODE("Cos", ["x"], ["c"]), NODE("Mul", ["i", "i"], ["y"])]
    constants = {"x": np.full(3, 0.5, np.float32), "i": np.arange(2000)}
    result = fold(model_of(nodes, {"c": TensorProto.FLOAT, "y": TensorProto.INT64}, **constants))
    assert result.operators == ["Cos"]
    assert result.constant("y").tolist() == (np.arange(2000) ** 2).tolist()
    assert "onnxruntime is not installed" in result.reasons


def test_the_limits_leave_room_for_real_weights() -> None:
    assert limits.MAX_BYTES >= 100 << 20
