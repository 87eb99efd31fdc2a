from __future__ import annotations

import onnx
import pytest

import foldproof
from tests.helpers import parse


def declared(body: str, *values: onnx.ValueInfoProto) -> onnx.ModelProto:
    model = parse(body)
    model.graph.value_info.extend(values)
    return model


def float_value(name: str, *dims: int | str | None) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)


def run(model: onnx.ModelProto) -> foldproof.Result:
    return foldproof.Optimizer().run(model)


CONCAT = "g (float[2,3] x) => (float[4,3] y) { t = Concat <axis = 0> (x, x) y = Relu(t) }"


def test_a_declared_integer_that_inference_disproves_is_listed_and_corrected() -> None:
    result = run(declared(CONCAT, float_value("t", 2, 3)))
    assert list(map(str, result.report.contradictions)) == [
        "the model says that t is FLOAT[2, 3], inference proves FLOAT[4, 3]"
    ]
    assert list(result.model.graph.value_info) == [float_value("t", 4, 3)]


def test_an_integer_for_a_dim_that_the_contract_varies_is_disproved() -> None:
    result = run(declared("g (float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Neg(t) }", float_value("t", 2, 3)))
    assert [contradiction.proven for contradiction in result.report.contradictions] == ["FLOAT[N, 3]"]
    assert list(result.model.graph.value_info) == [float_value("t", "N", 3)]


@pytest.mark.parametrize(
    ("body", "dims"),
    [
        ("g (float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Neg(t) }", ("M", 3)),
        ("g (float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Neg(t) }", (None, None)),
        ("g (float[2,3] x) => (float[M,N] y) { i = NonZero(x) t = Cast <to = 1> (i) y = Neg(t) }", (2, 5)),
    ],
)
def test_what_may_be_true_is_left_as_it_is(body: str, dims: tuple[int | str | None, ...]) -> None:
    result = run(declared(body, float_value("t", *dims)))
    assert result.report.contradictions == ()
    assert list(result.model.graph.value_info) == [float_value("t", *dims)]


def test_outputs_are_listed_but_stay_as_they_are_written() -> None:
    model = parse("g (float[N,3] x) => (float[2,3] y) { y = Relu(x) }")
    result = run(model)
    assert [contradiction.value for contradiction in result.report.contradictions] == ["y"]
    assert result.model.graph.output == model.graph.output


def test_a_claim_on_an_inner_value_never_decides_a_size() -> None:
    result = run(declared("g (float[N,3] x) => (int64 s) { t = Relu(x) s = Size(t) }", float_value("t", 2, 3)))
    assert [node.op_type for node in result.model.graph.node] == ["Size"]
