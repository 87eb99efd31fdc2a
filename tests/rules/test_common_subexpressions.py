from __future__ import annotations

import numpy as np
import onnx
import pytest

import foldproof
from tests.helpers import initializers, operators, parse, rewrite

RULES = ("same_computation", "same_initializer", "dead_node", "unused_initializer")


@pytest.mark.parametrize(
    "body",
    [
        "a = Sigmoid(x) b = Sigmoid(x) y = Add(a, b)",
        "p = Neg(x) q = Neg(x) a = Exp(p) b = Exp(q) y = Add(a, b)",
        "a = Elu <alpha = 0.5> (x) b = Elu <alpha = 0.5> (x) y = Add(a, b)",
        "a = Mul(x, k1) b = Mul(x, k2) y = Add(a, b)",
        "a = Dropout(x) b = Dropout(x) y = Add(a, b)",
    ],
)
def test_equal_computations_are_done_once(body: str) -> None:
    proto = parse(f"g (float[N] x) => (float[N] y) <float[1] k1 = {{2}}, float[1] k2 = {{2}}> {{ {body} }}")
    model, _ = rewrite(proto, *RULES)
    assert sum(operators(model).values()) == sum(operators(proto).values()) // 2 + 1


@pytest.mark.parametrize(
    "body",
    [
        "a = Elu <alpha = 0.5> (x) b = Elu <alpha = 0.25> (x) y = Add(a, b)",
        "a = RandomNormalLike(x) b = RandomNormalLike(x) y = Sub(a, b)",
        "a = Bernoulli(x) b = Bernoulli(x) y = Sub(a, b)",
        "a = Dropout(x, r, t) b = Dropout(x, r, t) y = Sub(a, b)",
        "a = Mul(x, plus) b = Mul(x, minus) y = Sub(a, b)",
        "a = Sub(x, z) b = Sub(z, x) y = Sub(a, b)",
    ],
)
def test_what_may_differ_is_not_merged(body: str) -> None:
    proto = parse(
        "g (float[N] x, float[N] z) => (float[N] y) <bool t = {1}, float r = {0.5}, float plus = {0.0}, float minus = {-0.0}> "
        f"{{ {body} }}"
    )
    model, _ = rewrite(proto, *RULES)
    assert operators(model) == operators(proto)


def test_an_unknown_operator_is_not_merged() -> None:
    proto = parse("g (float[N] x) => (float[N] y) { a = acme.F(x) b = acme.F(x) y = Add(a, b) }", imports='"acme": 1')
    model, _ = rewrite(proto, *RULES)
    assert operators(model)["acme::F"] == 2


def test_a_body_reads_what_the_graph_around_it_has_computed() -> None:
    proto = parse(
        """g (float[N] x, bool c) => (float[N] y, float[N] z) {
            a = Exp(x) z = Neg(a)
            y = If (c) <then_branch = t () => (float[N] p) { b = Exp(x) p = Abs(b) },
                        else_branch = e () => (float[N] q) { d = Exp(x) q = Log(d) }>
        }"""
    )
    model, _ = rewrite(proto, *RULES)
    assert operators(model)["Exp"] == 1


def test_two_branches_do_not_read_each_other() -> None:
    proto = parse(
        """g (float[N] x, bool c) => (float[N] y) {
            y = If (c) <then_branch = t () => (float[N] p) { b = Exp(x) p = Abs(b) },
                        else_branch = e () => (float[N] q) { d = Exp(x) q = Log(d) }>
        }"""
    )
    model, _ = rewrite(proto, *RULES)
    assert operators(model)["Exp"] == 2


def with_weights(*arrays: np.ndarray) -> onnx.ModelProto:
    names = [f"w{k}" for k in range(len(arrays))]
    adds = " ".join(f"t{k} = Mul(x, {name})" for k, name in enumerate(names))
    dims = [",".join(f"K{k}_{axis}" for axis in range(array.ndim)) for k, array in enumerate(arrays)]
    outputs = ", ".join(f"float[{each}] t{k}" for k, each in enumerate(dims))
    model = parse(f"g (float[N] x) => ({outputs}) {{ {adds} }}")
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for a, n in zip(arrays, names, strict=True))
    return model


def test_equal_initializers_are_stored_once() -> None:
    weight = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    model, _ = rewrite(with_weights(weight, weight.copy(), weight + 1), "same_initializer")
    assert [tensor.name for tensor in model.graph.initializer] == ["w0", "w2"]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([0.0], np.float32), np.array([-0.0], np.float32)),
        (np.array([1.0], np.float32), np.array([[1.0]], np.float32)),
        (np.array([np.nan], np.float32), np.array([0x7FC00001], np.uint32).view(np.float32)),
    ],
)
def test_initializers_that_differ_in_a_bit_or_a_dim_are_both_kept(a: np.ndarray, b: np.ndarray) -> None:
    model, _ = rewrite(with_weights(a, b), "same_initializer")
    assert len(initializers(model)) == 2


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        (
            """c = Constant <value = bool {1}> ()
               b = Loop (n, c, a) <body = body (int64 i, bool g, float[?] s) => (bool go, float[?] t)
                   { go = Identity (g) t = Neg (s) }>""",
            "b",
        ),
        ("c = Constant <value = bool {1}> () d = Constant <value = bool {1}> () b = Neg (a)", "b, c, d"),
    ],
)
def test_a_constant_that_a_graph_gives_stays_where_a_function_holds_another(nodes: str, outputs: str) -> None:
    function = f'<domain: "f", opset_import: ["": 18]> f (a, n) => ({outputs}) {{ {nodes} }}'
    results = outputs.replace("b", "y")
    model = parse(
        f"g (float[2] x, int64 k) => (float[2] y) {{ {results} = f.f (x, k) }}", imports='"f": 1', functions=function
    )
    optimized = foldproof.optimize(model, verify=False)
    assert optimized.functions[0].output == model.functions[0].output
    assert foldproof.optimize(optimized, verify=False) == optimized
