"""Rules about If, Loop and Scan."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Inline, Outcome, Reason, rule


@rule("If", exact=True, benefit=50, level=1)
def known_condition(node: ir.Node, facts: Facts) -> Outcome:
    """If(c, t, e) = t where c is proven true, e where it is proven false.

    The branch that is never taken goes: it may not even be valid at the shapes that are known.
    """
    condition = facts.of(node.inputs[0]).ints
    if condition is None or len(condition) != 1:
        return Reason("its condition is not known")
    branch = node.attributes.get("then_branch" if condition[0] else "else_branch")
    if branch is None or branch.is_ref():
        return Reason("its branch is not given")
    return Inline(branch.as_graph())
