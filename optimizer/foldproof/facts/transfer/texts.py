"""Operators on strings."""

from __future__ import annotations

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import broadcast


@infers("StringConcat")
def string_concat(node: NodeView) -> Fact:
    """StringConcat-20: the inputs' shapes, broadcast."""
    return tensor_fact(None, broadcast(node, [node.input(0).shape, node.input(1).shape]))


@infers("StringSplit")
def string_split(node: NodeView) -> list[Fact]:
    """StringSplit-20: the input's shape and the greatest number of parts; the input's shape."""
    shape = node.input(0).shape
    parts = None if shape is None else (*shape, node.fresh(len(shape)))
    return [tensor_fact(None, parts), tensor_fact(None, shape)][: node.output_count]


@infers("RegexFullMatch")
def regex_full_match(node: NodeView) -> Fact:
    """RegexFullMatch-20: the input's shape."""
    return tensor_fact(None, node.input(0).shape)


@infers("StringNormalizer")
def string_normalizer(node: NodeView) -> Fact:
    """StringNormalizer-10: the input without its stopwords; how many are left is not known."""
    data = node.input(0)
    if not node.attribute("stopwords"):
        return tensor_fact(None, data.shape)
    shape = None if data.shape is None else (*data.shape[:-1], node.fresh(len(data.shape) - 1))
    return tensor_fact(None, shape)


@infers("TfIdfVectorizer")
def tf_idf_vectorizer(node: NodeView) -> Fact | None:
    """TfIdfVectorizer-9: the highest of `ngram_indexes` and 1 in place of the last dim."""
    data, indexes = node.input(0), node.attribute("ngram_indexes")
    if data.shape is None or not data.shape or not indexes:
        return None
    return tensor_fact(None, (*data.shape[:-1], max(indexes) + 1))
