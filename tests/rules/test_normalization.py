from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.rules.weighted import becomes, positive, stays, tensor

LAYER = ("layer_normalization", "scale_of_normalization", "bias_of_normalization")
RMS = ("rms_normalization", "scale_of_normalization", "bias_of_normalization")


def graph(nodes: str, dtype: str = "float", x: str = "N,M,6", out: str = "A,B,C", more: str = "") -> str:
    return f"g ({dtype}[{x}] x{more}) => ({dtype}[{out}] y) {{ {nodes} }}"


def constants(dtype: Any = np.float32, axes: tuple[int, ...] = (-1,), **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"i": np.array(axes), "two": np.array(2, dtype), "e": np.array(2**-16, dtype)}
    found |= {"one": np.array(1, dtype), "minus": np.array(-0.5, dtype)}
    return found | {"s": tensor(6, dtype=dtype), "b": tensor(6, dtype=dtype, seed=1)} | more


CENTER = "m = ReduceMean(x, i) d = Sub(x, m) "
SQUARES = ["q = Pow(d, two) ", "q = Mul(d, d) "]
MEAN = "v = ReduceMean(q, i) w = Add(v, e) "
ROOTS = [
    "r = Sqrt(w) n = Div(d, r) ",
    "r = Sqrt(w) t = Reciprocal(r) n = Mul(d, t) ",
    "t = Pow(w, minus) n = Mul(t, d) ",
]
SIZES = (1, 2, 5)


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("end", ["y = Identity(n)", "y = Mul(n, s)", "k = Mul(s, n) y = Add(k, b)", "y = Add(n, b)"])
def test_layer_normalization_is_recognized(square: str, root: str, end: str) -> None:
    body = graph(CENTER + square + MEAN + root + end)
    left = {"LayerNormalization": 1, "Identity": 1} if "Identity" in end else {"LayerNormalization": 1}
    for opset in (17, 18):
        text = body if opset == 18 else body.replace("ReduceMean(x, i)", "ReduceMean <axes = [-1]> (x)")
        text = text if opset == 18 else text.replace("ReduceMean(q, i)", "ReduceMean <axes = [2]> (q)")
        becomes(text, left, *LAYER, weights=constants(), opset=opset, sizes=SIZES)


def test_layer_normalization_over_several_axes_is_recognized() -> None:
    body = graph(CENTER + SQUARES[0] + MEAN + ROOTS[0] + "k = Mul(n, s) y = Add(k, b)", x="N,5,6")
    weights = constants(axes=(2, 1), s=tensor(5, 6), b=tensor(5, 6, seed=1))
    becomes(body, {"LayerNormalization": 1}, *LAYER, weights=weights, sizes=SIZES)
    # A scale of the last axis alone is none of a LayerNormalization over two.
    weights = constants(axes=(2, 1), b=tensor(5, 6))
    becomes(body, {"LayerNormalization": 1, "Mul": 1, "Add": 1}, *LAYER, weights=weights, sizes=SIZES)


def test_a_scale_that_is_not_constant_goes_into_the_normalization() -> None:
    body = graph(CENTER + SQUARES[0] + MEAN + ROOTS[0] + "k = Mul(n, u) y = Add(k, z)", more=", float[6] u, float[6] z")
    becomes(body, {"LayerNormalization": 1}, *LAYER, weights=constants(), sizes=SIZES)


