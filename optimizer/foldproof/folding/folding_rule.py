"""The name under which folding stands in the ledger, in the list of rules and in `--skip-rules`."""

from __future__ import annotations

from foldproof.rewriting.rule import Rule

constant_folding = Rule(
    name="constant_folding",
    op_types=(),
    domain="",
    exact=True,
    apply=lambda subject, facts: None,
    equation="f(k, ...) = c, where each input is a constant and f always gives the same of the same.",
    explanation=(
        "All that is ready is computed at once, in one session of onnxruntime with its optimizations off, so that a\n"
        "float has the bits that the model itself would have given. What onnxruntime lacks is computed by the ONNX\n"
        "reference where that is known to be right. Random and unknown operators are never folded, quantized weights\n"
        "only on demand (--fold-quantized-weights), and nothing that would make the file grow beyond the budget\n"
        "(--max-growth)."
    ),
    level=1,
    family="constant_folding",
    example=(
        "g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] v = {1, 2, 3, 4}, float[2, 2] w = {1, 0, 0, 1}> {\n"
        "    k = Add (v, w)  y = MatMul (x, k) }"
    ),
)
"""It is tried at no node by itself: the rewriter lets a `Folder` compute what has become constant, in batches."""
