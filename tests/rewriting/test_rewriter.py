from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import foldproof
from foldproof.errors import RuleError
from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Reason, Replace, rule
from foldproof.rewriting.packs import installed
from tests.helpers import initializers, operators, parse, rewrite, rewrite_by


@rule("Relu", exact=False)
def relu_to_abs(node: ir.Node, facts: Facts) -> Outcome:
    """Relu(x) = Abs(x), for a test."""
    return Replace(lambda op: op.Abs(node.inputs[0]))


@rule("Relu", exact=False)
def relu_to_input(node: ir.Node, facts: Facts) -> Outcome:
    """Relu(x) = x, for a test."""
    return Forward(node.inputs[0])


def test_a_new_node_takes_the_place_the_name_and_the_metadata_of_the_old_one() -> None:
    model = parse("g (float[N] x) => (float[N] y) { a = Relu(x) y = Neg(a) }")
    model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value="layer")
    result, rewriter = rewrite_by(model, [relu_to_abs])
    assert [node.op_type for node in result.graph.node] == ["Abs", "Neg"]
    assert result.graph.node[0].metadata_props == model.graph.node[0].metadata_props
    (entry,) = rewriter.ledger.entries
    assert (entry.number, entry.rule, entry.exact, entry.place, entry.graph) == (1, "relu_to_abs", False, "a", "g")
    assert entry.removed == ("Relu(x) -> a",)
    assert entry.because == ("x has the shape [N] by input contract",)


def test_an_output_of_the_graph_keeps_its_name_its_type_and_its_shape() -> None:
    model = parse("g (float[N] x) => (float[K] y) { a = Neg(x) y = Relu(a) }")
    for each in (relu_to_abs, relu_to_input):
        result, _ = rewrite_by(model, [each])
        assert result.graph.output == model.graph.output
        assert result.graph.node[-1].output[0] == "y"


@pytest.mark.parametrize(
    "text",
    [
        "g (float[N] x) => (float[N] y) <float s = {0.5}, int8 z = {0}> { a = Neg(x) y = Identity(a) }",
        "g (float[N] x) => (float[2] y) <float s = {0.5}, int8 z = {0}, float[2] k = {1, 2}> { y = Identity(k) }",
        """g (float[N] x, bool c) => (float[N] o) <float s = {0.5}, int8 z = {0}> {
            y, u = If (c) <then_branch = t () => (float[N] p, float[N] q) { p = Neg(x) q = Abs(x) },
                           else_branch = e () => (float[N] v, float[N] w) { v = Exp(x) w = Relu(x) }>
            o = Sqrt(y) }""",
    ],
    ids=["takes the name", "is stored under it", "is made under it"],
)
def test_what_gets_the_name_of_an_annotated_value_gets_its_annotation(text: str) -> None:
    """A quantization annotation is of a name (onnx.proto, `TensorAnnotation`), and what it names is in use."""
    model = parse(text)
    annotation = model.graph.quantization_annotation.add(tensor_name="y")
    for key, name in (("SCALE_TENSOR", "s"), ("ZERO_POINT_TENSOR", "z")):
        annotation.quant_parameter_tensor_names.add(key=key, value=name)
    result = foldproof.Optimizer(foldproof.Options(verify=False)).run(model)
    assert result.report.ledger
    assert list(result.model.graph.quantization_annotation) == [annotation]
    assert initializers(result.model).keys() >= {"s", "z"}


def test_an_input_that_becomes_an_output_is_handed_out_by_an_identity() -> None:
    result, rewriter = rewrite_by(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), [relu_to_input])
    assert [(node.op_type, list(node.input), list(node.output)) for node in result.graph.node] == [
        ("Identity", ["x"], ["y"])
    ]
    assert len(rewriter.ledger) == 1


def test_two_outputs_of_one_value_keep_both_names() -> None:
    result, _ = rewrite_by(
        parse("g (float[N] x) => (float[N] y, float[N] z) { y = Neg(x) z = Relu(y) }"), [relu_to_input]
    )
    assert [value.name for value in result.graph.output] == ["y", "z"]
    assert operators(result) == {"Neg": 1, "Identity": 1}


def test_an_identity_that_names_an_output_stays_and_others_go() -> None:
    result, rewriter = rewrite(
        parse(
            "g (float[N] x) => (float[N] y, float[N] z) { a = Identity(x) y = Identity(a) b = Neg(y) z = Identity(b) }"
        )
    )
    assert operators(result) == {"Identity": 1, "Neg": 1}
    again, second = rewrite(result)
    assert again == result
    assert len(second.ledger) == 0
    assert len(rewriter.ledger) > 0


