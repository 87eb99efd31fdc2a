"""Rules that move Transpose through other operators where that leaves fewer of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._moves import attribute, axes_in, has_reference, is_private, kept_attributes, maker_of, perm_of
from foldproof_rules.transpose import transposed

PLAIN = frozenset(
    {
        *("Abs", "Neg", "Relu", "Sign", "Floor", "Ceil", "Sqrt", "Not", "Cast", "IsNaN", "IsInf", "LeakyRelu", "Clip"),
        *("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "Greater", "LessOrEqual"),
        *("GreaterOrEqual", "Where", "Concat", "Identity", "QuantizeLinear", "DequantizeLinear"),
    }
)
"""Operators that compute each element by itself and correctly rounded, or that only move elements."""

ROUNDED = frozenset(
    {
        *("Sigmoid", "Tanh", "Erf", "Exp", "Log", "Elu", "Selu", "Softplus", "Softsign", "HardSigmoid", "HardSwish"),
        *("Gelu", "Mish", "Swish", "Reciprocal", "Sin", "Cos", "Pow", "Sum", "Mean", "Round", "Celu"),
        *("ThresholdedRelu", "Max", "Min"),
    }
)
"""Operators that compute each element by itself. Runtimes compute some elements by other instructions than the
rest: onnxruntime 1.32 takes either of 0.0 and -0.0 for their maximum by where they stand."""

SCALAR_PARAMETERS = frozenset({"Clip", "QuantizeLinear", "DequantizeLinear"})
"""Operators on each element of their first input by itself, where all others are scalars. Clip has no others."""

MAX_NODES = 24
"""A Transpose is not moved through more nodes at once."""

MAX_COPIED = 1024
"""A constant of more bytes that others read too is not stored a second time in another layout."""


@dataclasses.dataclass
class _Plan:
    """What moving a Transpose up to the leaves of the nodes above it takes.

    Attributes:
        cost: How many Transposes more there are then.
        nodes: How many nodes are built again in the other layout.
        cancels: Whether some Transpose is met.
    """

    cost: int = -1
    nodes: int = 0
    cancels: bool = False


@rule("Transpose", exact=True, benefit=1, after=PLAIN)
def transpose_through(node: ir.Node, facts: Facts) -> Outcome:
    """Transpose(f(Transpose(x, p), k), q) = f(Transpose(x, r), Transpose(k, q)), where fewer Transposes are left of it.

    f is one operator, or several, that compute each element by itself, or Concat. Constants are
    stored in the other layout.

    Example:
        g (float[N, M] x) => (float[N, M] y) <float[2] k = {1, 2}> {
            a = Transpose <perm = [1, 0]> (x)  b = Relu (a)  y = Transpose <perm = [1, 0]> (b) }
    """
    return _moved_up(node, facts, PLAIN)


@rule("Transpose", exact=False, after=PLAIN | ROUNDED)
def transpose_through_rounded(node: ir.Node, facts: Facts) -> Outcome:
    """Transpose(f(Transpose(x, p)), q) = f(Transpose(x, r)), where fewer Transposes are left of it.

    f may round by where an element is: a runtime computes most elements in groups, and the last ones of a row one by
    one.

    Example:
        g (float[N, M] x) => (float[N, M] y) {
            a = Transpose <perm = [1, 0]> (x)  b = Sigmoid (a)  y = Transpose <perm = [1, 0]> (b) }
    """
    return _moved_up(node, facts, PLAIN | ROUNDED)


def _moved_up(node: ir.Node, facts: Facts, through: frozenset[str]) -> Outcome:
    perm, value = perm_of(node, facts), node.inputs[0]
    if maker_of(value, *through) is None:
        return None
    if perm is None or has_reference(node) or facts.opset_version(node) < MIN_BROADCASTING:
        return Reason("its permutation is not known, or broadcasting names an axis")
    plan = _Plan()
    build = _above(value, node, perm, facts, through, plan)
    if build is None or not plan.cancels or plan.cost >= 0:
        return Reason("to move it up to what it is made of would leave as many Transposes")
    return Replace(build)


_Build = Callable[[Builder], Any]


def _above(
    value: ir.Value | None, reader: ir.Node, perm: Sequence[int], facts: Facts, through: frozenset[str], plan: _Plan
) -> _Build | None:
    """Builds a value in another layout, from what it is made of where possible; None where it can't be."""
    fact = facts.of(value)
    if fact.constant is not None and value is not None:
        return _constant(value, reader, perm, facts)
    if value is None or fact.rank != len(perm):
        return None
    maker = maker_of(value, "Transpose", *through)
    if maker is not None and maker.op_type == "Transpose":
        inner = perm_of(maker, facts)
        if inner is None or len(inner) != len(perm):
            return None
        order = [inner[axis] for axis in perm]
        stays = order != sorted(order)
        plan.cost += stays - is_private(value, reader)
        plan.cancels = True
        return lambda op: transposed(op, maker.inputs[0], order)
    if maker is not None and is_private(value, reader) and plan.nodes < MAX_NODES:
        plan.nodes += 1
        return _node_above(maker, perm, facts, through, plan)
    plan.cost += 1
    return lambda op: op.Transpose(value, perm=tuple(perm))