def test_layer_normalization_of_double_is_recognized() -> None:
    body = graph(CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Mul(n, s)", "double")
    becomes(body, {"LayerNormalization": 1}, *LAYER, weights=constants(np.float64), sizes=SIZES)


def test_an_epsilon_that_an_attribute_would_round_stays() -> None:
    body = graph(CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Mul(n, s)", "double")
    weights = constants(np.float64, e=np.array(1e-5, np.float64))
    assert any("is no float32" in reason for reason in stays(body, *LAYER, weights=weights))


@pytest.mark.parametrize(
    ("nodes", "weights"),
    [
        (CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Identity(n)", constants(axes=(1,))),
        (CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Identity(n)", constants(e=tensor(6) ** 2)),
        (CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Identity(n)", constants(e=np.float32(-1))),
        (CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Identity(n)", constants(two=np.float32(3))),
        (CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Add(n, d)", constants()),
        (CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Add(n, v)", constants()),
        (CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Add(n, m)", constants()),
        (CENTER + "q = Pow(x, two) " + MEAN + ROOTS[0] + "y = Identity(n)", constants()),
        (CENTER + SQUARES[0] + MEAN.replace("i)", "j)") + ROOTS[0] + "y = Identity(n)", constants(j=np.array([1]))),
        (CENTER + SQUARES[0] + MEAN + "r = Sqrt(w) n = Div(x, r) y = Identity(n)", constants()),
        (CENTER.replace("Sub(x, m)", "Sub(m, x)") + SQUARES[0] + MEAN + ROOTS[0] + "y = Identity(n)", constants()),
    ],
)
def test_what_is_no_layer_normalization_stays(nodes: str, weights: dict[str, Any]) -> None:
    stays(graph(nodes, x="N,6,6"), *LAYER, weights=weights)


def test_dims_that_are_not_known_stay() -> None:
    body = graph(CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Identity(n)", x="N,M,K")
    assert "the dims that it is taken over are not known" in stays(body, *LAYER, weights=constants())


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("end", ["y = Mul(n, s)", "k = Mul(s, n) y = Add(k, b)"])
def test_rms_normalization_is_recognized(root: str, end: str) -> None:
    body = graph("q = Mul(x, x) " + MEAN + root.replace("(d", "(x").replace("d)", "x)") + end)
    left = {"RMSNormalization": 1, "Add": 1} if "Add" in end else {"RMSNormalization": 1}
    becomes(body, left, *RMS, weights=constants(), opset=23, sizes=SIZES)
    assert stays(body, *RMS, weights=constants(), opset=22) == []


@pytest.mark.parametrize(
    "normalization", ["LayerNormalization(x, s, b)", "LayerNormalization(x, s)", "RMSNormalization(x, s)"]
)
@pytest.mark.parametrize("operator", ["Mul(n, c)", "Div(n, v)"])
def test_factors_of_the_last_axis_go_into_the_scale(normalization: str, operator: str) -> None:
    body = graph(f"n = {normalization} y = {operator}")
    weights = constants(c=tensor(6, seed=3), v=positive(6))
    becomes(body, {normalization.split("(")[0]: 1}, "affine_into_normalization", weights=weights, opset=23, sizes=SIZES)


@pytest.mark.parametrize("normalization", ["BatchNormalization(x, s, b, c, v)", "InstanceNormalization(x, s, b)"])
@pytest.mark.parametrize("operator", ["Mul(n, p)", "Sub(p, n)", "Add(n, o)"])
def test_constants_for_each_channel_go_into_the_scale_and_the_bias(normalization: str, operator: str) -> None:
    body = graph(f"n = {normalization} y = {operator}", x="N,6,7")
    weights = constants(c=tensor(6, seed=3), v=positive(6), p=tensor(6, 1), o=np.float32(0.3))
    becomes(body, {normalization.split("(")[0]: 1}, "affine_into_normalization", weights=weights, sizes=SIZES)


def test_constants_go_into_a_group_normalization_that_has_one_for_each_channel() -> None:
    body = graph("n = GroupNormalization <num_groups = 2> (x, s, b) y = Mul(n, p)", x="N,6,M")
    becomes(
        body,
        {"GroupNormalization": 1},
        "affine_into_normalization",
        weights=constants(p=tensor(6, 1)),
        opset=21,
        sizes=SIZES,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        "n = LayerNormalization <axis = 1> (x, t, t) y = Mul(n, s)",
        "n = LayerNormalization(x, s, b) y = Mul(n, p)",
        "n, k = LayerNormalization(x, s, b) l = Mul(n, s) y = Add(l, k)",
        "n = LayerNormalization(x, s, b) l = Mul(n, s) y = Add(l, n)",
        "n = LayerNormalization(x, s, h) y = Mul(n, s)",
    ],
)
def test_other_constants_stay_behind_a_layer_normalization(nodes: str) -> None:
    stays(
        graph(nodes, x="N,6,6"),
        "affine_into_normalization",
        weights=constants(p=tensor(6, 1), t=tensor(6, 6), h=tensor(5)),
    )


@pytest.mark.parametrize("operator", ["Mul(x, p)", "Sub(p, x)", "Add(x, o)", "BatchNormalization(x, b, s, v, v)"])
def test_what_comes_before_a_batch_normalization_goes_into_it(operator: str) -> None:
    body = graph(f"a = {operator} y = BatchNormalization(a, s, b, c, v)", x="N,6,M")
    weights = constants(c=tensor(6, seed=3), v=positive(6), p=tensor(6, 1), o=np.float32(0.3))
    becomes(body, {"BatchNormalization": 1}, "batch_normalization_of_affine", weights=weights, sizes=SIZES)


@pytest.mark.parametrize(
    ("x", "constant"), [("N,1,M", (6, 1)), ("N,C,M", (6, 1)), ("N,6,6", (6,)), ("N,6,M", (1, 1, 6, 1))]
)
def test_other_constants_stay_before_a_batch_normalization(x: str, constant: tuple[int, ...]) -> None:
    body = graph(
        "a = Mul(x, p) y = BatchNormalization(a, s, b, b, v)", x=x, out="A,B,C,D" if len(constant) > 3 else "A,B,D"
    )
    assert stays(body, "batch_normalization_of_affine", weights=constants(v=positive(6), p=tensor(*constant)))


def test_an_instance_normalization_needs_no_flat_channels() -> None:
    nodes = "f = Shape(x) r = Reshape(x, t) n = InstanceNormalization(r, s, b) y = Reshape(n, f)"
    weights = constants(t=np.array([0, 6, -1]))
    body = graph(nodes, x="N,6,4,5", out="A,B,C,D")
    becomes(body, {"InstanceNormalization": 1}, "instance_normalization_of_reshape", weights=weights, sizes=SIZES)
    groups = constants(t=np.array([0, 3, -1]), s=tensor(3), b=tensor(3))
    assert stays(body, "instance_normalization_of_reshape", weights=groups)
    both = body.replace("y = Reshape(n, f)", "k = Reshape(n, f) z = ReduceSum(r) y = Add(k, z)")
    assert stays(both, "instance_normalization_of_reshape", weights=weights)


GROUPED = """g (float[N,4,6] x) => (float[N,4,6] y) {
    r = Reshape(x, grouped) n = InstanceNormalization <epsilon = 0.01> (r, s, b) f = Reshape(n, full) m = Mul(f, k) y = Add(m, c) }"""


def grouped(**changed: Any) -> dict[str, Any]:
    shapes = {"grouped": np.array([0, 2, -1]), "full": np.array([-1, 4, 6])}
    return {**shapes, "s": positive(2), "b": tensor(2), "k": tensor(4, 1), "c": tensor(4, 1, seed=1), **changed}


def test_channels_that_are_normalized_in_groups_are_a_group_normalization() -> None:
    names = ("group_normalization", "affine_into_normalization")
    becomes(GROUPED, {"GroupNormalization": 1}, *names, weights=grouped(), opset=21, sizes=(1, 2, 5))


@pytest.mark.parametrize(
    ("body", "changed", "opset"),
    [
        (GROUPED, {}, 18),
        (GROUPED.replace("float[N,4,6] x", "float[N,4,6] x, float[2] s"), {"s": None}, 21),
        (GROUPED, {"s": np.array([1, np.inf], np.float32)}, 21),
        (GROUPED, {"b": np.array([1], np.float32)}, 21),
        (GROUPED, {"grouped": np.array([-1, 2, 24])}, 21),  # groups that reach over the batch
        (GROUPED.replace("y = Add(m, c)", "o = Neg(n) z = Reshape(o, full) y = Add(m, z)"), {}, 21),
    ],
)
def test_other_groups_stay(body: str, changed: dict[str, Any], opset: int) -> None:
    weights = {name: each for name, each in grouped(**changed).items() if each is not None}
    stays(body, "group_normalization", weights=weights, opset=opset)


def test_a_scale_of_very_many_ones_is_not_stored() -> None:
    body = graph(CENTER + SQUARES[0] + MEAN + ROOTS[0] + "y = Identity(n)", x="N,2048,1024")
    told = stays(body, *LAYER, weights=constants(axes=(2, 1)))
    assert "a scale of 2097152 elements would be stored" in told
