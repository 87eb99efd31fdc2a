"""Makes the sample models of this folder: `python models/make.py`. They are small, and each shows one thing.

Authored in onnxscript; the weights are drawn from a fixed seed, so that each run gives the same files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnxscript import BOOL, DOUBLE, FLOAT, FLOAT16, INT8, INT64, STRING, script
from onnxscript import opset18 as op

HIDDEN = 16
_random = np.random.default_rng(20261129)


def _weight(*shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array(_random.uniform(-1, 1, shape).astype(np.float32))


PROJECTION = _weight(HIDDEN, 4)
BIAS = _weight(4)


@script(default_opset=op)
def mean_pooling(tokens: FLOAT[batch, seq, HIDDEN], mask: FLOAT[batch, seq, 1]) -> FLOAT[batch, 4]:
    """Mean pooling of token embeddings, batch and sequence dynamic: some of its Size nodes can be known, some can't."""
    weight = op.Constant(value=PROJECTION)
    bias = op.Constant(value=BIAS)
    # The mean of all embeddings: how many there are depends on the batch and the sequence.
    count = op.Cast(op.Size(tokens), to=1)
    mean = op.Div(op.ReduceSum(tokens, keepdims=0), count)
    # The usual masked mean, normalized by the size of the projection, which is known.
    summed = op.ReduceSum(op.Mul(tokens, mask), op.Constant(value_ints=[1]), keepdims=0)
    length = op.ReduceSum(mask, op.Constant(value_ints=[1]), keepdims=0)
    pooled = op.Div(op.Sub(summed, mean), op.Max(length, op.Constant(value_float=1.0)))
    scale = op.Sqrt(op.Cast(op.Size(weight), to=1))
    return op.Add(op.Div(op.MatMul(pooled, weight), scale), bias)


@script(default_opset=op)
def static_mean(image: FLOAT[1, 3, 8, 8]) -> FLOAT[1, 3, 8, 8]:
    """Instance normalization by hand on a static image: each Size and Shape is known."""
    total = op.Size(image)
    channels = op.Gather(op.Shape(image), op.Constant(value_int=1), axis=0)
    pixels = op.Cast(op.Div(total, channels), to=1)
    axes = op.Constant(value_ints=[2, 3])
    mean = op.Div(op.ReduceSum(image, axes, keepdims=1), pixels)
    centered = op.Sub(image, mean)
    variance = op.Div(op.ReduceSum(op.Mul(centered, centered), axes, keepdims=1), pixels)
    return op.Div(centered, op.Sqrt(op.Add(variance, op.Constant(value_float=1e-5))))


@script(default_opset=op)
def branches_and_loop(x: FLOAT[n, 3], kernel: FLOAT[2, 3], steps: INT64) -> FLOAT[n, 3]:
    """A Loop and an If whose bodies ask for the size of values from outside: one is known, one is not."""
    y = op.Identity(x)
    for _ in range(steps):
        y = op.Add(y, op.Cast(op.Size(kernel), to=1))
    if op.Greater(op.ReduceSum(y, keepdims=0), op.Constant(value_float=0.0)):
        z = op.Div(y, op.Cast(op.Add(op.Size(x), op.Constant(value_int=1)), to=1))
    else:
        z = op.Mul(y, op.Cast(op.Size(kernel), to=1))
    return z


@script(default_opset=op)
def many_types(
    half: FLOAT16[2, 3], double: DOUBLE[n], byte: INT8[n, 0], flag: BOOL[5], text: STRING[n, 2], scalar: INT64
) -> INT64[6]:
    """Size of many types: half, double, an empty int8, bool, strings, a scalar."""
    one = op.Constant(value_ints=[-1])
    return op.Concat(
        op.Reshape(op.Size(half), one),
        op.Reshape(op.Size(double), one),
        op.Reshape(op.Size(byte), one),
        op.Reshape(op.Size(flag), one),
        op.Reshape(op.Size(text), one),
        op.Reshape(op.Size(scalar), one),
        axis=0,
    )


MODELS = (mean_pooling, static_mean, branches_and_loop, many_types)


def main() -> None:
    """Writes each model beside this file."""
    for function in MODELS:
        model = function.to_model_proto(ir_version=8)
        model.producer_name = "foldproof-samples"
        model.doc_string = function.__doc__ or ""
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, Path(__file__).with_name(f"{function.name}.onnx"))


if __name__ == "__main__":
    main()
