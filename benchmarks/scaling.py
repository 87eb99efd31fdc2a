"""Models of any size, to see how time grows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# How deep bodies lie within bodies: protobuf reads no message deeper than 100, and each body takes three levels.
DEPTH = 25
# As long as the names of exporters get that write the whole path of a module into each.
NAME_LENGTH = 250


def _add(made: list[onnx.NodeProto], op_type: str, *inputs: str, **attributes: Any) -> str:
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
    weights: dict[str, np.ndarray] = {
        # Its square is negative, so that what each layer adds makes the values no larger.
        "w": np.kron(np.eye(hidden // 2), [[0, 0.1], [-0.1, 0]]).astype(np.float32),
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


def shape_tree(nodes: int) -> onnx.ModelProto:
    """A tree of shape arithmetic: sums of sums of dims, no two of them the same.

    Args:
        nodes: How many nodes, roughly.
    """
    made: list[onnx.NodeProto] = []
    add = functools.partial(_add, made)
    leaves = max(nodes // 3, 2)
    stored = {f"c{k}": np.array(k, np.int64) for k in range(leaves)}
    shape = add("Shape", "x")
    level = [add("Add", add("Gather", shape, f"c{k % 2}", axis=0), f"c{k}") for k in range(leaves)]
    while len(level) > 1:
        pairs = [add("Add", *level[k : k + 2]) for k in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) - len(level) % 2 :]
    return _model("shape_tree", made, ["n", "m"], level[0], [], stored, TensorProto.INT64)


def sibling_bodies(nodes: int) -> onnx.ModelProto:
    """If nodes in a row, each of which reads what the one before it made. A fifth of the nodes are If.

    Args:
        nodes: How many nodes, those in bodies included, roughly.
    """
    made: list[onnx.NodeProto] = []
    stored = {}
    x = "x"
    for k in range(max(nodes // 5, 1)):
        stored[f"c{k}"] = np.array(k / nodes, np.float32)
        greatest = _add(made, "ReduceMax", x, keepdims=0)
        taken = _body(f"then{k}", [helper.make_node("Relu", [x], [f"then{k}"])], ["n", 8])
        other = _body(f"else{k}", [helper.make_node("Neg", [x], [f"else{k}"])], ["n", 8])
        x = _add(made, "If", _add(made, "Greater", greatest, f"c{k}"), then_branch=taken, else_branch=other)
    return _model("sibling_bodies", made, ["n", 8], x, ["n", 8], stored)


def nested_bodies(nodes: int) -> onnx.ModelProto:
    """If nodes in If nodes, `DEPTH` deep, and as many such towers as it takes. A fifth of the nodes are If.

    Args:
        nodes: How many nodes, those in bodies included, roughly.
    """
    made: list[onnx.NodeProto] = []
    stored = {f"c{k}": np.array(k / DEPTH, np.float32) for k in range(DEPTH)}
    x = "x"
    for tower in range(max(nodes // (5 * DEPTH), 1)):
        inner: list[onnx.NodeProto] = []
        for depth in reversed(range(DEPTH)):
            own = f"t{tower}_{depth}"
            read = x if depth == 0 else f"t{tower}_{depth - 1}_in"
            result = f"{own}_in" if not inner else f"t{tower}_{depth + 1}"
            then = [helper.make_node("Relu", [read], [f"{own}_in"]), *inner]
            inner = [
                helper.make_node("ReduceMax", [read], [f"{own}_max"], keepdims=0),
                helper.make_node("Greater", [f"{own}_max", f"c{depth}"], [f"{own}_test"]),
                helper.make_node(
                    "If",
                    [f"{own}_test"],
                    [own],
                    then_branch=_body(result, then, ["n", 8]),
                    else_branch=_body(f"{own}_else", [helper.make_node("Neg", [read], [f"{own}_else"])], ["n", 8]),
                ),
            ]
        made += inner
        x = f"t{tower}_0"
    return _model("nested_bodies", made, ["n", 8], x, ["n", 8], stored)


def many_initializers(nodes: int) -> onnx.ModelProto:
    """A small weight for each second node.

    Args:
        nodes: How many nodes, roughly.
    """
    made: list[onnx.NodeProto] = []
    stored = {f"w{k}": np.full(8, k / nodes, np.float32) for k in range(max(nodes // 2, 1))}
    x = "x"
    for name in stored:
        x = _add(made, "Relu", _add(made, "Add", x, name))
    return _model("many_initializers", made, ["n", 8], x, ["n", 8], stored)


def many_consumers(nodes: int) -> onnx.ModelProto:
    """A value that every node reads.

    Args:
        nodes: How many nodes, roughly.
    """
    made: list[onnx.NodeProto] = []
    read = x = _add(made, "Relu", "x")
    while len(made) < nodes:
        x = _add(made, "Max", x, read) if len(made) % 2 else _add(made, "Sub", x, read)
    return _model("many_consumers", made, ["n", 8], x, ["n", 8], {})


def long_names(nodes: int) -> onnx.ModelProto:
    """The transformer, each name of which is `NAME_LENGTH` characters long and differs from others at its end only.

    Args:
        nodes: How many nodes, roughly.
    """
    model = transformer(nodes)
    kept = {value.name for value in [*model.graph.input, *model.graph.output]}

    def longer(name: str) -> str:
        return name if name in kept else name.rjust(NAME_LENGTH, "/")

    for node in model.graph.node:
        node.name = longer(node.name)
        node.input[:] = [longer(name) for name in node.input]
        node.output[:] = [longer(name) for name in node.output]
    for tensor in model.graph.initializer:
        tensor.name = longer(tensor.name)
    return model


def _body(result: str, nodes: Sequence[onnx.NodeProto], dims: Sequence[str | int]) -> onnx.GraphProto:
    """A branch of an If."""
    declared = helper.make_tensor_value_info(result, TensorProto.FLOAT, dims)
    return helper.make_graph(nodes, f"{result}_body", [], [declared])


def _model(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    read: Sequence[str | int],
    result: str,
    dims: Sequence[str | int],
    stored: Mapping[str, np.ndarray],
    dtype: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """A model with one float input `x` and one output."""
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, read)],
        [helper.make_tensor_value_info(result, dtype, dims)],
        [numpy_helper.from_array(array, key) for key, array in stored.items()],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


MODELS: dict[str, Callable[[int], onnx.ModelProto]] = {
    build.__name__: build
    for build in (
        transformer,
        shape_chain,
        shape_tree,
        sibling_bodies,
        nested_bodies,
        many_initializers,
        many_consumers,
        long_names,
    )
}
"""Each takes the number of nodes that the model is to have."""
