from __future__ import annotations

import onnx
import pytest

from tests.helpers import initializers, operators, parse, rewrite


def size_of(shape: str, dtype: str = "float", **kwargs: int) -> onnx.ModelProto:
    dims = f"[{shape}]" if shape else ""
    return parse(f"g ({dtype}{dims} x) => (int64 s) {{ s = Size(x) }}", **kwargs)


@pytest.mark.parametrize(
    ("shape", "count"),
    [("2,3", 6), ("3,4,5", 60), ("", 1), ("0", 0), ("0,7", 0), ("N,0", 0), ("0,N,M", 0), ("1048576,1048576", 2**40)],
)
def test_static_size_becomes_the_product_of_the_dims(shape: str, count: int) -> None:
    model, _ = rewrite(size_of(shape), "static_size")
    assert operators(model) == {}
    assert initializers(model) == {"s": count}
    assert model.graph.initializer[0].data_type == onnx.TensorProto.INT64
    assert list(model.graph.initializer[0].dims) == []


@pytest.mark.parametrize("shape", ["N", "N,3", "2,N,1", "N,M"])
def test_static_size_stays_where_a_symbol_is_left(shape: str) -> None:
    model, rewriter = rewrite(size_of(shape), "static_size")
    assert operators(model) == {"Size": 1}
    assert "element count" in str(next(iter(rewriter.reasons.values()))["static_size"])


def test_static_size_stays_where_int64_overflows() -> None:
    model, rewriter = rewrite(size_of(",".join(["65536"] * 4)), "static_size")
    assert operators(model) == {"Size": 1}
    assert "int64" in str(next(iter(rewriter.reasons.values()))["static_size"])


def test_static_size_folds_up_to_the_largest_int64() -> None:
    # 2**63 - 1 = 7 * 7 * 73 * 127 * 337 * 92737 * 649657
    model, _ = rewrite(size_of("7,7,73,127,337,92737,649657"), "static_size")
    assert initializers(model) == {"s": 2**63 - 1}


def test_two_sizes_of_one_value_share_one_initializer() -> None:
    model, _ = rewrite(
        parse("g (float[2,3] x, int64 y) => (int64 t) { a = Size(x) b = Size(x) c = Add(a, b) t = Add(c, y) }"),
        "static_size",
    )
    assert initializers(model) == {"a": 6}
    assert list(model.graph.node[0].input) == ["a", "a"]


def test_a_literal_that_is_there_already_is_not_stored_twice() -> None:
    model, _ = rewrite(
        parse("g (float[2,3] x, int64 y) => (int64 t) <int64 six = {6}> { a = Size(x) b = Add(six, y) t = Add(a, b) }"),
        "static_size",
    )
    assert initializers(model) == {"six": 6}


def test_the_overridable_default_is_not_shared() -> None:
    model, _ = rewrite(
        parse("g (float[2,3] x, int64 six) => (int64 t) <int64 six = {6}> { a = Size(x) t = Add(a, six) }"),
        "static_size",
        overridable=["six"],
    )
    assert initializers(model) == {"six": 6, "a": 6}


def test_in_a_body_the_constant_goes_to_the_main_graph() -> None:
    model, _ = rewrite(
        parse(
            """g (float[2,3] x, bool c) => (int64 s) {
                s = If (c) <then_branch = t () => (int64 a) { n = Size(x) a = Neg(n) },
                            else_branch = e () => (int64 b) { m = Size(x) b = Abs(m) }>
            }"""
        ),
        "static_size",
    )
    assert operators(model) == {"If": 1, "Neg": 1, "Abs": 1}
    assert list(initializers(model).values()) == [6]


def test_an_output_of_a_body_stays_in_the_body() -> None:
    # onnxruntime refuses a branch that hands out a value of the graph around it.
    model, _ = rewrite(
        parse(
            """g (float[2,3] x, float[4] y, bool c) => (int64 s) {
                s = If (c) <then_branch = t () => (int64 r) { r = Size(x) }, else_branch = e () => (int64 r) { r = Size(y) }>
            }"""
        ),
        "static_size",
    )
    bodies = {a.name: a.g for a in model.graph.node[0].attribute}
    values = {name: onnx.numpy_helper.to_array(body.initializer[0]).item() for name, body in bodies.items()}
    assert values == {"then_branch": 6, "else_branch": 4}
    assert not model.graph.initializer


