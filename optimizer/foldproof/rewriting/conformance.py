"""Whether a node is what its operator's specification admits. One that is not is never touched, and never repaired."""

from __future__ import annotations

import functools
import itertools

import onnx
import onnx_ir as ir

from foldproof.facts import Facts, NodeView, schema_form
from foldproof.facts.fact import Kind
from foldproof.facts.schema_inference import contradicts, schema_of
from foldproof.graphs import admitted_types, inner_nodes, node_label, tensor_type
from foldproof.rewriting.rule import Reason


def complaint(node: ir.Node, facts: Facts) -> Reason | None:
    """What is wrong with a node by its operator's schema; None where nothing is, or where no schema is known.

    Checks the number of inputs and outputs, that required inputs and attributes are there and no others, the types that
    this version of the operator admits, of which all inputs of one type parameter have the same, and that the declared
    type of each output is the one that the operator yields.
    """
    schema = schema_of(node.domain, node.op_type, facts.opset_version(node))
    if schema is None:
        return None
    return _malformed_by_schema(node, facts) or _types(node, schema, facts) or _declarations(node, facts)


def malformation(node: ir.Node, facts: Facts) -> Reason | None:
    """The part of `complaint` without which a rule can't even look at a node: its inputs, outputs and attributes.

    And what it calls at all, where the model has a function under the name of an operator.
    """
    if facts.is_ambiguous(node):
        return Reason("a function of the model has the name of its operator: each runtime decides which one it runs")
    return _malformed_by_schema(node, facts)


def excuse(node: ir.Node, facts: Facts) -> Reason | None:
    """Why a rule may fail at a node; None where it may not.

    No rule promises anything where it, or a node near enough to be looked at, is not what its operator admits, or can
    never run for what it reads.
    """
    seen: dict[ir.Node, None] = {node: None}
    ring = [node]
    for _ in range(_REACH):
        values = [value for each in ring for value in (*each.inputs, *each.outputs) if value is not None]
        makers = (value.producer() for value in values)
        readers = (use.node for value in values for use in value.uses())
        owners = (facts.owner(each.graph) for each in ring if each.graph is not None)
        inner = (found for each in ring for found in itertools.islice(inner_nodes(each), _MANY))
        near = dict.fromkeys((*makers, *readers, *owners, *inner))
        ring = [each for each in near if each is not None and each not in seen][:_MANY]
        seen.update(dict.fromkeys(ring))
    for each in itertools.islice(seen, _MANY):
        problem = complaint(each, facts)
        if problem is None and contradicts(NodeView(each, facts)):
            problem = Reason("what it reads contradicts its operator")
        if problem is not None:
            return problem if each is node else Reason("of the node {}, {}", node_label(each), problem)
    return None


_REACH = 3
"""How many edges away a rule may look. Into a body and out of it is one too."""

_MANY = 200
"""So many nodes are examined at most."""


def _malformed_by_schema(node: ir.Node, facts: Facts) -> Reason | None:
    problem = schema_form.malformation(node, facts.opset_version(node))
    return None if problem is None else Reason("{}", problem)


_KINDS = {Kind.SEQUENCE: "seq", Kind.OPTIONAL: "optional"}
"""The names of the kinds as schemas write them."""


def _types(node: ir.Node, schema: onnx.defs.OpSchema, facts: Facts) -> Reason | None:
    formals = _formals(schema.domain, schema.name, schema.since_version)
    bound: dict[str, str] = {}
    for index, value in enumerate(node.inputs):
        if value is None:
            continue
        formal, admitted, parameter = formals[min(index, len(formals) - 1)]
        fact = facts.of(value)
        if fact.kind is not Kind.TENSOR:
            name = _KINDS[fact.kind]
        elif fact.dtype is not None:
            name = tensor_type(fact.dtype)
        else:
            continue
        if name not in admitted:
            return Reason("version {} of its operator does not admit {} as {}", schema.since_version, name, formal)
        other = bound.setdefault(parameter, name) if parameter and fact.kind is Kind.TENSOR else name
        if other != name:
            return Reason("its operator wants one type for each {}, and has {} and {}", parameter, other, name)
    return None


@functools.lru_cache(maxsize=1024)
def _formals(domain: str, op_type: str, version: int) -> tuple[tuple[str, frozenset[str], str], ...]:
    """The formal inputs of an operator: their names, and the types and kinds that they admit.

    With the name of the type parameter that all inputs of it share; empty where each may be of another type.
    """
    schema = onnx.defs.get_schema(op_type, version, domain)
    found = []
    for formal in schema.inputs:
        types = admitted_types(schema, formal)
        kinds = {each.partition("(")[0] for each in types}
        found.append((formal.name, types | kinds, formal.type_str if formal.is_homogeneous else ""))
    return tuple(found)


def _declarations(node: ir.Node, facts: Facts) -> Reason | None:
    for output in node.outputs:
        fact = facts.of(output)
        if output.dtype is not None and fact.dtype is not None and output.dtype is not fact.dtype:
            return Reason("its output is declared {}, and its operator gives {}", output.dtype.name, fact.dtype.name)
        if output.shape is not None and fact.rank is not None and len(output.shape) != fact.rank:
            return Reason(
                "its output is declared with {} dims, and its operator gives {}", len(output.shape), fact.rank
            )
    return None
