"""Models that would keep inference busy for ever: it gives up, and says nothing of what it did not find out."""

from __future__ import annotations

import time

import onnx
import onnx_ir as ir
import pytest

from foldproof.facts import Facts
from foldproof.facts.dim import Dim, TooComplexError
from tests.helpers import parse


def facts_of(model: onnx.ModelProto) -> tuple[ir.Model, Facts]:
    made = ir.from_proto(model)
    return made, Facts(made)


def calls(count: int, each: int) -> onnx.ModelProto:
    """Functions each of which calls the next one several times."""
    functions = []
    for number in range(count):
        body = " ".join(f"a{k} = my.f{number + 1} ({f'a{k - 1}' if k else 'x'})" for k in range(each))
        body = body if number < count - 1 else f"a{each - 1} = Neg (x)"
        functions.append(f'<domain: "my", opset_import: ["": 18, "my": 1]> f{number} (x) => (a{each - 1}) {{ {body} }}')
    graph = "g (float[N] x) => (float[M] y, int64 n) { y = my.f0 (x) n = Size (y) }"
    return parse(graph, imports='"my": 1', functions="\n".join(functions))


@pytest.mark.parametrize(("count", "each"), [(30, 2), (2000, 1)])
def test_calls_that_multiply_are_not_followed(count, each):
    model, facts = facts_of(calls(count, each))
    start = time.process_time()
    for node in model.graph:
        assert facts.of(node.outputs[0]) is not None
        facts.is_deterministic(node)
        facts.is_opaque(node)
    assert facts.shape(model.graph[0].outputs[0]) is None
    assert facts.problems == []
    assert time.process_time() - start < 5


def test_calls_that_are_few_are_followed():
    model, facts = facts_of(calls(5, 2))
    assert facts.shape(model.graph[0].outputs[0]) == (Dim.symbol("N"),)
    assert facts.is_deterministic(model.graph[0])
    assert not facts.is_opaque(model.graph[0])


def test_expressions_that_grow_without_end_are_given_up():
    steps = " ".join(f"q{k} = Add (k{k}, d{k % 2}) k{k + 1} = Mul (q{k}, k{k})" for k in range(30))
    dims = "s = Shape (x) d0, d1 = Split <axis = 0, num_outputs = 2> (s) k0 = Add (d0, d1)"
    model, facts = facts_of(parse(f"g (float[A, B] x) => (int64[1] k30) {{ {dims} {steps} }}"))
    start = time.process_time()
    assert facts.of(model.graph[-1].outputs[0]).ints is None
    assert facts.problems == []
    assert time.process_time() - start < 5


def test_an_expression_that_is_too_complex_is_an_error_of_its_own():
    total = sum(Dim.symbol(f"d{k}") for k in range(100))
    with pytest.raises(TooComplexError):
        total * total
    power = Dim.symbol("n") * 2
    for _ in range(12):
        power = power * power
    with pytest.raises(TooComplexError):
        power * power


@pytest.mark.parametrize(
    "node",
    [
        "Gather <axis = 1.0> (x, i)",
        "Transpose <perm = 1> (x)",
        "Concat (x, x)",
        "Add (x, x, x)",
        "Split <num_outputs = 2> ()",
        "BitwiseXor (i)",
        "Reshape (x, )",
    ],
)
def test_of_a_node_that_its_operator_does_not_admit_nothing_is_known(node):
    model, facts = facts_of(parse(f"g (float[2, 3] x, int64[2] i) => (float[2] y) {{ y = {node} }}", opset=18))
    fact = facts.of(model.graph[-1].outputs[0])
    assert (fact.shape, fact.elements) == (None, None)
    assert facts.problems == []


@pytest.mark.parametrize(
    "node",
    [
        "Conv <strides = [0, 1]> (x, x)",
        "MaxPool <kernel_shape = [1, 1], strides = [1, 0]> (x)",
        "DeformConv <strides = [0, 0]> (x, x, x)",
        "Attention <q_num_heads = 0, kv_num_heads = 0> (q, q, q)",
    ],
)
def test_a_zero_by_which_inference_divides_ends_nothing(node):
    model, facts = facts_of(parse(f"g (float[1, 4, 8, 8] x, float[1, 4, 8] q) => (float y) {{ y = {node} }}", opset=23))
    assert facts.of(model.graph[0].outputs[0]).elements is None
    assert facts.problems == []


def test_an_operator_that_this_version_lacks_is_none():
    model, facts = facts_of(parse("g (int64[2] x) => (int64[2] y) { y = BitwiseXor (x, x) }", opset=13))
    assert facts.of(model.graph[0].outputs[0]).shape is None


def test_a_reference_of_another_type_than_the_attribute_of_the_call():
    function = '<domain: "my", opset_import: ["": 18]> f <axis> (p, i) => (q) { q = Gather <axis: int = @axis> (p, i) }'
    for given, shape in (("axis = 1", (2, 2)), ("axis = 1.0", None)):
        graph = f"g (float[2, 3] x, int64[2] i) => (float[2] y) {{ y = my.f <{given}> (x, i) }}"
        model, facts = facts_of(parse(graph, imports='"my": 1', functions=function))
        assert facts.shape(model.graph[0].outputs[0]) == shape
        assert facts.problems == []


def test_a_resize_by_infinity():
    body = 'y = Resize <mode = "nearest"> (x, , s)'
    model = parse(f"g (float[1, 3] x) => (float[N, M] y) <float[2] s = {{1, 1}}> {{ {body} }}")
    model.graph.initializer[0].CopyFrom(onnx.helper.make_tensor("s", 1, [2], [1.0, float("inf")]))
    made, facts = facts_of(model)
    assert facts.shape(made.graph[0].outputs[0])[0] == 1
    assert facts.problems == []
