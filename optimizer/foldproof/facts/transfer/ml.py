"""The operators of ai.onnx.ml whose schema says nothing of the shape."""

from __future__ import annotations

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers

_ML = "ai.onnx.ml"


@infers("Scaler", "Normalizer", "Imputer", domain=_ML)
def same_shape(node: NodeView) -> Fact:
    """Elementwise: the shape of the input."""
    return tensor_fact(None, node.input(0).shape)
