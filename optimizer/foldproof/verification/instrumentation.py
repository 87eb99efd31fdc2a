"""Making a model hand out what goes into its `Size` and `Shape` nodes, and what comes out of them.

In the main graph that is easy: the tensor and the result become graph outputs. A node in a body is threaded
outwards: through an `If` as one more output of both branches (the other branch hands out a marker), through
a `Loop` or `Scan` as one more scan output, through a call of a model-local function as one more output of
function and call. From there only integers come out: the result, and the dims of the input padded to
`LANES` so that they can be stacked whatever the rank.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, MutableSequence, Sequence
from typing import Any, Literal

import numpy as np
import onnx
from onnx import helper, numpy_helper

from foldproof.protos import FunctionKey, bodies, canonical, reads_of

from .probes import Probe, Step

# Padded dims: as many as any runtime's rank, and what stands for "no dim" and for "this branch was not
# taken".
LANES = 16
PAD = -2
NOT_EXECUTED = -1


@dataclasses.dataclass(frozen=True)
class Export:
    """A value that an instrumented model hands out.

    Attributes:
        name: The graph output.
        probe: What it belongs to.
        part: `data`: the tensor that the node reads; `dims`: its padded dims; `result`: the node's result;
            `lanes`: that result padded.
        loops: How many axes of iterations come first.
    """

    name: str
    probe: Probe
    part: Literal["data", "dims", "result", "lanes"]
    loops: int = 0


def instrument(
    proto: onnx.ModelProto, probes: Sequence[Probe], tensors: bool = True, values: Iterable[str] = ()
) -> tuple[onnx.ModelProto, list[Export]]:
    """A model that computes only what the probes need, and hands it out instead of the outputs of `proto`.

    Args:
        proto: The model; it is not changed. Of its weights only those are copied that the probes need.
        probes: Some of `find_probes(proto)`.
        tensors: In the main graph, hand out the tensors themselves; else their dims, as a runtime's `Shape`
            gives them.
        values: Values of the main graph to hand out as well.

    Returns:
        The model, and its outputs. A probe that can't be reached (in the body of an unknown operator, in a
        function that nothing calls) has none.
    """
    copy = onnx.ModelProto()
    for field, value in proto.ListFields():
        if field.name not in ("graph", "training_info"):
            _set(copy, field.name, value)
    for field, value in proto.graph.ListFields():
        if field.name not in ("initializer", "sparse_initializer", "output"):
            _set(copy.graph, field.name, value)
    exports = _Threader(copy, probes, tensors).run()
    names = list(dict.fromkeys([*(each.name for each in exports), *values]))
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    _prune(copy, proto, names)
    return copy, exports


def _set(message: Any, field: str, value: Any) -> None:
    if hasattr(value, "extend"):
        getattr(message, field).extend(value)
    elif hasattr(value, "ListFields"):
        getattr(message, field).CopyFrom(value)
    else:
        setattr(message, field, value)


def _prune(copy: onnx.ModelProto, proto: onnx.ModelProto, names: Iterable[str]) -> None:
    """Keep only what `names` need, and take over the initializers that this is."""
    producers = {name: index for index, node in enumerate(copy.graph.node) for name in node.output if name}
    needed = set(names)
    waiting = list(needed)
    kept: set[int] = set()
    while waiting:
        index = producers.get(waiting.pop())
        if index is not None and index not in kept:
            kept.add(index)
            new = reads_of(copy.graph.node[index]) - needed
            needed |= new
            waiting += new
    nodes = [node for index, node in enumerate(copy.graph.node) if index in kept]
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    produced = {name for node in nodes for name in node.output}
    claims = [each for each in copy.graph.value_info if each.name in produced]
    del copy.graph.value_info[:]
    copy.graph.value_info.extend(claims)
    # A feed may name an initializer that is an input too: those stay.
    overridable = {each.name for each in proto.graph.input} if proto.ir_version >= 4 else set()
    weights = {each.name for each in proto.graph.initializer}
    copy.graph.initializer.extend(each for each in proto.graph.initializer if each.name in needed | overridable)
    copy.graph.sparse_initializer.extend(each for each in proto.graph.sparse_initializer if each.values.name in needed)
    inputs = [each for each in copy.graph.input if each.name not in weights or each.name in needed | overridable]
    del copy.graph.input[:]
    copy.graph.input.extend(inputs)


class _Threader:
    """Adds outputs, scope by scope, from the inside out."""

    def __init__(self, model: onnx.ModelProto, probes: Sequence[Probe], tensors: bool) -> None:
        self.model = model
        self.tensors = tensors
        self.wanted: dict[tuple[FunctionKey | None, tuple[Step, ...], int], Probe] = {
            (each.function, each.path, each.index): each for each in probes
        }
        self.functions = {(canonical(each.domain), each.name): each for each in model.functions}
        self.done: dict[FunctionKey, tuple[list[Export], int]] = {}
        self.count = 0
        content = model.SerializeToString()
        self.prefix = next(name for name in (f"probed{n}_" for n in itertools.count()) if name.encode() not in content)

    def run(self) -> list[Export]:
        return self.scope(self.model.graph.node, None, (), self.tensors)

    def fresh(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def scope(
        self,
        nodes: MutableSequence[onnx.NodeProto],
        function: FunctionKey | None,
        path: tuple[Step, ...],
        top: bool,
    ) -> list[Export]:
        """Instrument a list of nodes.

        Args:
            nodes: The nodes; some are added.
            function: The function that holds them.
            path: The way to them.
            top: Whether they may hand out any tensor.

        Returns:
            What they can hand out now.
        """
        exports: list[Export] = []
        added: list[onnx.NodeProto] = []
        for index, node in enumerate(nodes):
            probe = self.wanted.get((function, path, index))
            if probe is not None:
                exports += self.probe(node, probe, added, top)
            key = canonical(node.domain), node.op_type
            if key in self.functions:
                exports += self.called(node, key)
                continue
            inner = {
                name: (body, self.scope(body.node, function, (*path, (index, name)), False))
                for name, body in bodies(node)
            }
            if any(found for _, found in inner.values()):
                exports += self.thread(node, inner)
        nodes.extend(added)
        return exports

    def probe(self, node: onnx.NodeProto, probe: Probe, added: list[onnx.NodeProto], top: bool) -> list[Export]:
        data, result = node.input[0], node.output[0]
        if top:
            return [Export(data, probe, "data"), Export(result, probe, "result")]
        dims = self.fresh()
        added.append(helper.make_node("Shape", [data], [dims]))
        exports = [Export(self.padded(dims, added), probe, "dims")]
        if probe.op_type == "Size":
            return [*exports, Export(self.identity(result, added), probe, "result")]
        return [*exports, Export(self.padded(result, added), probe, "lanes")]

    def identity(self, name: str, added: list[onnx.NodeProto]) -> str:
        """The same value by a name of its own: `name` may be an output of its scope already."""
        copied = self.fresh()
        added.append(helper.make_node("Identity", [name], [copied]))
        return copied

    def padded(self, dims: str, added: list[onnx.NodeProto]) -> str:
        """`dims`, made `LANES` long. `Gather` is the one operator for it that all opsets spell alike."""
        pad, lanes, joined, cut = (self.fresh() for _ in range(4))
        added += [
            _constant(pad, np.full(LANES, PAD)),
            _constant(lanes, np.arange(LANES)),
            helper.make_node("Concat", [dims, pad], [joined], axis=0),
            helper.make_node("Gather", [joined, lanes], [cut], axis=0),
        ]
        return cut

    def called(self, node: onnx.NodeProto, key: FunctionKey) -> list[Export]:
        """What a call of a function hands out."""
        if key not in self.done:
            function = self.functions[key]
            declared = len(function.output)
            self.done[key] = ([], declared)  # Against recursion, which is not allowed anyway.
            exports = self.scope(function.node, key, (), False)
            function.output.extend(each.name for each in exports)
            self.done[key] = (exports, declared)
        return self.outputs(node, *self.done[key])

    def thread(self, node: onnx.NodeProto, inner: dict[str, tuple[onnx.GraphProto, list[Export]]]) -> list[Export]:
        """What a node with bodies hands out of them."""
        if canonical(node.domain) or node.op_type not in ("If", "Loop", "Scan"):
            return []
        exports = [each for _, found in inner.values() for each in found]
        some = next(iter(inner.values()))[0]
        declared = len(some.output) - (1 if node.op_type == "Loop" else 0)
        for body, own in inner.values():
            for each in exports:
                name = each.name
                if each not in own:
                    name = self.fresh()
                    body.node.append(_constant(name, _marker(each)))
                body.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.INT64, None))
        if node.op_type != "If":
            exports = [dataclasses.replace(each, loops=each.loops + 1) for each in exports]
        for attribute in node.attribute:
            if attribute.name in ("scan_output_axes", "scan_output_directions"):
                attribute.ints.extend([0] * len(exports))
        return self.outputs(node, exports, declared)

    def outputs(self, node: onnx.NodeProto, exports: Sequence[Export], declared: int) -> list[Export]:
        """Give a node one more output for each export."""
        while len(node.output) < declared:
            node.output.append(self.fresh())  # Trailing outputs may have been left out.
        handed = [dataclasses.replace(each, name=self.fresh()) for each in exports]
        node.output.extend(each.name for each in handed)
        return handed


def _constant(name: str, value: np.ndarray) -> onnx.NodeProto:
    tensor = numpy_helper.from_array(np.asarray(value, np.int64), name)
    return helper.make_node("Constant", [], [name], value=tensor)


def _marker(export: Export) -> np.ndarray:
    """What the other branch of an `If` hands out: no iterations where there are some, else `NOT_EXECUTED`."""
    own = (LANES,) if export.part in ("dims", "lanes") else ()
    return np.full((0,) * export.loops + own, NOT_EXECUTED)
