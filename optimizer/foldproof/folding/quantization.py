"""Quantized weights: hardware reads a meaning into the pairs that wrap them, so they stay unless a person asks."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.folding.candidates import Candidates

OPERATORS = frozenset({"QuantizeLinear", "DequantizeLinear"})
"""What makes a weight a quantized one, in every form: QDQ, fake quantization, blocks of 4 bits."""


class Quantized:
    """The candidates that quantize or dequantize, and those that are made of their results.

    Args:
        candidates: The candidates.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._nodes: set[ir.Node] = set()
        for node in candidates.nodes:
            if node.op_type in OPERATORS or any(maker in self._nodes for maker in candidates.makers(node)):
                self._nodes.add(node)

    def holds(self, node: ir.Node) -> bool:
        """Whether a candidate quantizes or dequantizes, or is made of what does."""
        return node in self._nodes
