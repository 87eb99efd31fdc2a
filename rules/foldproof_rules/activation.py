"""Rules that recognize activation functions and write them as the operators that they are."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._patterns import (
    CLOSE,
    fits_attribute,
    is_near,
    maker_of,
    number_beside,
    orders,
    private_maker,
    scaled,
    with_number,
)
from foldproof_rules._weights import attribute_float, input_of, is_private, single


def _gate(value: ir.Value, facts: Facts) -> tuple[ir.Value, float, float] | None:
    """x, c and k of Clip(x + c, 0, k), with k > 0."""
    clip = private_maker(value, "Clip")
    if clip is None or clip.inputs[0] is None:
        return None
    if facts.opset_version(clip) < 11:
        low, high = attribute_float(clip, "min", -math.inf), attribute_float(clip, "max", math.inf)
    else:
        low, high = single(input_of(clip, 1), facts), single(input_of(clip, 2), facts)
    if low != 0 or high is None or not 0 < high < math.inf:
        return None
    for x, shift in with_number(clip.inputs[0], "Add", facts):
        return x, shift, high
    return None


def _times_number(node: ir.Node, facts: Facts) -> Iterator[tuple[ir.Value, float]]:
    """What a node multiplies or divides by a constant of one element, and the factor."""
    for x, constant in list(orders(node))[: 1 if node.op_type == "Div" else 2]:
        found = number_beside(x, constant, facts)
        if found is not None and (found or node.op_type == "Mul"):
            yield x, (1 / found if node.op_type == "Div" else found)


@rule("Div", "Mul", exact=False, benefit=6, after=("Mul",))
def hard_swish(node: ir.Node, facts: Facts) -> Outcome:
    """Mul(x, Clip(x + c, 0, k)) / k = Mul(x, HardSigmoid(x, 1/k, c/k)), where c and k are constants, k > 0.

    From opset 14 on it is HardSwish(x), where c = 3 and k = 6. PaddlePaddle and older versions of PyTorch write it out.

    Example:
        <opset_import: ["" : 13]>
        g (float[N, 8] x) => (float[N, 8] y) <float three = {3}, float zero = {0}, float six = {6}> {
            s = Add (x, three)  c = Clip (s, zero, six)  p = Mul (x, c)  y = Div (p, six) }
    """
    for product, factor in _times_number(node, facts):
        for x, clipped in orders(private_maker(product, "Mul")):
            gate = _gate(clipped, facts)
            if gate is None or gate[0] is not x:
                continue
            _, shift, height = gate
            if not _is_one(factor * height):
                return Reason("it is scaled by {} and clipped at {}", factor, height)
            if not _runs_float(x, facts):
                return Reason("the runtime has no HardSigmoid of its type")
            return _hard_swish(x, 1 / height, shift / height, facts.opset_version(node))
    return None


@rule("Div", "Mul", exact=False, benefit=5, after=("Clip",))
def hard_sigmoid(node: ir.Node, facts: Facts) -> Outcome:
    """Clip(x + c, 0, k) / k = HardSigmoid(x, 1/k, c/k), where c and k are constants, k > 0.

    Example:
        g (float[N, 8] x) => (float[N, 8] y) <float three = {3}, float zero = {0}, float six = {6}> {
            s = Add (x, three)  c = Clip (s, zero, six)  y = Div (c, six) }
    """
    for clipped, factor in _times_number(node, facts):
        gate = _gate(clipped, facts)
        if gate is None:
            continue
        if not _is_one(factor * gate[2]):
            return Reason("it is scaled by {} and clipped at {}", factor, gate[2])
        if not _runs_float(gate[0], facts):
            return Reason("the runtime has no HardSigmoid of its type")
        return _hard_sigmoid(*gate)
    return None


def _hard_sigmoid(x: ir.Value, shift: float, height: float) -> Replace:
    return Replace(lambda op: op.HardSigmoid(x, alpha=1 / height, beta=shift / height))


def _hard_swish(x: ir.Value, alpha: float, beta: float, version: int) -> Replace:
    if version >= 14 and _is_one(alpha * 6) and _is_one(beta * 2):
        return Replace(lambda op: op.HardSwish(x))
    return Replace(lambda op: op.Mul(x, op.HardSigmoid(x, alpha=alpha, beta=beta)))


def _runs_float(x: ir.Value, facts: Facts) -> bool:
    """Whether a value is float32: onnxruntime 1.32 runs HardSigmoid and HardSwish of float32 only."""
    return facts.of(x).dtype is ir.DataType.FLOAT


def _is_one(number: float) -> bool:
    """Whether a number is 1 but for rounding. NaN is not."""
    return abs(number - 1) <= CLOSE


@rule("Mul", exact=False, benefit=5, since=14, after=("HardSigmoid",))
def swish_of_hard_sigmoid(node: ir.Node, facts: Facts) -> Outcome:
    """Mul(x, HardSigmoid(x, 1/6, 1/2)) = HardSwish(x), from opset 14 on.

    Example:
        g (float[N, 8] x) => (float[N, 8] y) { s = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)  y = Mul (x, s) }
    """
    for x, gate in orders(node):
        maker = gate.producer()
        if maker is None or maker.op_type != "HardSigmoid" or maker.domain or maker.inputs[0] is not x:
            continue
        if not is_private(gate):
            return Reason("the HardSigmoid is read elsewhere")
        alpha, beta = attribute_float(maker, "alpha", 0.2), attribute_float(maker, "beta", 0.5)
        if alpha is None or beta is None or not (_is_one(alpha * 6) and _is_one(beta * 2)):
            return Reason("its slope is {} and its offset {}", alpha, beta)
        if not _runs_float(x, facts):
            return Reason("the runtime has no HardSwish of its type")
        return _hard_swish(x, alpha, beta, 14)
    return None


@rule("Mul", exact=False, benefit=4, since=20, after=("Mul", "Div"))
def gelu(node: ir.Node, facts: Facts) -> Outcome:
    """Mul(x / 2, 1 + Erf(x / sqrt(2))) = Gelu(x), from opset 20 on; the product may be taken in any order.

    Mul(x / 2, 1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))) = Gelu(x, approximate="tanh") likewise.

    Example:
        g (float[N, 8] x) => (float[N, 8] y) <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
            q = Div (x, root)  e = Erf (q)  s = Add (e, one)  p = Mul (x, s)  y = Mul (p, half) }
    """
    for x, gate in _halved_products(node, facts):
        for curve, one in with_number(gate, "Add", facts):
            maker = private_maker(curve, "Erf", "Tanh")
            if maker is None or one != 1:
                continue
            form = "none" if maker.op_type == "Erf" else "tanh"
            matches = _is_erf_argument if form == "none" else _is_tanh_argument
            if not matches(maker.inputs[0], x, facts):
                continue
            if facts.of(x).dtype is not ir.DataType.FLOAT:
                return Reason("the runtime has no Gelu of its type")
            return _gelu(x, form)
    return None


@rule("Mul", exact=False, benefit=4, lowers=Cost.FORM, until=19, after=("Mul", "Div"))
def gelu_written_out(node: ir.Node, facts: Facts) -> Outcome:
    """Mul(x, (1 + Erf(x * c)) / 2) = Mul(Mul(x, 1 + Erf(x / sqrt(2))), 1/2), where c is the inverse of sqrt(2).

    The same in any order of the product. Before opset 20 there is no Gelu, and onnxruntime recognizes only some ways of
    writing it: by a quotient, and not with the half at the second factor. Its kernel takes two thirds of the time.

    Example:
        <opset_import: ["" : 17]>
        g (float[N, 8] x) => (float[N, 8] y) <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
            q = Div (x, root)  e = Erf (q)  s = Add (e, one)  h = Mul (s, half)  y = Mul (x, h) }
    """
    for x, gate in _halved_products(node, facts):
        for curve, one in with_number(gate, "Add", facts):
            erf = private_maker(curve, "Erf")
            if erf is None or one != 1 or not _is_erf_argument(erf.inputs[0], x, facts):
                continue
            if facts.of(x).dtype is not ir.DataType.FLOAT:
                return Reason("the runtime has no Gelu of its type")
            recognized = maker_of(erf.inputs[0], "Div") is not None and gate in _product_with(node, x)
            return None if recognized else _written_out(x)
    return None


def _product_with(node: ir.Node, x: ir.Value) -> list[ir.Value | None]:
    """What x, or x times a constant, is multiplied by, at a node or in the product that it halves."""
    found: list[ir.Value | None] = []
    for left, right in orders(node):
        half = maker_of(left, "Mul")
        if half is not None and x in half.inputs:
            found += [right, *half.inputs]
    return found


def _written_out(x: ir.Value) -> Replace:
    def build(op: Builder) -> ir.Value:
        one, half, root = (op.constant(np.array(k, np.float32)) for k in (1.0, 0.5, math.sqrt(2)))
        made: ir.Value = op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, root)), one)), half)
        return made

    return Replace(build)


def _gelu(x: ir.Value, form: str) -> Replace:
    return Replace(lambda op: op.Gelu(x, approximate=form))


def _halved_products(node: ir.Node, facts: Facts) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Pairs x and y of x * y / 2, in each way in which the product can be written and read."""
    for left, right in orders(node):
        for inner, half in scaled(left, facts):
            if half == 0.5:
                yield inner, right
                yield right, inner
    for product, half in _times_number(node, facts):
        if half == 0.5:
            yield from orders(private_maker(product, "Mul"))