def _node_above(
    maker: ir.Node, perm: Sequence[int], facts: Facts, through: frozenset[str], plan: _Plan
) -> _Build | None:
    attributes: dict[str, Any] = dict(maker.attributes)
    if maker.op_type in SCALAR_PARAMETERS and not has_scalar_parameters(maker, facts):
        return None
    if maker.op_type == "Concat":
        axes = axes_in((attribute(maker, "axis", 1),), len(perm))
        if axes is None:
            return None
        attributes["axis"] = list(perm).index(axes[0])
    inputs: list[_Build] = []
    known: dict[ir.Value, _Build] = {}
    for index, value in enumerate(maker.inputs):
        if value is None or (index and maker.op_type in SCALAR_PARAMETERS) or _is_single(value, facts):
            inputs.append(lambda op, v=value: v)  # type: ignore[misc]
            continue
        build = known.get(value) or _above(value, maker, perm, facts, through, plan)
        if build is None:
            return None
        inputs.append(known.setdefault(value, _once(build)))
    return lambda op: op.node(maker.op_type, *(each(op) for each in inputs), **attributes)


def has_scalar_parameters(node: ir.Node, facts: Facts) -> bool:
    """Whether all inputs of a node but the first are proven to be scalars, as those of a quantization per tensor."""
    return all(value is None or facts.of(value).rank == 0 for value in node.inputs[1:])


def _once(build: _Build) -> _Build:
    """Builds at the first call only: an input that is there twice is one value."""
    made: list[Any] = []

    def built(op: Builder) -> Any:
        if not made:
            made.append(build(op))
        return made[0]

    return built


def _is_single(value: ir.Value, facts: Facts) -> bool:
    """Whether a value has one element and no dims, so that it is the same in each layout."""
    return facts.of(value).rank == 0


def _constant(value: ir.Value, reader: ir.Node, perm: Sequence[int], facts: Facts) -> _Build | None:
    """A constant in the other layout; one of fewer dims gets dims of 1 in front, as broadcasting gives it."""
    tensor = facts.of(value).constant
    if tensor is None or tensor.dtype is ir.DataType.STRING or len(tensor.shape) > len(perm):
        return None
    alone = all(use.node is reader for use in value.uses()) and not value.is_graph_output()
    if not alone and tensor.nbytes > MAX_COPIED:
        return None
    shape = (1,) * (len(perm) - len(tensor.shape)) + tuple(tensor.shape.numpy())
    return lambda op: op.constant(np.ascontiguousarray(tensor.numpy().reshape(shape).transpose(perm)))


JOINING = (
    *("Add", "Sub", "Mul", "Div", "Sum", "Mean", "Where", "Concat"),
    *("And", "Or", "Equal", "Less", "Greater"),
)
"""Operators of several tensors that PLAIN names, and Sum and Mean, which add in the order of their inputs."""

MIN_BROADCASTING = 8
"""The first opset where all of them broadcast by the last dims, without an attribute that names an axis."""


@rule(*JOINING, exact=True, since=MIN_BROADCASTING, after=("Transpose",))
def joined_transposes(node: ir.Node, facts: Facts) -> Outcome:
    """f(Transpose(x, p), Transpose(y, p)) = Transpose(f(x, y), p), where two or more are read by nothing else.

    Example:
        g (float[N, M] x, float[N, M] y) => (float[M, N] z) {
            a = Transpose <perm = [1, 0]> (x)  b = Transpose <perm = [1, 0]> (y)  z = Add (a, b) }
    """
    return _joined(node, facts)


@rule("Max", "Min", "Pow", exact=False, since=MIN_BROADCASTING, after=("Transpose",))
def joined_transposes_rounded(node: ir.Node, facts: Facts) -> Outcome:
    """f(Transpose(x, p), Transpose(y, p)) = Transpose(f(x, y), p), where f may round by where an element is.

    Example:
        g (float[N, M] x, float[N, M] y) => (float[M, N] z) {
            a = Transpose <perm = [1, 0]> (x)  b = Transpose <perm = [1, 0]> (y)  z = Max (a, b) }
    """
    return _joined(node, facts)


def _joined(node: ir.Node, facts: Facts) -> Outcome:
    if has_reference(node):
        return None
    values = [value for value in dict.fromkeys(node.inputs) if value is not None and facts.of(value).rank != 0]
    makers = [maker_of(value, "Transpose") for value in values]
    if len(values) < 2 or any(maker is None for maker in makers):
        return None
    perms = {perm_of(maker, facts) for maker in makers if maker is not None}
    perm = next(iter(perms))
    if len(perms) > 1 or perm is None:
        return Reason("its inputs are not all transposed alike")
    if sum(is_private(value, node) for value in values) < 2:
        return Reason("what makes its inputs is read elsewhere too")
    attributes: dict[str, Any] = kept_attributes(node)
    if node.op_type == "Concat":
        axes = axes_in((attribute(node, "axis", 1),), len(perm))
        if axes is None:
            return Reason("its axis is not known")
        attributes["axis"] = perm[axes[0]]
    sources = {value: maker.inputs[0] for value, maker in zip(values, makers, strict=True) if maker is not None}
    inputs = [value if value is None else sources.get(value, value) for value in node.inputs]
    return Replace(lambda op: op.Transpose(op.node(node.op_type, *inputs, **attributes), perm=perm))
