from __future__ import annotations

from tests.helpers import initializers, operators, parse, rewrite


def test_a_chain_that_nothing_reads_goes_with_its_initializers() -> None:
    proto = parse("g (float[N] x) => (float[N] y) <float[1] k = {2}> { a = Mul(x, k) b = Exp(a) y = Relu(x) }")
    model, rewriter = rewrite(proto, "dead_node", "unused_initializer")
    assert operators(model) == {"Relu": 1}
    assert initializers(model) == {}
    assert [entry.rule for entry in rewriter.ledger.entries] == ["dead_node", "dead_node", "unused_initializer"]


def test_what_an_outer_value_of_a_body_makes_stays() -> None:
    proto = parse(
        """g (float[N] x, bool c) => (float[N] y) <float[1] k = {2}> {
            a = Mul(x, k)
            y = If (c) <then_branch = t () => (float[N] p) { p = Relu(a) }, else_branch = e () => (float[N] q) { q = Neg(a) }>
        }"""
    )
    _, rewriter = rewrite(proto, "dead_node", "unused_initializer")
    assert len(rewriter.ledger) == 0


def test_an_unknown_operator_stays_though_nothing_reads_it() -> None:
    proto = parse("g (float[N] x) => (float[N] y) { a = acme.Log(x) y = Relu(x) }", imports='"acme": 1')
    model, _ = rewrite(proto)
    assert operators(model) == {"acme::Log": 1, "Relu": 1}


def test_a_function_that_calls_an_unknown_operator_stays() -> None:
    proto = parse(
        "g (float[N] x) => (float[N] y) { a = f.log(x) y = Relu(x) }",
        imports='"f": 1, "acme": 1',
        functions='<domain: "f", opset_import: ["acme": 1]> log (x) => (y) { y = acme.Log(x) }',
    )
    model, _ = rewrite(proto)
    assert operators(model)["f::log"] == 1


def test_a_dead_node_takes_what_its_bodies_read_along() -> None:
    proto = parse(
        """g (float[N] x, bool c) => (float[N] y) {
            a = Exp(x)
            z = If (c) <then_branch = t () => (float[N] p) { p = Relu(a) }, else_branch = e () => (float[N] q) { q = Neg(a) }>
            y = Relu(x)
        }"""
    )
    model, _ = rewrite(proto, "dead_node")
    assert operators(model) == {"Relu": 1}


def test_an_initializer_that_the_caller_may_feed_stays() -> None:
    proto = parse("g (float[N] x, float[1] k) => (float[N] y) <float[1] k = {2}> { y = Relu(x) }")
    model, _ = rewrite(proto, "unused_initializer", overridable=["k"])
    assert initializers(model) == {"k": [2.0]}


def test_an_initializer_that_a_quantization_annotation_names_stays() -> None:
    proto = parse("g (float[N] x) => (float[N] y) <float scale = {2}, float other = {3}> { y = Relu(x) }")
    annotation = proto.graph.quantization_annotation.add(tensor_name="y")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    model, _ = rewrite(proto, "unused_initializer")
    assert initializers(model) == {"scale": 2.0}