def test_in_a_function_it_becomes_a_constant_node() -> None:
    model, _ = rewrite(
        parse(
            "g (int64 y) => (int64 s) { s = f.count(y) }",
            imports='"f": 1',
            functions='<domain: "f", opset_import: ["": 18]> count (y) => (s) { '
            "x = Constant <value = float[2,2] {1, 2, 3, 4}> () n = Size(x) s = Add(n, y) }",
        ),
        "static_size",
        "dead_node",
    )
    assert [node.op_type for node in model.functions[0].node] == ["Constant", "Add"]
    constant = model.functions[0].node[0]
    assert onnx.numpy_helper.to_array(constant.attribute[0].t).tolist() == 4


def test_a_size_of_another_domain_is_not_ours() -> None:
    proto = parse("g (float[2,3] x) => (int64 s) { s = acme.Size(x) }", imports='"acme": 1')
    model, _ = rewrite(proto)
    assert [(node.domain, node.op_type) for node in model.graph.node] == [("acme", "Size")]


@pytest.mark.parametrize(
    "body",
    [
        "g (float[N,3] x) => (int64 s) { a = Relu(x) b = Exp(a) s = Size(b) }",
        "g (float[N,6] x, int64[3] p) => (int64 s) { a = Reshape(x, p) s = Size(a) }",
        "g (float[N,3] x) => (int64 s) <float[3] k = {1, 2, 3}> { a = Add(k, x) s = Size(a) }",
        "g (float[N,M] x) => (int64 s) { a = Transpose(x) b = Cast <to = 10> (a) s = Size(b) }",
    ],
)
def test_size_is_taken_of_the_earliest_value_with_as_many_elements(body: str) -> None:
    model, _ = rewrite(parse(body))
    assert operators(model) == {"Size": 1}
    assert list(model.graph.node[0].input) == ["x"]


@pytest.mark.parametrize(
    "body",
    [
        "g (float[N,1] x, float[N,3] y) => (int64 s) { a = Add(x, x) b = Mul(a, y) c = Expand(x, k) s = Size(c) }",
        "g (float[N,3] x) => (int64 s) { z = Constant <value_ints = [0]> () o = Constant <value_ints = [1]> () "
        "a = Slice(x, z, o, z) s = Size(a) }",
        "g (float[N,3] x) => (int64 s) { a = Concat <axis = 0> (x, x) s = Size(a) }",
        "g (float[N,3] x) => (int64 s) { a = NonZero(x) s = Size(a) }",
    ],
)
def test_size_is_not_moved_to_a_value_with_another_count(body: str) -> None:
    proto = parse(body.replace("(float[N,1] x, float[N,3] y)", "(float[N,1] x, float[N,3] y, int64[K] k)"))
    model, rewriter = rewrite(proto, "size_of_source", "static_size")
    assert "Size" in operators(model)
    assert len(rewriter.ledger) == 0


def test_size_is_not_moved_onto_a_type_that_the_runtime_lacks() -> None:
    model, rewriter = rewrite(
        parse("g (bfloat16[N] x) => (int64 s) { a = Cast <to = 1> (x) s = Size(a) }"), "size_of_source"
    )
    assert len(rewriter.ledger) == 0
    assert operators(model) == {"Cast": 1, "Size": 1}


@pytest.mark.parametrize(
    ("body", "opset"),
    [
        ("g (float8e4m3fn[2] x) => (int64 s) { s = Size(x) }", 13),
        ("g (float[2] x, float[3] y) => (int64 s) { s = Size(x, y) }", 18),
        ("g (float[2] x) => (int64 s) { s = Size <axis = 1> (x) }", 18),
        ("g (float[2] x) => (int32 s) { s = Size(x) }", 18),
        ("g (float[2] x) => (int64[1] s) { s = Size(x) }", 18),
    ],
)
def test_an_invalid_node_is_never_touched(body: str, opset: int) -> None:
    import onnx_ir as ir

    from foldproof.facts import Facts
    from foldproof.rewriting import Rewriter
    from foldproof.rewriting.packs import installed

    model = ir.from_proto(parse(body, opset=opset))
    rewriter = Rewriter(model, Facts(model), installed())
    rewriter.run()
    assert [node.op_type for node in model.graph] == ["Size"]
    assert rewriter.reasons
