"""Random operators: which a model has, and which outputs they reach.

A new session of onnxruntime restarts its unseeded random operators from the same seed, but each by its
place in the model. So where a rewrite takes a node away, the operators behind it give other numbers, and
values that they reach can't be compared.
"""

from __future__ import annotations

import onnx
from onnx import numpy_helper

from .protos import FunctionKey, attribute_of, bodies, canonical, reads_of, scopes

# ai.onnx operators that draw random numbers. `Dropout` does so only in training mode, see `_draws`.
_RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
# Operators of other domains that onnxruntime ships.
_RANDOM_CONTRIBUTED = {
    "BiasDropout",
    "BitmaskBiasDropout",
    "BitmaskDropout",
    "Sampling",
}


def random_outputs(proto: onnx.ModelProto) -> frozenset[str]:
    """The graph outputs that an unseeded random operator reaches."""
    off = _constant_false(proto)
    random_functions: set[FunctionKey] = set()
    # Functions may call each other in any order: go round until nothing new turns up.
    while True:
        found = {
            (canonical(function.domain), function.name)
            for function in proto.functions
            if any(_is_random(node, random_functions, off) for node in function.node)
        }
        if found <= random_functions:
            break
        random_functions |= found
    reached: set[str] = set()
    for node in proto.graph.node:
        if _is_random(node, random_functions, off) or not reached.isdisjoint(reads_of(node)):
            reached.update(name for name in node.output if name)
    return frozenset(each.name for each in proto.graph.output if each.name in reached)


def _is_random(node: onnx.NodeProto, random_functions: set[FunctionKey], off: set[str]) -> bool:
    if (canonical(node.domain), node.op_type) in random_functions or _draws(node, off):
        return True
    return any(_is_random(inner, random_functions, off) for _, body in bodies(node) for inner in body.node)


def _draws(node: onnx.NodeProto, off: set[str]) -> bool:
    """Whether a node draws unseeded random numbers by itself."""
    if attribute_of(node, "seed") is not None:
        return False
    if canonical(node.domain):
        return node.op_type in _RANDOM_CONTRIBUTED
    if node.op_type == "Dropout":
        # From opset 12 on the third input says whether this is training; 7 to 11 never drop; before,
        # `is_test` (default 0) says.
        if len(node.input) > 2 and node.input[2]:
            return node.input[2] not in off
        return attribute_of(node, "is_test") is not None and not _int(node, "is_test")
    return node.op_type in _RANDOM


def _int(node: onnx.NodeProto, name: str) -> int:
    attribute = attribute_of(node, name)
    return attribute.i if attribute is not None else 0


def _constant_false(proto: onnx.ModelProto) -> set[str]:
    """Values that are the constant False, so that a `Dropout` which reads one never drops."""
    found: set[str] = set()
    overridable = {each.name for each in proto.graph.input} if proto.ir_version >= 4 else set()
    for scope in scopes(proto):
        if scope.graph is not None:
            found |= {each.name for each in scope.graph.initializer if _is_false(each)} - overridable
        for node in scope.nodes:
            value = attribute_of(node, "value")
            if (
                node.op_type == "Constant"
                and not canonical(node.domain)
                and value is not None
                and _is_false(value.t)
            ):
                found.add(node.output[0])
    return found


def _is_false(tensor: onnx.TensorProto) -> bool:
    is_flag = tensor.data_type == onnx.TensorProto.BOOL and tensor.data_location != onnx.TensorProto.EXTERNAL
    return is_flag and not numpy_helper.to_array(tensor).any()
