from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import foldproof
from foldproof.rewriting import Constant, Forward, Outcome, Replace, Rule, initializer_rule, rule
from foldproof.rewriting.packs import installed
from tests.helpers import initializers, operators, parse


@rule("Relu", exact=True)
def no_relu(node: ir.Node, facts: foldproof.facts.Facts) -> Forward:
    """Relu(x) = x, which is wrong."""
    return Forward(node.inputs[0])


@rule("Relu", exact=False)
def rough_relu(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
    """Relu(x) = 1.001*Relu(x), which is wrong."""
    if any(use.node.op_type == "Mul" for use in node.outputs[0].uses()):
        return None
    return Replace(lambda op: op.Mul(op.Relu(node.inputs[0]), op.constant(np.float32(1.001))))


@rule("Size", exact=True, benefit=90)
def frozen_batch(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
    """Size(x) = the size at a batch of 1, which is wrong at any other."""
    dims = facts.shape(node.inputs[0]) or ()
    return Constant(np.int64(np.prod([dim if isinstance(dim, int) else 1 for dim in dims])))


def by(*rules: Rule, **options: object) -> foldproof.Optimizer:
    return foldproof.Optimizer(foldproof.Options(**options), rules=[*rules, *installed()])


MODEL = "g (float[N,3] x) => (float[N,3] y, float[N,3] z, int64 s) { i = Identity(x) a = Relu(i) y = Neg(a) b = Abs(x) z = Relu(b) s = Size(x) }"


def test_the_guilty_rewrite_is_taken_back_and_the_rest_kept() -> None:
    """Where the wrong rule happens to be right, after Abs, its rewrite stays."""
    model = parse(MODEL)
    result = by(no_relu).run(model)
    assert result.report.verdict == "verified"
    assert [(each.rule, each.place) for each in result.report.taken_back] == [("no_relu", "a")]
    assert operators(result.model) == {"Relu": 1, "Neg": 1, "Abs": 1, "Size": 1}
    difference = result.report.taken_back[0].difference
    assert (difference.output, difference.binding) == ("y", {"N": 1})
    assert difference.original != difference.optimized
    assert "'no_relu' at 'a' was taken back: with it the output 'y' differs, at N=1" in result.report.warnings[0]


def test_the_result_is_that_of_a_run_without_the_rule() -> None:
    model = parse("g (float[N,3] x) => (float[N,3] y) { i = Identity(x) a = Relu(i) b = Identity(a) y = Neg(b) }")
    assert by(no_relu).run(model).model == by().run(model).model


def test_what_shows_at_one_binding_only_is_found() -> None:
    report = by(frozen_batch).run(parse(MODEL)).report
    (guilty,) = report.taken_back
    assert (guilty.rule, guilty.difference.output) == ("frozen_batch", "s")
    assert guilty.difference.binding["N"] != 1


def test_a_rule_that_is_guilty_twice_is_left_out() -> None:
    nodes = " ".join(f"a{i} = Add(x, k{i}) y{i} = Relu(a{i})" for i in range(8))
    constants = ", ".join(f"float k{i} = {{{i}}}" for i in range(8))
    outputs = ", ".join(f"float[N,3] y{i}" for i in range(8))
    model = parse(f"g (float[N,3] x) => ({outputs}) <{constants}> {{ {nodes} }}")
    result = by(no_relu).run(model)
    assert len(result.report.taken_back) == 2
    assert "all rewrites of the rule 'no_relu' were taken back" in result.report.warnings[-1]
    assert operators(result.model)["Relu"] == 8


def test_a_wrong_tolerant_rewrite_is_taken_back() -> None:
    model = parse("g (float[2,3] x) => (float[2,3] z, int64 s) { a = Relu(x) z = Neg(a) s = Size(x) }")
    result = by(rough_relu).run(model)
    assert result.report.verdict == "verified"
    assert [each.rule for each in result.report.taken_back] == ["rough_relu"]
    assert operators(result.model) == {"Relu": 1, "Neg": 1}
    assert initializers(result.model) == {"s": 6}


def test_where_many_roundings_add_up_tolerant_rules_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = []
    for op_type, factor in (("Relu", 1.001), ("Abs", 1.002), ("Neg", 1.003), ("Tanh", 1.004)):

        def rough(
            node: ir.Node, facts: foldproof.facts.Facts, op_type: str = op_type, factor: float = factor
        ) -> Outcome:
            """F(x) = k * F(x), which is wrong."""
            if any(use.node.op_type == "Mul" for use in node.outputs[0].uses()):
                return None
            return Replace(lambda op: op.Mul(op.node(op_type, node.inputs[0]), op.constant(np.float32(factor))))

        rough.__name__ = f"rough_{op_type.lower()}"
        rules.append(rule(op_type, exact=False)(rough))
    model = parse("g (float[2,3] x) => (float[2,3] z) { a = Tanh(x) b = Neg(a) c = Abs(b) z = Relu(c) }")
    result = foldproof.Optimizer(rules=rules).run(model)
    assert result.report.verdict == "verified"
    assert len(result.report.taken_back) == 3
    assert "tolerant rules were left out" in result.report.warnings[-1]
    assert operators(result.model) == {"Tanh": 1, "Neg": 1, "Abs": 1, "Relu": 1}


def test_strict_makes_a_difference_an_error_that_names_the_rewrite() -> None:
    with pytest.raises(foldproof.VerificationError, match="The guilty rewrite is 'no_relu' at 'a'") as caught:
        by(no_relu, strict=True).run(parse(MODEL))
    (guilty,) = caught.value.report.taken_back
    assert (guilty.rule, guilty.place, guilty.graph) == ("no_relu", "a", "g")


def test_a_prefix_of_the_ledger_is_replayed() -> None:
    model = parse(MODEL)
    whole = by().run(model).report.ledger
    for length in range(len(whole) + 2):
        result = by(stop_after=length).run(model)
        assert result.report.ledger == whole[:length]
        onnx.checker.check_model(result.model, full_check=True)


def test_a_model_that_differs_from_itself_blames_no_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    from foldproof.verification import Difference, Verification

    def differs(*_: object, **__: object) -> Verification:
        return Verification("different", differences=(Difference("y", "value", "an element differs"),))

    monkeypatch.setattr("foldproof.verification.Verifier.compare", differs)
    with pytest.raises(foldproof.VerificationError, match="an element differs"):
        by().run(parse(MODEL))


@initializer_rule(exact=True)
def equal_numbers(value: ir.Value, facts: foldproof.facts.Facts) -> Outcome:
    """K = k', where 0.0 equals -0.0, which is wrong."""
    first = next(iter(value.graph.initializers.values()))
    same = first is not value and facts.of(first).constant.numpy() == facts.of(value).constant.numpy()
    return Forward(first) if same else None


def test_a_wrong_rewrite_of_an_initializer_is_taken_back() -> None:
    model = parse(
        "g (float[N] x) => (float[N] y, float[N] z) <float a = {0}, float b = {-0.0}> { y = Mul(x, a) z = Mul(x, b) }"
    )
    report = by(equal_numbers).run(model).report
    assert [(each.rule, each.place) for each in report.taken_back] == [("equal_numbers", "b")]
