"""Whether a node gives the same outputs for the same inputs, so that it may be folded, merged or moved."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import onnx
import onnx_ir as ir

from foldproof.facts.schema_inference import schema_of
from foldproof.graphs import bodies_of

if TYPE_CHECKING:
    from foldproof.facts.engine import Facts

_Determinism = onnx.defs.OpSchema.NodeDeterminism

_UNMARKED = frozenset({"CausalConvWithState", "DepthToSpace", "LinearAttention", "SpaceToDepth"})
"""Operators that their schemas don't mark, and whose specification leaves no doubt."""

_BODIES_DECIDE = frozenset({"If", "Loop", "Scan", "SequenceMap", "AffineGrid"})
"""Operators marked as not deterministic because of what their bodies may hold; AffineGrid is a function with an If."""


def is_deterministic(node: ir.Node, facts: Facts) -> bool:
    """Whether a node is known to give the same outputs for the same inputs.

    The operator's schema says so; for an operator with bodies, all that is in them; for a model-local function, all
    that it is made of. A Dropout that is proven not to train is deterministic. An unknown operator never is.
    """
    return _is_deterministic(node, facts, {}, 0)


MAX_DEPTH = 32
"""Of calls and bodies nested deeper than this nothing is said."""


def _is_deterministic(node: ir.Node, facts: Facts, known: dict[ir.OperatorIdentifier, bool], depth: int) -> bool:
    if depth > MAX_DEPTH:
        return False
    if facts.has_functions:
        identifier = node.op_identifier()
        function = facts.function(node)
        if facts.is_ambiguous(node):
            return False
        if function is not None:
            if identifier not in known:
                known[identifier] = False  # should it call itself
                known[identifier] = all(_is_deterministic(n, facts, known, depth + 1) for n in function)
            return known[identifier]
    judged = _judged(node.domain, node.op_type, facts.opset_version(node))
    if judged is not None:
        return judged and all(
            _is_deterministic(each, facts, known, depth + 1) for body in bodies_of(node) for each in body
        )
    schema = schema_of(node.domain, node.op_type, facts.opset_version(node))
    return schema is not None and _never_trains(node, facts, schema.since_version)


@functools.lru_cache(maxsize=1024)
def _judged(domain: str, op_type: str, version: int) -> bool | None:
    """Whether an operator is deterministic, if all that is in its bodies is; None for a Dropout, which may train."""
    schema = schema_of(domain, op_type, version)
    if schema is None:
        return False
    if op_type == "Dropout" and not domain:
        return None
    return op_type in _UNMARKED | _BODIES_DECIDE or _is_marked(domain, op_type, schema.since_version)


def _is_marked(domain: str, op_type: str, version: int) -> bool:
    """Whether the schema itself says that an operator is deterministic."""
    schema = onnx.defs.get_schema(op_type, version, domain)
    marking: object = schema.node_determinism  # type: ignore[attr-defined]  # the stubs lack it
    return marking is _Determinism.Deterministic


def _never_trains(node: ir.Node, facts: Facts, version: int) -> bool:
    """Dropout-7 to 10 never train; from 12 an input decides, and its default is not to; 1 and 6 by an attribute."""
    if version >= 12:
        given = len(node.inputs) > 2 and node.inputs[2] is not None
        return not given or facts.of(node.inputs[2]).ints == (0,)
    if version >= 7:
        return True
    attribute = node.attributes.get("is_test")
    return attribute is not None and not attribute.is_ref() and attribute.as_int() != 0