def test_the_same_model_gives_the_same_ledger_and_the_same_bytes(models: Path) -> None:
    for path in sorted(models.glob("*.onnx")):
        if path.name.endswith(".opt.onnx"):
            continue
        first, second = (rewrite(onnx.load(path)) for _ in range(2))
        assert first[1].ledger.entries == second[1].ledger.entries
        assert first[0].SerializeToString(deterministic=True) == second[0].SerializeToString(deterministic=True)


def test_a_second_run_changes_nothing(models: Path) -> None:
    for path in sorted(models.glob("*.onnx")):
        if path.name.endswith(".opt.onnx"):
            continue
        once, _ = rewrite(onnx.load(path))
        twice, rewriter = rewrite(once)
        assert len(rewriter.ledger) == 0, path.name
        assert twice == once


def test_what_a_body_reads_is_replaced_there_too() -> None:
    result, _ = rewrite_by(
        parse(
            """g (float[N] x, bool c) => (float[N] y) {
                a = Neg(x) b = Relu(a)
                y = If (c) <then_branch = t () => (float[N] p) { p = Exp(b) }, else_branch = e () => (float[N] q) { q = Log(b) }>
            }"""
        ),
        [relu_to_input],
    )
    assert operators(result) == {"Neg": 1, "If": 1, "Exp": 1, "Log": 1}


def test_a_body_never_hands_out_a_value_from_outside_directly() -> None:
    result, _ = rewrite_by(
        parse(
            """g (float[N] x, bool c) => (float[N] y) {
                a = Neg(x)
                y = If (c) <then_branch = t () => (float[N] p) { p = Relu(a) }, else_branch = e () => (float[N] q) { q = Log(a) }>
            }"""
        ),
        [relu_to_input],
    )
    then_branch = next(a.g for a in result.graph.node[-1].attribute if a.name == "then_branch")
    assert [node.op_type for node in then_branch.node] == ["Identity"]


def test_a_kept_node_keeps_its_output_name() -> None:
    model = parse("g (float[N] x) => (float[N] y) { a = Neg(x) y = Relu(a) }")
    model.graph.node[0].name = "keep me"
    result, _ = rewrite_by(model, [relu_to_input], keep_node=["keep me"])
    assert next((node.name, list(node.output)) for node in result.graph.node) == ("keep me", ["a"])


def test_reasons_are_kept_for_nodes_that_are_left() -> None:
    @rule("Relu", exact=True)
    def never(node: ir.Node, facts: Facts) -> Outcome:
        """Relu(x) = Relu(x), never."""
        return Reason("it is {}", "left")

    _, rewriter = rewrite_by(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), [never])
    assert [{name: str(reason) for name, reason in reasons.items()} for reasons in rewriter.reasons.values()] == [
        {"never": "it is left"}
    ]


def test_facts_of_the_replaced_value_are_not_lost() -> None:
    @rule("Size", exact=True)
    def forget(node: ir.Node, facts: Facts) -> Outcome:
        """Size(x) = Identity-like nonsense of an unknown shape, for a test."""
        return Replace(lambda op: op.node("Cast", op.node("Cast", node.inputs[0], to=6), to=7))

    model = ir.from_proto(parse("g (int64 x) => (int64 y) { s = Size(x) y = Neg(s) }"))
    facts = Facts(model)
    from foldproof.rewriting import Rewriter

    Rewriter(model, facts, [forget]).run()
    assert facts.of(model.graph[-1].inputs[0]).elements == (1,)


def test_rules_are_tried_by_benefit() -> None:
    seen: list[str] = []

    def spy(name: str, benefit: int) -> object:
        def function(node: ir.Node, facts: Facts) -> Outcome:
            """Nothing = nothing."""
            seen.append(name)
            return None

        function.__name__ = name
        return rule("Relu", exact=True, benefit=benefit)(function)

    rewrite_by(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), [spy("low", 1), spy("high", 9)])
    assert seen == ["high", "low"]


def test_a_fault_of_a_rule_names_the_node() -> None:
    @rule("Relu", exact=True)
    def faulty(node: ir.Node, facts: Facts) -> Outcome:
        """Relu(x) = an error."""
        raise KeyError("oops")

    with pytest.raises(RuleError, match=r"node 'y' \(Relu\): the rule 'faulty' failed with KeyError"):
        rewrite_by(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), [faulty])


