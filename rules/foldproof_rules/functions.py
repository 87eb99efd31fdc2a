"""Rules about calls of the model's own functions."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.schema_inference import schema_of
from foldproof.rewriting import ANY, Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof.rewriting.inlining import holds_graphs
from foldproof_rules._remaining import remaining


@rule(ANY, exact=True, benefit=60, lowers=Cost.CALLS, on_request=True)
def inline_functions(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, ...) = the body of f, of x, ..., for each call of a function of the model. Only where it is asked for.

    What a function calls itself is inlined first. A function stays whose operators mean something else at the versions
    that the caller imports.

    Example:
        <ir_version: 10, opset_import: ["": 21, "local": 1]>
        g (float[N, 3] x) => (float[N, 3] y) { y = local.f (x) }
        <domain: "local", opset_import: ["": 21]>
        f (a) => (b) { c = Exp (a) b = Neg (c) }
    """
    function = facts.function(node)
    return None if function is None else _inlined(node, function, facts)


@rule(ANY, exact=True, benefit=7, lowers=Cost.CALLS)
def function_that_folds(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, ...) = the body of f, of x, ..., where so much of it folds in this call that one node is left, or none.

    The function itself stays: it is part of the model's contract.

    Example:
        <ir_version: 10, opset_import: ["": 21, "local": 1]>
        g (float[N, 3] x) => (float[N, 3] y) { y = local.f <alpha = 2.0> (x) }
        <domain: "local", opset_import: ["": 21]>
        f <alpha> (a) => (b) { c = Constant <value_float: float = @alpha> () d = Neg (c) b = Mul (a, d) }
    """
    function = facts.function(node)
    called = None if function is None else facts.called(node)
    if function is None or called is None:
        return None
    left = remaining(function.outputs, called)
    if left is None or left > 1 or left == sum(each.op_type != "Constant" for each in function):
        return Reason("it does not fold to one node")
    return _inlined(node, function, facts)


def _inlined(node: ir.Node, function: ir.Function, facts: Facts) -> Outcome:
    """The body of a function in the place of a call."""
    if any(facts.function(each) is not None for each in function.all_nodes()):
        return Reason("it calls other functions, which have to be inlined first")
    if len(node.inputs) > len(function.inputs) or len(node.outputs) > len(function.outputs):
        return Reason("it does not fit its function")
    attributes = facts.arguments(node, function)
    if holds_graphs(attributes):
        return Reason("an attribute of the call is a graph")
    misfit = _misfit(node, function, facts)
    if misfit is not None:
        return misfit

    def build(op: Builder) -> list[ir.Value | None]:
        return op.inline_copy(function.graph, *node.inputs, attributes=attributes)[: len(node.outputs)]

    return Replace(build)


def _misfit(node: ir.Node, function: ir.Function, facts: Facts) -> Reason | None:
    """Why the operators of a function do not mean the same where it is called."""
    for each in function.all_nodes():
        inside, outside = function.opset_imports.get(each.domain, 0), facts.version_at(node, each.domain)
        if inside == outside:
            continue
        schemas = [schema_of(each.domain, each.op_type, version) for version in (inside, outside)]
        since = {None if schema is None else schema.since_version for schema in schemas}
        if not outside or len(since) > 1 or None in since:
            name = each.domain or "ai.onnx"
            return Reason("its {} is of version {} of {}, the caller imports {}", each.op_type, inside, name, outside)
    return None
