"""Folding never makes a file grow beyond the budget: what bloats stays, and what it is made of is folded."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof import model_file
from foldproof.folding import Budget
from tests.folding.folding import Folded, fold
from tests.helpers import parse

NODE = helper.make_node


def with_weights(
    nodes: list[onnx.NodeProto], shape: list[int | None], *outputs: str, **weights: np.ndarray
) -> onnx.ModelProto:
    """A model with the float input `x` of a shape, and outputs of the same rank."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, shape)],
        [value(name, TensorProto.FLOAT, [None] * len(shape)) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def grown(result: Folded, before: onnx.ModelProto) -> int:
    """The bytes by which all stored tensors together grew."""
    return tensor_bytes(result.proto) - tensor_bytes(before)


def tensor_bytes(proto: onnx.ModelProto) -> int:
    return sum(numpy_helper.to_array(tensor).nbytes for tensor in proto.graph.initializer)


def test_a_weight_that_is_moved_takes_the_place_of_the_old_one() -> None:
    w = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)
    proto = with_weights([NODE("Transpose", ["w"], ["t"]), NODE("MatMul", ["x", "t"], ["y"])], [None, 200], "y", w=w)
    result = fold(proto, limit=0)
    assert result.operators == ["MatMul"]
    assert [tensor.name for tensor in result.proto.graph.initializer] == ["t"]
    assert np.array_equal(result.constant("t"), w.T)


def test_a_tied_weight_is_not_stored_twice() -> None:
    w = np.zeros((300, 200), np.float32)
    nodes = [NODE("Transpose", ["w"], ["t"]), NODE("MatMul", ["x", "t"], ["a"]), NODE("MatMul", ["a", "w"], ["y"])]
    result = fold(with_weights(nodes, [None, 200], "y", w=w))
    assert result.operators == ["Transpose", "MatMul", "MatMul"]
    assert "the file would grow by 240000 bytes" in result.reasons


def test_a_tied_weight_is_stored_twice_where_the_budget_allows() -> None:
    w = np.zeros((30, 20), np.float32)
    nodes = [NODE("Transpose", ["w"], ["t"]), NODE("MatMul", ["x", "t"], ["a"]), NODE("MatMul", ["a", "w"], ["y"])]
    assert fold(with_weights(nodes, [None, 20], "y", w=w)).operators == ["MatMul", "MatMul"]


def test_two_forms_of_one_weight_are_not_each_paid_by_its_going() -> None:
    w = np.zeros((300, 200), np.float32)
    nodes = [NODE("Neg", ["w"], ["a"]), NODE("Abs", ["w"], ["b"])]
    nodes += [NODE("Sub", ["x", "a"], ["p"]), NODE("Sub", ["p", "b"], ["y"])]
    proto = with_weights(nodes, [300, 200], "y", w=w)
    result = fold(proto, limit=1000)
    assert grown(result, proto) <= 1000
    assert len(result.operators) >= 3


@pytest.mark.parametrize(
    "text",
    [
        "e = Expand(r, s)",
        "a = Expand(r, s) \n b = Relu(a) \n e = Relu(b)",
        "t = Reshape(r, one) \n e = Tile(t, s)",
        "t = Reshape(r, one) \n a = Tile(t, s) \n e = Neg(a)",
        "z = ConstantOfShape(s) \n e = Add(z, r)",
    ],
)
def test_what_bloats_stays_and_what_it_is_made_of_folds(text: str) -> None:
    proto = parse(f"""g (float[500,100] x) => (float[500,100] y)
        <float k = {{2.0}}, int64[2] s = {{500, 100}}, int64[2] one = {{1, 1}}> {{
        r = Cos(k) \n {text} \n y = Mul(x, e)
    }}""")
    result = fold(proto)
    assert grown(result, proto) <= 64 << 10
    assert "Cos" not in result.operators
    assert "bytes, which is beyond" in result.reasons


def many_expands(count: int) -> onnx.ModelProto:
    """Each of them would add 4,000 bytes."""
    nodes = [NODE("Expand", ["k", "s"], [f"e{i}"]) for i in range(count)]
    names = ["x", *(f"y{i}" for i in range(count - 1)), "y"]
    nodes += [NODE("Mul", [names[i], f"e{i}"], [names[i + 1]]) for i in range(count)]
    k, s = np.array(2, np.float32), np.array([10, 100])
    return with_weights(nodes, [10, 100], "y", k=k, s=s)


def test_what_fits_together_folds() -> None:
    """All but the eighth that is for small results."""
    assert fold(many_expands(5), limit=23_000).operators == ["Mul"] * 5


def test_of_what_does_not_fit_together_none_folds() -> None:
    """Else a second run, with a budget of its own, would fold more."""
    proto = many_expands(5)
    result = fold(proto, limit=22_000)
    assert result.operators == proto_operators(proto)


def small_and_large(large: int) -> onnx.ModelProto:
    """Eight Expands to 500 bytes each, and some to 40,000 bytes."""
    nodes, names = [], ["x", *(f"y{i}" for i in range(7 + large)), "y"]
    for i in range(8 + large):
        nodes.append(NODE("Expand", [f"k{i}", "s" if i < 8 else "t"], [f"e{i}"]))
        nodes.append(NODE("Mul", [names[i], f"e{i}"], [names[i + 1]]))
    weights = {f"k{i}": np.array(i + 2, np.float32) for i in range(8 + large)}
    return with_weights(nodes, [80, 125], "y", s=np.array([125]), t=np.array([80, 125]), **weights)


