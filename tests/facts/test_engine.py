from __future__ import annotations

import onnx_ir as ir
import pytest

from foldproof.facts import Basis, Dim, Fact, Facts
from foldproof.facts.fact import UNKNOWN, agree, meet, tensor_fact
from tests.helpers import parse


def facts_of(body: str, *, overridable: tuple[str, ...] = (), **kwargs: str) -> tuple[Facts, dict[str, ir.Value]]:
    model = ir.from_proto(parse(body, **kwargs))
    values = {str(value.name): value for value in (*model.graph.inputs, *model.graph.initializers.values())}
    for node in model.graph.all_nodes():
        values.update({str(value.name): value for value in node.outputs})
    return Facts(model, overridable), values


def test_a_declared_input_is_the_contract() -> None:
    facts, values = facts_of("g (float[N,3,?] x) => (float[N,3,?] y) { y = Relu(x) }")
    fact = facts.of(values["x"])
    assert fact.dtype is ir.DataType.FLOAT
    assert fact.shape[:2] == (Dim.symbol("N"), 3)
    assert str(fact.shape[2]) == "x:2"
    assert fact.basis is Basis.CONTRACT


def test_a_negative_declared_dim_is_unknown_and_a_declared_0_is_0() -> None:
    model = parse("g (float[7,0] x) => (float[7,0] y) { y = Relu(x) }")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    ir_model = ir.from_proto(model)
    first, second = Facts(ir_model).of(ir_model.graph.inputs[0]).shape
    assert isinstance(first, Dim)
    assert second == 0


def test_an_initializer_is_a_constant_unless_it_may_be_overridden() -> None:
    body = "g (float[N] x, float[K] k) => (float[N] y) <float[2] k = {1, 2}> { y = Add(x, k) }"
    facts, values = facts_of(body)
    assert facts.of(values["k"]).ints == (1, 2)
    facts, values = facts_of(body, overridable=("k",))
    assert facts.of(values["k"]).constant is None
    assert facts.of(values["k"]).elements is None
    assert facts.of(values["k"]).shape == (Dim.symbol("K"),)


def test_a_claim_is_used_only_where_nothing_can_be_inferred() -> None:
    facts, values = facts_of(
        "g (float[N] x) => (float[N] y) <float[2] a, float[5] b> { a = acme.F(x) b = Relu(x) y = Add(a, b) }",
        imports='"acme": 1',
    )
    assert facts.of(values["a"]).shape == (2,)
    assert facts.of(values["a"]).basis is Basis.CLAIM
    assert facts.of(values["b"]).shape == (Dim.symbol("N"),)


def test_what_a_fact_rests_on_is_handed_on() -> None:
    facts, values = facts_of("g (float[N] x) => (float[N] y) <float[1] k = {2}> { a = Add(x, k) y = Relu(a) }")
    assert facts.of(values["y"]).basis == Basis.CONTRACT | Basis.INITIALIZER | Basis.INFERENCE
    assert str(facts.of(values["y"]).basis) == "input contract and initializer and inference"


def test_symbols_of_one_name_in_two_bodies_are_told_apart() -> None:
    facts, values = facts_of(
        """g (float[N] x, bool c) => (int64[M] y) {
            y = If (c) <then_branch = t () => (int64[K] a) { z = NonZero(x) m = Constant <value_ints = [-1]> () a = Reshape(z, m) },
                        else_branch = e () => (int64[K] b) { w = NonZero(x) n = Constant <value_ints = [-1]> () b = Reshape(w, n) }>
        }"""
    )
    assert facts.of(values["z"]).shape != facts.of(values["w"]).shape


def test_a_deep_graph_needs_no_recursion() -> None:
    nodes = " ".join(f"v{k + 1} = Relu(v{k})" for k in range(5000))
    facts, values = facts_of(f"g (float[N] v0) => (float[N] v5000) {{ {nodes} }}")
    assert facts.of(values["v5000"]).shape == (Dim.symbol("N"),)


def test_a_function_is_inferred_for_each_call() -> None:
    facts, values = facts_of(
        "g (float[2,3] x, float[N] y) => (int64 s, int64 t) { s = f.count(x) t = f.count(y) }",
        imports='"f": 1',
        functions='<domain: "f", opset_import: ["": 18]> count (v) => (n) { n = Size(v) }',
    )
    assert facts.of(values["s"]).elements == (6,)
    assert facts.of(values["t"]).elements == (Dim.symbol("N"),)


def test_what_an_attribute_of_an_unknown_call_decides_is_unknown() -> None:
    model = ir.from_proto(
        parse(
            "g (float[2,3] x) => (float[3,2] y) { y = f.turn <p = [1, 0]> (x) }",
            imports='"f": 1',
            functions='<domain: "f", opset_import: ["": 18]> turn <p> (v) => (w) { w = Transpose <perm: ints = @p> (v) }',
        )
    )
    facts = Facts(model)
    assert facts.of(model.graph[0].outputs[0]).shape == (3, 2)
    function = next(iter(model.functions.values()))
    assert facts.of(function[0].outputs[0]) == UNKNOWN or facts.of(function[0].outputs[0]).shape is None


