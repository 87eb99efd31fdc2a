from __future__ import annotations

import onnx

from foldproof.rewriting import Forward, Replace, rule
from tests.helpers import parse, rewrite, rewrite_by

LAYER = "pkg.torch.onnx.name_scopes"


def told(text: str, **hints: dict[str, str]) -> onnx.ModelProto:
    """A model each of whose nodes is named by its first output, with metadata for some of them."""
    model = parse(text)
    for node in model.graph.node:
        node.name = f"node_{node.output[0]}"
        for key, value in hints.get(node.output[0], {}).items():
            node.metadata_props.add(key=key, value=value)
    return model


def hints_of(model: onnx.ModelProto, op_type: str) -> dict[str, str]:
    node = next(node for node in model.graph.node if node.op_type == op_type)
    return {prop.key: prop.value for prop in node.metadata_props}


CHAIN = """g (float[N,3] x, float[3,4] w, float[4] b) => (float[N,M] y) {
    p = MatMul(x, w) y = Add(p, b) }"""


def test_a_new_node_has_the_hints_of_all_that_it_replaces_and_those_of_the_root_win() -> None:
    model = told(CHAIN, y={LAYER: "root", "a": "1"}, p={LAYER: "inner", "b": "2"})
    model, _ = rewrite(model, "matmul_add", "dead_node")
    assert hints_of(model, "Gemm") == {LAYER: "root", "a": "1", "b": "2"}


def test_an_empty_hint_of_the_root_does_not_hide_one() -> None:
    model, _ = rewrite(told(CHAIN, y={LAYER: ""}, p={LAYER: "inner"}), "matmul_add", "dead_node")
    assert hints_of(model, "Gemm") == {LAYER: "inner"}


def test_a_node_of_the_pattern_that_stays_hands_nothing_down() -> None:
    text = "g (float[N] x) => (float[N] y, float[N] z) { n = Neg(x) y = Abs(n) z = Exp(n) }"
    model, _ = rewrite(told(text, n={"a": "1"}, y={"b": "2"}), "abs_of_neg", "dead_node")
    assert hints_of(model, "Abs") == {"b": "2"}
    assert hints_of(model, "Neg") == {"a": "1"}


def test_several_new_nodes_all_have_them() -> None:
    text = """g (float[N,3] x, float[3,M] y) => (float[N,M] z) <float a = {0.5}, float b = {3}> {
        p = Mul(x, a) q = Mul(y, b) z = MatMul(p, q) }"""
    model, _ = rewrite(told(text, p={"p": "1"}, q={"q": "2"}, z={"z": "3"}), "scales_of_matmul", "dead_node")
    assert hints_of(model, "MatMul") == hints_of(model, "Mul") == {"p": "1", "q": "2", "z": "3"}


def test_a_node_that_others_read_keeps_its_own_hints() -> None:
    """What is read in the place of a node was there before, and comes from elsewhere."""
    text = "g (float[N] x) => (float[N] y) { a = Exp(x) i = Identity(a) y = Neg(i) }"
    model, _ = rewrite(told(text, i={"a": "1"}), "identity")
    assert hints_of(model, "Exp") == {}


def test_the_name_of_an_output_comes_from_the_node_that_made_it() -> None:
    @rule("Neg", exact=True)
    def forgotten(node, facts):  # type: ignore[no-untyped-def]
        """-x = x."""
        return Forward(node.inputs[0])

    model, _ = rewrite_by(told("g (float[N] x) => (float[N] y) { y = Neg(x) }", y={"a": "1"}), [forgotten])
    assert hints_of(model, "Identity") == {"a": "1"}


def test_a_rule_may_give_hints_of_its_own() -> None:
    @rule("Neg", exact=True)
    def told_otherwise(node, facts):  # type: ignore[no-untyped-def]
        """-x = 0 - x."""

        def build(op):  # type: ignore[no-untyped-def]
            value = op.Abs(node.inputs[0])
            value.producer().metadata_props["a"] = "own"
            return value

        return Replace(build)

    text = "g (float[N] x) => (float[N] y) { y = Neg(x) }"
    model, _ = rewrite_by(told(text, y={"a": "1", "b": "2"}), [told_otherwise])
    assert hints_of(model, "Abs") == {"a": "own", "b": "2"}


def test_the_doc_string_of_the_root_stays_with_what_replaces_it() -> None:
    model = told(CHAIN)
    for node in model.graph.node:
        node.doc_string = f"made for {node.output[0]}"
    model, _ = rewrite(model, "matmul_add", "dead_node")
    assert [node.doc_string for node in model.graph.node] == ["made for y"]


def test_new_nodes_and_values_are_named_by_the_output_that_they_replace() -> None:
    text = """g (float[N,3] x, float[3,M] y) => (float[N,M] o) <float a = {0.5}, float b = {3}> {
        p = Mul(x, a) q = Mul(y, b) z = MatMul(p, q) o = Neg(z) }"""
    model, _ = rewrite(told(text), "scales_of_matmul", "dead_node", "unused_initializer")
    new = [node for node in model.graph.node if node.op_type != "Neg"]
    assert all(node.name.startswith("z") and node.output[0].startswith("z") for node in new)
    assert all(tensor.name.startswith("z") for tensor in model.graph.initializer)
    assert [node.output[0] for node in model.graph.node if node.op_type == "Neg"] == ["o"]