def test_small_results_fold_where_large_ones_do_not_fit_together() -> None:
    proto = small_and_large(2)
    result = fold(proto)
    assert result.operators.count("Expand") == 2
    assert 4_000 - 8 * 8 <= grown(result, proto) <= 64 << 10
    assert len(fold(result.proto).rewriter.ledger) == 0  # a second run has a budget of its own


def test_small_and_large_results_together_stay_within_the_budget() -> None:
    proto = small_and_large(1)
    result = fold(proto)
    assert "Expand" not in result.operators
    assert grown(result, proto) <= 64 << 10


def proto_operators(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def test_one_that_is_too_large_by_itself_does_not_stand_in_the_way() -> None:
    proto = parse("""g (float[5000] x) => (float[5000] y, float[100] z)
        <float k = {2.0}, int64[1] s = {5000}, int64[1] t = {100}> {
        a = Expand(k, s) y = Mul(x, a) b = Expand(k, t) z = Cos(b)
    }""")
    result = fold(proto, limit=1000)
    assert result.operators == ["Expand", "Mul"]
    assert np.allclose(result.constant("z"), np.full(100, np.cos(2.0)))


def test_a_few_bytes_always_fold() -> None:
    proto = parse("""g (float[4] x) => (float[4] y) <float k = {2.0}, int64[1] s = {4}> {
        a = Expand(k, s) y = Mul(x, a)
    }""")
    assert fold(proto, limit=0).operators == ["Mul"]


def test_what_a_fold_frees_pays_for_another() -> None:
    w = np.zeros((300, 200), np.float32)
    nodes = [
        NODE("ReduceSum", ["w"], ["r"], keepdims=0),
        NODE("Expand", ["k", "s"], ["e"]),
        NODE("Mul", ["x", "e"], ["a"]),
        NODE("Mul", ["a", "r"], ["y"]),
    ]
    k, s = np.array(2, np.float32), np.array([100, 200])
    proto = with_weights(nodes, [100, 200], "y", w=w, k=k, s=s)
    assert fold(proto, limit=0).operators == ["Mul", "Mul"]


def test_an_unknown_size_is_counted_once_it_is_known() -> None:
    """NonZero's result is known only after it is computed: 8 bytes for each of 10,000 elements."""
    w = np.tile(np.array([0, 1.5], np.float32), 10_000)
    nodes = [NODE("NonZero", ["w"], ["n"]), NODE("Gather", ["x", "n"], ["g"]), NODE("Gather", ["w", "n"], ["h"]),
             NODE("Mul", ["g", "h"], ["y"])]  # fmt: skip
    proto = with_weights(nodes, [20_000], "y", w=w)
    del proto.graph.output[0].type.tensor_type.shape.dim[:]
    proto.graph.output[0].type.tensor_type.shape.dim.add()
    proto.graph.output[0].type.tensor_type.shape.dim.add()
    result = fold(proto, limit=1000)
    assert "NonZero" in result.operators
    assert grown(result, proto) <= 1000


def test_the_default_is_one_percent_or_64_kib() -> None:
    w = np.zeros((3000, 1000), np.float32)
    model = model_file.from_proto(with_weights([NODE("Identity", ["x"], ["y"])], [1], "y", w=w)).model
    assert Budget.of(model, None, 2).limit == 120_000
    assert Budget.of(model, None, 3).limit == 1_200_000
    assert Budget.of(model, 5, 2).limit == 600_000
    assert Budget.of(model, 0, 2).limit == 0
    small = model_file.from_proto(with_weights([NODE("Identity", ["x"], ["y"])], [1], "y")).model
    assert Budget.of(small, None, 1).limit == 64 << 10


def test_a_second_run_folds_nothing_more() -> None:
    proto = parse("""g (float[500,100] x) => (float[500,100] y) <float k = {2.0}, int64[2] s = {500, 100}> {
        r = Cos(k) \n a = Expand(r, s) \n y = Mul(x, a)
    }""")
    once = fold(proto)
    twice = fold(once.proto)
    assert len(twice.rewriter.ledger) == 0
    assert twice.proto.graph.node == once.proto.graph.node


@pytest.mark.parametrize("step", ["Concat <axis = 0> (t{0}, t{0})", "Pad (t{0}, p)"])
def test_a_chain_that_grows_step_by_step_is_not_folded_further_by_each_run(step: str) -> None:
    chain = " ".join(f"t{k + 1} = {step.format(k)}" for k in range(8))
    proto = parse(f"""g (int64[N] i) => (float[N] y) <float[5000] w = {{{", ".join(["1"] * 5000)}}}, int64[2] p = {{0, 9000}}> {{
        t0 = Neg(w) {chain} y = Gather(t8, i) }}""")
    first = fold(proto)
    assert grown(first, proto) <= 64 << 10
    assert "Neg" not in first.operators
    assert fold(first.proto).operators == first.operators
