from __future__ import annotations

import pytest

from foldproof.errors import UsageError
from foldproof.rewriting import Reason, expression_rule
from tests.helpers import operators, parse, rewrite_by


@expression_rule(exact=True)
class NegOfNeg:
    """Neg(Neg(x)) = x."""

    def pattern(op, x):
        return op.Neg(op.Neg(x))

    def replacement(op, x):
        return x


@expression_rule(exact=True)
class TransposeOfTranspose:
    """Transpose(Transpose(x, p), q) = Transpose(x, p[q])."""

    def pattern(op, x, p, q):
        return op.Transpose(op.Transpose(x, perm=p), perm=q)

    def replacement(op, x, p, q):
        return op.Transpose(x, perm=[p[k] for k in q])

    def condition(facts, x, p, q):
        return Reason("a permutation is left out") if p is None or q is None else None


@expression_rule(exact=False)
class Distribute:
    """x*z + y*z = (x + y)*z."""

    def pattern(op, x, y, z):
        return op.Add(op.Mul(x, z), op.Mul(y, z))

    def replacement(op, x, y, z):
        return op.Mul(op.Add(x, y), z)


def test_names_and_equations_come_from_the_class() -> None:
    assert (NegOfNeg.name, NegOfNeg.equation, NegOfNeg.exact) == ("neg_of_neg", "Neg(Neg(x)) = x.", True)
    assert NegOfNeg.op_types == ("Neg",)


def test_the_pattern_is_replaced() -> None:
    model, rewriter = rewrite_by(
        parse("g (float[N] x) => (float[N] y) { a = Neg(x) b = Neg(a) y = Exp(b) }"), [NegOfNeg]
    )
    assert [entry.rule for entry in rewriter.ledger.entries] == ["neg_of_neg"]
    assert list(model.graph.node[-1].input) == ["x"]


def test_an_inner_value_that_is_read_elsewhere_is_left() -> None:
    body = "g (float[N] x) => (float[N] y, float[N] z) { a = Neg(x) b = Neg(a) y = Exp(b) z = Exp(a) }"
    model, rewriter = rewrite_by(parse(body), [NegOfNeg])
    assert operators(model) == {"Neg": 2, "Exp": 2}
    assert any("read elsewhere" in str(each["neg_of_neg"]) for each in rewriter.reasons.values() if each)


def test_attributes_are_bound() -> None:
    body = "g (float[A,B,C] x) => (float[C,B,A] y) { a = Transpose <perm = [1, 2, 0]> (x) b = Transpose <perm = [1, 0, 2]> (a) y = Exp(b) }"
    model, _ = rewrite_by(parse(body), [TransposeOfTranspose])
    transpose = next(
        node
        for node in model.graph.node
        if node.op_type == "Transpose" and node.input[0] == "x" and "a" not in node.output
    )
    assert list(transpose.attribute[0].ints) == [2, 1, 0]


def test_an_attribute_that_the_pattern_does_not_name_must_have_its_default() -> None:
    @expression_rule(exact=False)
    class Gone:
        """LeakyRelu(x) = x, for a test."""

        def pattern(op, x):
            return op.LeakyRelu(x)

        def replacement(op, x):
            return x

    for attribute, left in (
        ("", {"Exp": 1}),
        ("<alpha = 0.01>", {"Exp": 1}),
        ("<alpha = 0.5>", {"LeakyRelu": 1, "Exp": 1}),
    ):
        model, _ = rewrite_by(
            parse(f"g (float[N] x) => (float[N] y) {{ a = LeakyRelu {attribute} (x) y = Exp(a) }}"), [Gone]
        )
        assert operators(model) == left, attribute


@pytest.mark.parametrize(
    "body", ["a = Mul(x, z) b = Mul(y, z)", "a = Mul(z, x) b = Mul(y, z)", "a = Mul(x, z) b = Mul(z, y)"]
)
def test_commutative_operators_match_in_both_orders(body: str) -> None:
    model, rewriter = rewrite_by(
        parse(f"g (float[N] x, float[N] y, float[N] z) => (float[N] w) {{ {body} w = Add(a, b) }}"), [Distribute]
    )
    assert len(rewriter.ledger) == 1
    (multiply,) = [node for node in model.graph.node if node.output[0] == "w"]
    assert multiply.op_type == "Mul"


def test_a_variable_that_stands_twice_must_be_the_same_value() -> None:
    _, rewriter = rewrite_by(
        parse(
            "g (float[N] x, float[N] y, float[N] z, float[N] u) => (float[N] w) { a = Mul(x, z) b = Mul(y, u) w = Add(a, b) }"
        ),
        [Distribute],
    )
    assert len(rewriter.ledger) == 0


def test_a_rule_without_an_equation_is_refused() -> None:
    with pytest.raises(UsageError, match="no docstring"):

        @expression_rule(exact=True)
        class Silent:
            def pattern(op, x):
                return op.Neg(x)

            def replacement(op, x):
                return x


def pattern_with_a_number(op, x):
    return op.Neg(op.Mul(x, 2.0))


def negated(op, x):
    return op.Neg(x)


def of_something_else(op, z):
    return z


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"pattern": negated}, "no replacement"),
        ({"replacement": negated}, "no pattern"),
        ({"pattern": pattern_with_a_number, "replacement": negated}, "has the input 2.0 of Mul"),
        ({"pattern": negated, "replacement": of_something_else}, "not the parameters of its pattern"),
        ({"pattern": negated, "replacement": negated, "condition": of_something_else}, "not the parameters"),
    ],
)
def test_a_class_that_is_no_rule_is_refused_when_it_is_defined(functions, message):
    definition = type("Wrong", (), {"__doc__": "Neg(x) = x.", **functions})
    with pytest.raises(UsageError, match=message):
        expression_rule(exact=True)(definition)
