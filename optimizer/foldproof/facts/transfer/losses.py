"""Loss functions."""

from __future__ import annotations

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import merge


@infers("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(node: NodeView) -> list[Fact]:
    """NegativeLogLikelihoodLoss-12..22, SoftmaxCrossEntropyLoss-12..13: a scalar; unreduced, one for each label."""
    scores, labels = node.input(0), node.input(1)
    shape: tuple[DimLike, ...] | None = ()
    if node.attribute("reduction", "mean") == "none":
        by_scores = None if scores.shape is None else (*scores.shape[:1], *scores.shape[2:])
        shape = merge([labels.shape, by_scores])
    return [tensor_fact(scores.dtype, shape), tensor_fact(scores.dtype, scores.shape)][: node.output_count]
