"""A rule may fail where a node is not what its operator admits, and nowhere else."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest

from foldproof.errors import RuleError
from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Rewriter, rule
from tests.helpers import parse


@rule("Neg", exact=True, lowers=Cost.NODES)
def faulty(node: ir.Node, facts: Facts) -> Outcome:
    """Neg(x) = nothing at all.

    Example:
        g (float[N] x) => (float[N] y) { y = Neg (x) }
    """
    raise IndexError("it looks where there is nothing")


def rewriter(model: onnx.ModelProto) -> Rewriter:
    made = ir.from_proto(model)
    return Rewriter(made, Facts(made), [faulty])


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Neg (x)",
        "a = Abs (x) b = Identity (a) y = Neg (b) z = Relu (y)",
        "a = my.Unknown (x) y = Neg (a)",  # of an operator that nobody knows nothing is wrong
        "a = Abs (x) y = Neg (a) b = Abs (y) c = Abs (b) d = Abs (c) e = Add (d)",  # too far away
    ],
)
def test_a_fault_where_all_is_well_is_told(nodes):
    model = parse(f"g (float[N] x) => (float[N] y) {{ {nodes} }}", imports='"my": 1')
    with pytest.raises(RuleError, match=r"'faulty' failed with IndexError"):
        rewriter(model).run()


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("a = Add (x) y = Neg (a)", "takes 2"),
        ("y = Neg (x) z = Add (y)", "of the node z"),
        ("a = Add (x) b = Abs (a) y = Neg (b)", "of the node"),
        ("a = MatMul (x, w) y = Neg (a)", "contradicts"),
        ("y = Neg (s)", "does not admit"),
        ("a = Concat <axis = 0> (x, s) y = Neg (a)", "one type for each T"),
        ("a = Where (c, x, n) y = Neg (a)", "one type for each T"),
    ],
)
def test_beside_what_no_operator_admits_it_is_a_reason(nodes, words):
    model = parse(f"g (float[2, 3] x, float[4, 5] w, string[2] s, bool c, int64 n) => (float[N, M] y) {{ {nodes} }}")
    run = rewriter(model)
    run.run()
    (reason,) = (found["faulty"] for found in run.reasons.values() if "faulty" in found)
    assert isinstance(reason, Reason)
    assert words in str(reason)
    assert len(run.ledger) == 0