def test_a_fault_of_a_transfer_function_is_told_and_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(node: object) -> Fact:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("foldproof.facts.engine.transfer_of", lambda node: faulty)
    facts, values = facts_of("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    assert facts.of(values["y"]).shape is None
    assert [str(problem) for problem in facts.problems] == [
        "node 'y' (Relu): inference failed with ZeroDivisionError: oops. "
        "Nothing is known there. This is a fault of Foldproof: please report it with the model."
    ]


def test_facts_never_get_weaker() -> None:
    facts, values = facts_of("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    facts.learn(values["y"], tensor_fact(None, (4,)))
    assert facts.of(values["y"]).shape == (4,)
    facts.learn(values["y"], UNKNOWN)
    assert facts.of(values["y"]).shape == (4,)


def test_what_is_learnt_of_an_output_of_a_body_reaches_the_node_that_holds_it() -> None:
    facts, values = facts_of(
        """g (bool c, int64 k) => (int64 z) {
            y = If (c) <then_branch = t () => (int64 a) { a = Identity (k) },
                        else_branch = e () => (int64 b) { b = Constant <value_int = 1> () }>
            z = Neg (y)
        }"""
    )
    assert facts.of(values["z"]).ints is None
    facts.learn(values["a"], tensor_fact(ir.DataType.INT64, (), [1]))
    facts.spread(values["a"])
    assert facts.of(values["z"]).elements == (-1,)


def test_agree_keeps_what_both_say_and_meet_all_that_either_says() -> None:
    a = tensor_fact(ir.DataType.INT64, (2,), [1, 2])
    b = tensor_fact(ir.DataType.INT64, (2,), [1, 3])
    assert agree(a, b).elements == (1, None)
    assert agree(a, tensor_fact(ir.DataType.INT64, (3,))).shape is None
    assert meet(tensor_fact(None, (Dim.symbol("N"),)), tensor_fact(ir.DataType.FLOAT, (2,))) == tensor_fact(
        ir.DataType.FLOAT, (2,)
    )


def test_meet_keeps_the_dim_that_tells_more() -> None:
    contract, inner = Dim.symbol("N"), Dim.symbol("y:0", 7)
    newer = Dim.symbol("y:0", 8)
    pairs = ((contract * 4, inner), (contract, contract * 2 - 1), (inner, contract * inner), (inner, newer))
    for better, worse in pairs:
        for a, b in ((better, worse), (worse, better)):
            assert meet(tensor_fact(None, (a,)), tensor_fact(None, (b,))).shape == (better,)


@pytest.mark.parametrize(
    ("body", "deterministic"),
    [
        ("y = Relu(x)", True),
        ("y = RandomNormalLike(x)", False),
        ("y = Bernoulli(x)", False),
        ("y = Dropout(x)", True),
        ("y = Dropout(x, r, t)", False),
        ("y = Dropout(x, r, f)", True),
        ("y = acme.F(x)", False),
        (
            "y = If (t) <then_branch = a () => (float[N] p) { p = Relu(x) }, else_branch = b () => (float[N] q) { q = Exp(x) }>",
            True,
        ),
        (
            "y = If (t) <then_branch = a () => (float[N] p) { p = Relu(x) }, else_branch = b () => (float[N] q) { q = RandomNormalLike(x) }>",
            False,
        ),
    ],
)
def test_determinism(body: str, deterministic: bool) -> None:
    model = ir.from_proto(
        parse(
            f"g (float[N] x) => (float[N] y) <bool t = {{1}}, bool f = {{0}}, float r = {{0.5}}> {{ {body} }}",
            imports='"acme": 1',
        )
    )
    assert Facts(model).is_deterministic(model.graph[0]) is deterministic


def test_a_dim_that_inference_has_no_name_for_gets_the_author_s() -> None:
    facts, values = facts_of("g (float[N] x) => (int64[1,K] y) { y = NonZero(x) }")
    dim = facts.of(values["y"]).shape[1]
    assert str(dim) == "K"
    assert dim != Dim.symbol("K")


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (tensor_fact(ir.DataType.INT64, (3,), [4, -2, 7]), (-2, 7)),
        (tensor_fact(ir.DataType.INT64, (2,), [Dim.symbol("N"), 3]), (0, 2**30)),
        (tensor_fact(ir.DataType.INT64, (2,), [None, 3]), (None, None)),
        (tensor_fact(ir.DataType.BOOL, (Dim.symbol("N"),)), (0, 1)),
        (tensor_fact(ir.DataType.UINT8, (2,)), (0, None)),
        (tensor_fact(ir.DataType.FLOAT, (2,)), (None, None)),
    ],
)
def test_the_range_of_the_elements(fact: Fact, expected: tuple[int | None, int | None]) -> None:
    assert fact.range == expected
