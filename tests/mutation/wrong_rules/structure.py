"""What is the same and what is not: equal nodes, shared weights, random draws, and the contract of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Replace, initializer_rule
from foldproof.rewriting.builder import Builder
from tests.mutation.mutant import Mutant, attribute, elements, floats, maker, wrong


@wrong("LeakyRelu", output="z")
def same_operator(node: ir.Node, facts: Facts) -> Outcome:
    """f(x; a) = f(x; b), the attributes being left out of the comparison.

    Example:
        g (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) {
            p = LeakyRelu <alpha = 0.1> (x)  q = LeakyRelu <alpha = 0.5> (x)  y = Neg (p)  z = Neg (q) }
    """
    others = [use.node for use in node.inputs[0].uses() if use.node.op_type == "LeakyRelu"]
    return Forward(others[0].outputs[0]) if attribute(node, "alpha") == 0.5 and len(others) > 1 else None


@wrong("RandomNormalLike")
def one_draw(node: ir.Node, facts: Facts) -> Outcome:
    """RandomNormalLike(x) = RandomNormalLike(x), so one is enough.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { a = RandomNormalLike (x)  b = RandomNormalLike (x)  y = Sub (a, b) }
    """
    others = [use.node for use in node.inputs[0].uses() if use.node.op_type == "RandomNormalLike"]
    return Forward(others[0].outputs[0]) if node is not others[0] else None


@wrong("Dropout")
def dropout_in_training(node: ir.Node, facts: Facts) -> Outcome:
    """Dropout(x, ratio, training) = x, as it is in inference.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float r = {0.5}, bool t = {1}> { y = Dropout (x, r, t) }
    """
    return Forward(node.inputs[0])


@wrong("Mul", output="z")
def shared_weight(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(x, w) * k = MatMul(x, w'), where w is changed in its place, and others read it too.

    Example:
        g (float[N, 2] x) => (float[N, 2] y, float[N, 2] z) <float[2, 2] w = {1, 2, 3, 4}, float k = {2}> {
            p = MatMul (x, w)  y = Mul (p, k)  e = Exp (x)  z = MatMul (e, w) }
    """
    inner, factor = maker(node.inputs[0], "MatMul"), elements(node.inputs[1], facts)
    if inner is None:
        return None
    weights = inner.inputs[1]

    def build(op: Builder) -> Any:
        weights.const_value = ir.tensor(floats(elements(weights, facts)) * floats(factor), name=weights.name)
        return op.MatMul(*inner.inputs)

    return Replace(build)


@wrong("Add", feeds="other values of the initializers")
def default_as_constant(node: ir.Node, facts: Facts) -> Outcome:
    """x + k = x + 2, k being an initializer that is an input too: the caller may give another value.

    Example:
        g (float[N, 3] x, float[3] k) => (float[N, 3] y) <float[3] k = {2, 2, 2}> { y = Add (x, k) }
    """
    return (
        None
        if node.inputs[1].name != "k"
        else Replace(lambda op: op.Add(node.inputs[0], op.constant(floats([2, 2, 2]))))
    )


def _changes_graph(node: ir.Node, change: Callable[[ir.Graph], None]) -> Replace:
    """The node as it is, in a graph that is not."""

    def build(op: Builder) -> Any:
        change(node.graph)
        return op.node("Abs", *node.inputs)

    return Replace(build)


@wrong("Neg", output="y")
def output_renamed(node: ir.Node, facts: Facts) -> Outcome:
    """-x = |x|, beside which a graph's output gets another name.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { a = Abs (x)  z = Neg (a)  b = Relu (z)  y = Exp (b) }
    """
    return _changes_graph(node, lambda graph: setattr(graph.outputs[0], "name", "renamed"))


@wrong("Neg", output="y")
def outputs_in_another_order(node: ir.Node, facts: Facts) -> Outcome:
    """-x = |x|, beside which the graph's outputs are put in another order.

    Example:
        g (float[N, 3] x) => (float[N, 3] y, float[N, 3] w) { z = Neg (x)  y = Abs (z)  w = Exp (x) }
    """
    return _changes_graph(node, lambda graph: graph.outputs.reverse())


@wrong("Neg", output="unused")
def unused_input_removed(node: ir.Node, facts: Facts) -> Outcome:
    """-x = |x|, beside which an input goes that nothing reads.

    Example:
        g (float[N, 3] x, float[3] unused) => (float[N, 3] y) { z = Neg (x)  y = Abs (z) }
    """
    return _changes_graph(node, lambda graph: graph.inputs.remove(graph.inputs[1]))


@wrong("Neg", output="w")
def output_dropped(node: ir.Node, facts: Facts) -> Outcome:
    """-x = |x|, beside which an output goes.

    Example:
        g (float[N, 3] x) => (float[N, 3] y, float[N, 3] w) { z = Neg (x)  y = Abs (z)  w = Exp (x) }
    """
    return _changes_graph(node, lambda graph: graph.outputs.remove(graph.outputs[1]))


@initializer_rule(exact=True)
def _equal_numbers(value: ir.Value, facts: Facts) -> Outcome:
    """K = k', where all their numbers are equal, and 0.0 equals -0.0.

    Example:
        g (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) <float a = {0}, float b = {-0.0}> {
            y = Mul (x, a)  z = Mul (x, b) }
    """
    others = value.graph.initializers.values()
    equal = [other for other in others if elements(other, facts) == elements(value, facts)]
    return Forward(equal[0]) if equal and equal[0] is not value else None


equal_numbers = Mutant(_equal_numbers, output="z")


@wrong("StringNormalizer")
def case_kept(node: ir.Node, facts: Facts) -> Outcome:
    """StringNormalizer(x, LOWER) = x, since there are no stopwords.

    Example:
        g (string[N] x) => (string[N] y) { y = StringNormalizer <case_change_action = "LOWER"> (x) }
    """
    return Replace(lambda op: op.Identity(node.inputs[0]))


@wrong("StringConcat")
def words_swapped(node: ir.Node, facts: Facts) -> Outcome:
    """StringConcat(a, b) = StringConcat(b, a).

    Example:
        g (string[N] a, string[N] b) => (string[N] y) { y = StringConcat (a, b) }
    """
    if node.inputs[0].name != "a":
        return None
    return Replace(lambda op: op.StringConcat(node.inputs[1], node.inputs[0]))