def _is_erf_argument(value: ir.Value | None, x: ir.Value, facts: Facts) -> bool:
    return any(inner is x and is_near(factor, math.sqrt(0.5), x, facts) for inner, factor in scaled(value, facts))


def _is_tanh_argument(value: ir.Value | None, x: ir.Value, facts: Facts) -> bool:
    for total, factor in scaled(value, facts):
        if not is_near(factor, math.sqrt(2 / math.pi), x, facts):
            continue
        for first, term in orders(private_maker(total, "Add")):
            if first is x and any(
                is_near(weight, 0.044715, x, facts) and _is_cube(power, x, facts)
                for power, weight in scaled(term, facts)
            ):
                return True
    return False


def _is_cube(value: ir.Value, x: ir.Value, facts: Facts) -> bool:
    power = private_maker(value, "Pow")
    if power is not None and power.inputs[1] is not None:
        return power.inputs[0] is x and number_beside(x, power.inputs[1], facts) == 3
    for first, square in orders(private_maker(value, "Mul")):
        product = private_maker(square, "Mul")
        if first is x and product is not None and product.inputs[0] is x and product.inputs[1] is x:
            return True
    return False


@rule("Mul", exact=False, benefit=4, level=3, since=24, after=("Sigmoid",))
def swish(node: ir.Node, facts: Facts) -> Outcome:
    """Mul(x, Sigmoid(x * a)) = Swish(x, alpha=a), for a constant a, or none.

    Only at level 3: onnxruntime 1.32 has no kernel of Swish on the CPU. It writes it out, and takes 1.7 times as long.

    Example:
        <opset_import: ["" : 24]>
        g (float[N, 8] x) => (float[N, 8] y) { s = Sigmoid (x)  y = Mul (x, s) }
    """
    for x, gate in orders(node):
        sigmoid = private_maker(gate, "Sigmoid")
        argument = None if sigmoid is None else sigmoid.inputs[0]
        if argument is x:
            return _swish(x, 1.0)
        for inner, alpha in scaled(argument, facts):
            if inner is x and not fits_attribute(alpha, x, facts):
                return Reason("its factor of {} is no float32, as an attribute is", alpha)
            if inner is x:
                return _swish(x, alpha)
    return None


def _swish(x: ir.Value, alpha: float) -> Replace:
    return Replace(lambda op: op.Swish(x, alpha=alpha))


@rule("Mul", exact=False, benefit=4, since=18, after=("Tanh",))
def mish(node: ir.Node, facts: Facts) -> Outcome:
    """Mul(x, Tanh(Softplus(x))) = Mish(x), from opset 18 on.

    Example:
        g (float[N, 8] x) => (float[N, 8] y) { s = Softplus (x)  t = Tanh (s)  y = Mul (x, t) }
    """
    for x, gate in orders(node):
        tanh = private_maker(gate, "Tanh")
        softplus = None if tanh is None else private_maker(tanh.inputs[0], "Softplus")
        if softplus is not None and softplus.inputs[0] is x:
            return _mish(x) if _runs_float(x, facts) else Reason("the runtime has no Mish of its type")
    return None


def _mish(x: ir.Value) -> Replace:
    return Replace(lambda op: op.Mish(x))
