"""Models of any size, to see how time grows."""

from __future__ import annotations

import functools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def _add(made: list[onnx.NodeProto], op_type: str, *inputs: str, **attributes: object) -> str:
    """Adds a node; the name of its output, which is its own too."""
    name = f"v{len(made)}"
    made.append(helper.make_node(op_type, inputs, [name], name=name, **attributes))
    return name


def transformer(nodes: int, hidden: int = 8) -> onnx.ModelProto:
    """A dynamic transformer as exporters write it: each layer asks for its shape and reshapes by it.

    Args:
        nodes: How many nodes, roughly.
        hidden: The size of the hidden dim.
    """
    made: list[onnx.NodeProto] = []
    add = functools.partial(_add, made)
    weights = {
        "w": np.ones((hidden, hidden), np.float32),
        "i0": np.array(0, np.int64),
        "i1": np.array(1, np.int64),
        "axes": np.array([0], np.int64),
        "heads": np.array([2], np.int64),
        "width": np.array([hidden // 2], np.int64),
        "hidden": np.array([hidden], np.int64),
        "minus": np.array([-1], np.int64),
    }

    x = "x"
    while len(made) < nodes:
        shape = add("Shape", x)
        batch = add("Unsqueeze", add("Gather", shape, "i0", axis=0), "axes")
        length = add("Unsqueeze", add("Gather", shape, "i1", axis=0), "axes")
        split = add("Concat", batch, length, "heads", "width", axis=0)
        query = add("Transpose", add("Reshape", add("MatMul", x, "w"), split), perm=[0, 2, 1, 3])
        key = add("Transpose", add("Reshape", add("MatMul", x, "w"), split), perm=[0, 2, 3, 1])
        value = add("Transpose", add("Reshape", add("MatMul", x, "w"), split), perm=[0, 2, 1, 3])
        weight = add("Softmax", add("MatMul", query, key), axis=-1)
        context = add("Transpose", add("MatMul", weight, value), perm=[0, 2, 1, 3])
        merged = add("Reshape", context, add("Concat", batch, length, "hidden", axis=0))
        x = add("Relu", add("Add", x, add("MatMul", merged, "w")))
    graph = helper.make_graph(
        made,
        "transformer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "seq", hidden])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", "seq", hidden])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def shape_chain(nodes: int) -> onnx.ModelProto:
    """A chain of shape arithmetic on two dynamic dims, each result used by the next.

    Args:
        nodes: How many nodes, roughly.
    """
    made: list[onnx.NodeProto] = []
    add = functools.partial(_add, made)

    x = "x"
    while len(made) < nodes:
        shape = add("Shape", x)
        count = add("ReduceProd", shape, keepdims=1)
        first = add("Slice", shape, "zero", "one")
        rest = add("Div", count, first)
        target = add("Concat", first, rest, axis=0)
        x = add("Reshape", add("Neg", x), target)
    graph = helper.make_graph(
        made,
        "shape_chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m", 4])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["n", "k"])],
        [numpy_helper.from_array(np.array([k], np.int64), name) for name, k in (("zero", 0), ("one", 1))],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


MODELS = {"transformer": transformer, "shape_chain": shape_chain}
