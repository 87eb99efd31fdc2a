"""Random operators: which a model has, and which outputs they reach.

A new session of onnxruntime restarts its unseeded random operators from the same seed, but each by its
place in the model. So where a rewrite takes a node away, the operators behind it give other numbers, and
values that they reach can't be compared. Their shapes can, unless random values decided on them (`NonZero`
of a `Bernoulli`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import onnx
from onnx import numpy_helper

from foldproof.protos import FunctionKey, attribute_of, bodies, canonical, reads_of, scopes

# ai.onnx operators that draw random numbers. `Dropout` does so only in training mode, see `_draws`. The
# schemas' own mark of nondeterminism says the same, but also holds for all operators with bodies.
_RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
# Operators of other domains that onnxruntime ships.
_RANDOM_CONTRIBUTED = {"BiasDropout", "BitmaskBiasDropout", "BitmaskDropout", "Sampling"}
# Operators that give an output whose shape depends on the elements of their first input.
_SHAPE_BY_ELEMENTS = {
    "BlackmanWindow", "Compress", "ConstantOfShape", "HammingWindow", "HannWindow", "If", "ImageDecoder",
    "Loop", "NonMaxSuppression", "NonZero", "Range", "Scan", "SequenceMap", "StringSplit", "Unique",
}  # fmt: skip
# Operators none of whose inputs decides on the output's shape by its elements.
_SHAPE_BY_SHAPES = {
    "Add", "And", "BatchNormalization", "Concat", "Conv", "ConvTranspose", "Div", "Einsum", "Equal", "GRU",
    "Gather", "GatherElements", "GatherND", "Gemm", "Greater", "GreaterOrEqual", "GroupNormalization",
    "InstanceNormalization", "LSTM", "LayerNormalization", "Less", "LessOrEqual", "MatMul", "Max", "Mean",
    "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "RNN", "RMSNormalization", "ScatterElements", "ScatterND",
    "Sub", "Sum", "Where", "Xor",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Reached:
    """Values that unseeded random operators reach.

    Attributes:
        values: Those whose elements may be others at each run.
        shapes: Those of them whose shapes may be others too.
    """

    values: frozenset[str] = frozenset()
    shapes: frozenset[str] = frozenset()

    def __or__(self, other: Reached) -> Reached:
        return Reached(self.values | other.values, self.shapes | other.shapes)


def random_outputs(proto: onnx.ModelProto) -> Reached:
    """The graph outputs that an unseeded random operator reaches."""
    is_random = _finder(proto)
    values: set[str] = set()
    shapes: set[str] = set()
    for node in proto.graph.node:
        draws = is_random(node)
        reads = reads_of(node) & values
        if not draws and not reads:
            continue
        outputs = {name for name in node.output if name}
        if _shape_is_safe(node, reads, shapes, draws):
            # Of what has a shape that is not random, this is not random either.
            values |= set() if node.op_type in ("Shape", "Size") else outputs
        else:
            values |= outputs
            shapes |= outputs
    names = {each.name for each in proto.graph.output}
    return Reached(frozenset(names & values), frozenset(names & shapes))


def _shape_is_safe(node: onnx.NodeProto, reads: set[str], shapes: set[str], draws: bool) -> bool:
    """Whether the shapes of a node's outputs are the same at each run, although random values reach it."""
    if reads & shapes or canonical(node.domain) or node.op_type in _SHAPE_BY_ELEMENTS:
        return False
    if draws and (any(True for _ in bodies(node)) or node.op_type not in _RANDOM | {"Dropout"}):
        return False  # A body or a function that draws: anything may come out.
    return reads <= {node.input[0] if node.input else ""} or node.op_type in _SHAPE_BY_SHAPES


def _finder(proto: onnx.ModelProto) -> Callable[[onnx.NodeProto], bool]:
    """A function that tells whether a node draws random numbers: itself, in a body or in a function."""
    off = _constant_false(proto)
    functions: set[FunctionKey] = set()

    def is_random(node: onnx.NodeProto) -> bool:
        if (canonical(node.domain), node.op_type) in functions or _draws(node, off):
            return True
        return any(is_random(inner) for _, body in bodies(node) for inner in body.node)

    # Functions may call each other in any order: go round until nothing new turns up.
    count = -1
    while count != len(functions):
        count = len(functions)
        functions |= {(canonical(each.domain), each.name) for each in proto.functions if any(map(is_random, each.node))}
    return is_random


def _draws(node: onnx.NodeProto, off: Iterable[str]) -> bool:
    """Whether a node draws unseeded random numbers by itself."""
    if attribute_of(node, "seed") is not None:
        return False
    if canonical(node.domain):
        return node.op_type in _RANDOM_CONTRIBUTED
    if node.op_type == "Dropout":
        # From opset 12 on the third input says whether this is training; 7 to 11 never drop; before,
        # `is_test` (which is 0 where it is left out) says.
        if len(node.input) > 2 and node.input[2]:
            return node.input[2] not in off
        is_test = attribute_of(node, "is_test")
        return is_test is not None and not is_test.i
    return node.op_type in _RANDOM


def _constant_false(proto: onnx.ModelProto) -> set[str]:
    """Values that are the constant False, so that a `Dropout` which reads one never drops."""
    found: set[str] = set()
    overridable = {each.name for each in proto.graph.input} if proto.ir_version >= 4 else set()
    for scope in scopes(proto):
        if scope.graph is not None:
            found |= {each.name for each in scope.graph.initializer if _is_false(each)} - overridable
        for node in scope.nodes:
            value = attribute_of(node, "value")
            if node.op_type == "Constant" and value is not None and _is_false(value.t):
                found.add(node.output[0])
    return found


def _is_false(tensor: onnx.TensorProto) -> bool:
    is_flag = tensor.data_type == onnx.TensorProto.BOOL and tensor.data_location != onnx.TensorProto.EXTERNAL
    return is_flag and not numpy_helper.to_array(tensor).any()
