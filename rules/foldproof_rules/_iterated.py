"""What the rules about Loop and Scan share: their parts, and how often their bodies run."""

from __future__ import annotations

from typing import NamedTuple

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.dim import lower_bound


class Iterated(NamedTuple):
    """A Loop or a Scan, taken apart.

    Attributes:
        node: The node.
        body: Its body.
        carried: How many values it carries from one iteration to the next. They are its first outputs.
        given: The position of the first of their initial values in the node's inputs.
        inside: That of the first of them in the body's inputs.
        handed: That of the first of them in the body's outputs.
    """

    node: ir.Node
    body: ir.Graph
    carried: int
    given: int
    inside: int
    handed: int

    def initial(self, index: int) -> ir.Value:
        """The value that is carried into the first iteration."""
        value = self.node.inputs[self.given + index]
        assert value is not None, "taken apart is only what has all of them"
        return value


def iterated(node: ir.Node, facts: Facts) -> Iterated | None:
    """Takes a Loop or Scan apart; None where inputs and outputs don't match, or are ordered as in Scan-8."""
    attribute = node.attributes.get("body")
    if attribute is None or attribute.is_ref():
        return None
    body = attribute.as_graph()
    if node.op_type == "Loop":
        parts = Iterated(node, body, max(len(node.inputs) - 2, 0), 2, 2, 1)
        is_sound = len(body.inputs) == 2 + parts.carried
    else:
        count = node.attributes.get("num_scan_inputs")
        scanned = 0 if count is None or count.is_ref() else count.as_int()
        parts = Iterated(node, body, len(node.inputs) - scanned, 0, 0, 0)
        is_sound = scanned >= 1 and len(body.inputs) == len(node.inputs) and facts.opset_version(node) >= 9
    is_sound = is_sound and len(body.outputs) == parts.handed + len(node.outputs) >= parts.handed + parts.carried
    is_sound = is_sound and None not in node.inputs[parts.given :] and not any(v.is_initializer() for v in body.inputs)
    return parts if is_sound and parts.carried >= 0 else None


def given(node: ir.Node, index: int) -> ir.Value | None:
    """An input of a node; None for one that is left out."""
    return node.inputs[index] if index < len(node.inputs) else None


def starts(node: ir.Node, facts: Facts) -> bool:
    """Whether the condition of a Loop is proven true, or absent, before the first iteration."""
    condition = given(node, 1)
    return condition is None or facts.of(condition).ints == (1,)


def limit_of(node: ir.Node, facts: Facts) -> int | None:
    """The greatest trip count that a Loop is given, where that is a known number."""
    ints = facts.of(given(node, 0)).ints
    return ints[0] if ints is not None and len(ints) == 1 else None


def runs(node: ir.Node, facts: Facts) -> bool:
    """Whether a body is proven to run at least once. onnxruntime refuses a Scan of a sequence of length 0."""
    if node.op_type == "Scan":
        return True
    limit = given(node, 0)
    if limit is None:
        return given(node, 1) is not None and starts(node, facts)
    dims = facts.of(limit).dims
    bound = lower_bound(dims[0]) if dims is not None and len(dims) == 1 else None
    return bound is not None and bound >= 1 and starts(node, facts)


def trips_of(parts: Iterated, facts: Facts) -> int | None:
    """The number of iterations, where it is known and at least 1.

    onnxruntime and the specification don't agree on whether the body's condition counts where the node has none.
    """
    node, limit = parts.node, limit_of(parts.node, facts)
    if not runs(node, facts):
        return None
    goes_on = facts.of(parts.body.outputs[0]).ints
    if limit == 1 or (goes_on == (0,) and given(node, 1) is not None):
        return 1
    return limit if goes_on == (1,) else None


def is_read(output: ir.Value) -> bool:
    """Whether anything reads an output."""
    return bool(output.uses()) or output.is_graph_output()