def test_a_fault_of_what_a_rule_builds_names_the_node() -> None:
    @rule("Relu", exact=True)
    def faulty(node: ir.Node, facts: Facts) -> Outcome:
        """Relu(x) = an error."""
        return Replace(lambda op: op.constant({}["oops"]))

    with pytest.raises(RuleError, match=r"node 'y' \(Relu\): the rule 'faulty' failed with KeyError"):
        rewrite_by(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), [faulty])


def test_where_a_number_does_not_fit_its_type_the_node_stays() -> None:
    @rule("Relu", exact=True)
    def large(node: ir.Node, facts: Facts) -> Outcome:
        """Relu(x) = a number, for a test."""
        return Replace(lambda op: op.constant(np.array([2**64], np.int64)))

    result, rewriter = rewrite_by(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), [large])
    assert operators(result) == {"Relu": 1}
    ((reason,),) = (list(reasons.values()) for reasons in rewriter.reasons.values())
    assert "too large" in str(reason)


def test_a_literal_constant_is_shared_by_its_type_too() -> None:
    @rule("Relu", exact=False)
    def constants(node: ir.Node, facts: Facts) -> Outcome:
        """Relu(x) = x + 0 + 0.0, for a test."""
        return Replace(
            lambda op: op.Add(
                op.Cast(op.constant(np.zeros(1, np.int64)), to=1),
                op.Add(node.inputs[0], op.constant(np.zeros(1, np.float32))),
            )
        )

    result, _ = rewrite_by(parse("g (float[N] x) => (float[N] y) { a = Relu(x) y = Relu(a) }"), [constants])
    assert sorted(map(str, initializers(result).values())) == ["[0.0]", "[0]"]


SHAPE_ARITHMETIC = """g (float[N, 4] x, float[M, 4] z) => (float[N, M, 4] y) <int64 zero = {0}, int64[1] front = {0}, int64[1] four = {4}> {
    s = Shape (x)  n = Gather (s, zero)  a = Unsqueeze (n, front)
    t = Shape (z)  m = Gather (t, zero)  b = Unsqueeze (m, front)
    target = Concat <axis = 0> (a, b, four)
    e = Unsqueeze (x, front)  f = Unsqueeze (z, front)  g = Unsqueeze (f, front)
    h = Transpose <perm = [1, 0, 2]> (e)  k = Add (h, f)  y = Reshape (k, target) }"""


def test_what_an_early_rule_makes_needless_dies_without_a_rewrite() -> None:
    result, rewriter = rewrite_by(parse(SHAPE_ARITHMETIC), installed())
    shape_arithmetic = {"s", "n", "a", "t", "m", "b", "target"}
    rules_at = {entry.place: entry.rule for entry in rewriter.ledger.entries if entry.place in shape_arithmetic}
    assert rules_at == dict.fromkeys(shape_arithmetic, "dead_node")
    assert not {"Shape", "Gather", "Concat"} & set(operators(result))


def test_early_rules_are_asked_from_the_outputs_to_the_inputs_and_again_with_all_others() -> None:
    asked = []

    @rule("Neg", exact=True, early=True)
    def early(node: ir.Node, facts: Facts) -> None:
        """Neg(x) = Neg(x), for a test."""
        asked.append(("early", node.outputs[0].name))

    @rule("Neg", exact=True)
    def late(node: ir.Node, facts: Facts) -> None:
        """Neg(x) = Neg(x), for a test."""
        asked.append(("late", node.outputs[0].name))

    rewrite_by(parse("g (float[N] x) => (float[N] y) { z = Neg (x)  y = Neg (z) }"), [early, late])
    assert asked == [("early", "y"), ("early", "z"), *((kind, name) for name in "zy" for kind in ("early", "late"))]


def test_a_reason_names_a_value_and_reads_none_of_its_elements() -> None:
    """Found by the fuzzer: the elements of a 6-bit type need not be any."""
    torn = ir.LazyTensor(lambda: ir.tensor([][0]), dtype=ir.DataType.FLOAT6E2M3, shape=ir.Shape([2]))
    value = ir.Value(name="low", const_value=torn)
    assert str(Reason("{} is not known to be below {}", value, 3)) == "low is not known to be below 3"
