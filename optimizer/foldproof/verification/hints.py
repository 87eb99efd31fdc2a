"""What the graph does with its inputs, so that made-up values make sense to it.

This is where verification keeps its knowledge of operators: an integer that picks a row of a table must be
below the number of rows, one that is compared with 16000 should be 16000 once, a logarithm wants positive
numbers. It is a light look at the structure, not a proof: a hint only decides what is tried first.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Mapping, MutableMapping

import onnx
from onnx import numpy_helper

from foldproof.protos import attribute_of, bodies, canonical

from .signature import Input

# Operators whose first output holds the same values as their first input, in another shape or type, or some
# of them.
_SAME_VALUES = {
    "Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand", "Tile",
    "Slice", "Clip", "Pad", "Split", "ReduceMax", "ReduceMin", "Gather", "GatherND", "GatherElements",
    "Dropout", "CastLike", "Abs",
}  # fmt: skip
# Operators of which each output holds values of any input.
_MIX_VALUES = {"Concat", "Max", "Min", "Where", "SequenceConstruct", "ConcatFromSequence", "SequenceAt"}
# Where an operator takes indices and the table that they point into: (indices, table, axis of the table).
_LOOKUPS = {
    ("", "Gather"): (1, 0),
    ("", "GatherElements"): (1, 0),
    ("com.microsoft", "GatherBlockQuantized"): (1, 0),
}
_EMBED_LAYER_NORM = {0: 2, 1: 4, 8: 3}  # input_ids, segment_ids, position_ids: their tables


@dataclasses.dataclass(frozen=True)
class Hint:
    """What is known of one input.

    Attributes:
        low: The smallest integer.
        high: The integer after the largest; None where unknown.
        values: Integers that the graph compares the input with.
        whole: A float input that the graph makes into integers.
        positive: A float input of which it takes a logarithm or a root.
        dims: Dims that the graph's own weights prescribe, by their key.
    """

    low: int = 0
    high: int | None = None
    values: tuple[int, ...] = ()
    whole: bool = False
    positive: bool = False
    dims: Mapping[str, int] = dataclasses.field(default_factory=dict)


NO_HINT = Hint()
Hints = Mapping[str, Hint]


def find_hints(proto: onnx.ModelProto, inputs: tuple[Input, ...]) -> Hints:
    """Hints for the inputs of a model.

    Args:
        proto: The model. External data is not read.
        inputs: Its inputs.
    """
    finder = _Finder(proto, inputs)
    finder.walk(proto.graph.node, {each.name: {(each.name, 0)} for each in inputs}, finder.tables(proto.graph))
    return finder.hints


# What a value holds: inputs, each with what was added to it since.
_Flows = MutableMapping[str, set[tuple[str, int]]]
_Tables = MutableMapping[str, onnx.TensorProto]

_MOST = 64
"""What is mixed of more inputs and sums is not followed: each value on the way would hold them all."""


class _Finder:
    def __init__(self, proto: onnx.ModelProto, inputs: tuple[Input, ...]) -> None:
        self.inputs = {each.name: each for each in inputs}
        self.hints: dict[str, Hint] = {}
        self.functions = {(canonical(each.domain), each.name): each for each in proto.functions}
        self.depth = 0

    @staticmethod
    def tables(graph: onnx.GraphProto) -> _Tables:
        return {each.name: each for each in graph.initializer}

    def walk(self, nodes: object, flows: _Flows, tables: _Tables) -> None:
        """Follow the inputs through nodes that stand in order."""
        for node in nodes:  # type: ignore[attr-defined]
            self.node(node, flows, tables)

    def node(self, node: onnx.NodeProto, flows: _Flows, tables: _Tables) -> None:
        domain, op = canonical(node.domain), node.op_type
        if op == "Constant" and not domain:
            value = attribute_of(node, "value")
            if value is not None and node.output:
                tables[node.output[0]] = value.t
            return
        if not any(name in flows for name in node.input) and not any(True for _ in bodies(node)):
            self.through_table(node, tables)
            return
        self.learn(node, domain, flows, tables)
        if (domain, op) in self.functions:
            self.call(node, self.functions[domain, op], flows, tables)
        for _, body in bodies(node):
            self.enter(node, body, flows, tables)
        self.propagate(node, flows, tables)

    def through_table(self, node: onnx.NodeProto, tables: _Tables) -> None:
        """A table stays one of the same dims when it is cast, scaled or dequantized."""
        if node.op_type in ("Cast", "DequantizeLinear", "Identity", "Mul") and node.output and node.input:
            table = tables.get(node.input[0])
            if table is not None:
                tables[node.output[0]] = table

    def call(self, node: onnx.NodeProto, function: onnx.FunctionProto, flows: _Flows, tables: _Tables) -> None:
        if self.depth > 8:
            return
        pairs = list(zip(function.input, node.input, strict=False))
        self.depth += 1
        self.walk(
            function.node,
            {formal: flows[actual] for formal, actual in pairs if actual in flows},
            {formal: tables[actual] for formal, actual in pairs if actual in tables},
        )
        self.depth -= 1

    def enter(self, node: onnx.NodeProto, body: onnx.GraphProto, flows: _Flows, tables: _Tables) -> None:
        inner = collections.ChainMap({}, flows)
        for formal, actual in zip(body.input, node.input, strict=False):
            if actual in flows:
                inner[formal.name] = flows[actual]
        self.walk(body.node, inner, collections.ChainMap(self.tables(body), tables))

    def propagate(self, node: onnx.NodeProto, flows: _Flows, tables: _Tables) -> None:
        op = node.op_type
        if op in _SAME_VALUES:
            moved = flows.get(_input(node, 0), set())
        elif op in _MIX_VALUES:
            moved = {each for name in node.input for each in flows.get(name, ())}
        elif op in ("Add", "Sub"):
            moved = self.shifted(node, flows, tables)
        else:
            return
        if 0 < len(moved) <= _MOST:
            for name in node.output:
                flows[name] = moved

    def shifted(self, node: onnx.NodeProto, flows: _Flows, tables: _Tables) -> set[tuple[str, int]]:
        for name, other in itertools.permutations(node.input, 2):
            constant = self.integer(tables.get(other))
            if name in flows and constant is not None and (node.op_type == "Add" or name == node.input[0]):
                by = constant if node.op_type == "Add" else -constant
                return {(each, shift + by) for each, shift in flows[name]}
        return set()

    def learn(self, node: onnx.NodeProto, domain: str, flows: _Flows, tables: _Tables) -> None:
        """What this one node tells of the inputs that reach it."""
        op = node.op_type
        if (domain, op) in _LOOKUPS:
            indices, table = _LOOKUPS[domain, op]
            self.index(node, indices, table, flows, tables)
        elif op == "EmbedLayerNormalization":
            for indices, table in _EMBED_LAYER_NORM.items():
                self.index(node, indices, table, flows, tables)
        elif op == "OneHot" and not domain:
            self.below(flows.get(_input(node, 0), set()), self.integer(tables.get(_input(node, 1))))
        elif op == "Equal" and not domain:
            for name, other in itertools.permutations(node.input, 2):
                self.compared(flows.get(name, set()), self.integer(tables.get(other)))
        elif op in ("Log", "Sqrt") and not domain:
            for name, _ in flows.get(_input(node, 0), ()):
                self.update(name, positive=True)
        elif op in ("Conv", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "Scaler") and len(node.input) > 1:
            self.weights(node, flows, tables)

    def index(self, node: onnx.NodeProto, indices: int, table: int, flows: _Flows, tables: _Tables) -> None:
        if len(node.input) <= max(indices, table) or node.input[table] not in tables:
            return
        dims = tables[node.input[table]].dims
        attribute = attribute_of(node, "axis") or attribute_of(node, "gather_axis")
        axis = attribute.i if attribute is not None else 0
        if -len(dims) <= axis < len(dims):
            self.below(flows.get(node.input[indices], set()), dims[axis])

    def below(self, reached: set[tuple[str, int]], count: int | None) -> None:
        if count is None:
            return
        for name, shift in reached:
            known = self.hints.get(name, NO_HINT)
            high = max(1, count - shift)
            self.update(
                name,
                low=max(known.low, -shift),
                high=high if known.high is None else min(high, known.high),
                whole=True,
            )

    def compared(self, reached: set[tuple[str, int]], value: int | None) -> None:
        if value is None:
            return
        for name, shift in reached:
            each = self.inputs[name]
            # Only of a scalar is each element the whole story: masks are compared with 0 all the time.
            if each.dims == () or each.dims == (1,):
                known = self.hints.get(name, NO_HINT).values
                if value - shift not in known:
                    self.update(name, values=(*known, value - shift))

    def weights(self, node: onnx.NodeProto, flows: _Flows, tables: _Tables) -> None:
        """The dim of an input that a weight prescribes."""
        name = node.input[0]
        # Only where the input comes as it is: anything between could have changed its axes.
        if name not in self.inputs or self.inputs[name].dims is None or node.input[1] not in tables:
            return
        declared, weight = self.inputs[name].dims or (), tables[node.input[1]].dims
        group = attribute_of(node, "group")
        transposed = attribute_of(node, "transB")
        axis, count = len(declared) - 1, None
        if node.op_type == "Conv" and len(weight) > 1:
            axis, count = 1, weight[1] * (group.i if group is not None else 1)
        elif node.op_type in ("MatMul", "Gemm") and len(weight) == 2:
            count = weight[1] if transposed is not None and transposed.i else weight[0]
        elif node.op_type in ("LSTM", "GRU", "RNN") and len(weight) == 3:
            count = weight[2]
        if count is not None and 0 <= axis < len(declared) and isinstance(declared[axis], str):
            known = self.hints.get(name, NO_HINT).dims
            self.update(name, dims={**known, str(declared[axis]): count})

    def update(self, name: str, **changes: object) -> None:
        known = self.hints.get(name, NO_HINT)
        self.hints[name] = dataclasses.replace(known, **changes)  # type: ignore[arg-type]

    @staticmethod
    def integer(table: onnx.TensorProto | None) -> int | None:
        """The value of a constant of one whole element."""
        if table is None or len(table.dims) > 1 or any(dim != 1 for dim in table.dims):
            return None
        if table.data_location == onnx.TensorProto.EXTERNAL or table.data_type == onnx.TensorProto.STRING:
            return None
        value = float(numpy_helper.to_array(table).reshape(-1)[0])
        return int(value) if value.is_integer() else None


def _input(node: onnx.NodeProto, index: int) -> str:
    """The name of an input; `""` where the node lacks it: nothing here has looked at whether nodes are well-formed."""
    return node.input[index] if index < len(node.input) else ""
