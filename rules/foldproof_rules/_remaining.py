"""How many nodes are left of a body or function where more is known than in general."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.graphs import bodies_of, reads_of
from foldproof_rules.known_values import known_tensor


def remaining(outputs: Iterable[ir.Value], facts: Facts) -> int | None:
    """Counts the nodes that are needed for some outputs of a graph, those apart that fold.

    Args:
        outputs: The outputs.
        facts: What is known of all in the graph.

    Returns:
        The count, Constant nodes apart. None if a node with bodies is among them: an If counts as the branch that is
        taken, where that is known, and as None where it is not.
    """
    count = 0
    waiting, seen = list(outputs), set[ir.Node]()
    graphs = {value.graph for value in waiting}
    while waiting:
        value = waiting.pop()
        node = value.producer()
        if node is None or node in seen or value.graph not in graphs or _is_known(value, facts):
            continue
        seen.add(node)
        if any(bodies_of(node)):
            branch = _taken(node, facts)
            if branch is None:
                return None
            graphs.add(branch)
            waiting.append(branch.outputs[node.outputs.index(value)])
            seen.discard(node)
            continue
        count += node.op_type not in ("Constant", "Identity")
        waiting.extend(reads_of(node))
    return count


def _is_known(value: ir.Value, facts: Facts) -> bool:
    fact = facts.of(value)
    return fact.constant is not None or known_tensor(fact) is not None


def _taken(node: ir.Node, facts: Facts) -> ir.Graph | None:
    condition = facts.of(node.inputs[0]).ints if node.op_type == "If" and not node.domain else None
    if condition is None or len(condition) != 1:
        return None
    branch = node.attributes.get("then_branch" if condition[0] else "else_branch")
    graph = None if branch is None or branch.is_ref() else branch.as_graph()
    return graph if graph is not None and len(graph.outputs) == len(node.outputs) else None
