"""Writes one side of a claim as a model of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
import onnx_ir as ir

from foldproof.certificates.recorder import Frozen
from foldproof.certificates.tensors import NotRestated
from foldproof.protos import bodies, reads_of

MAX_SIDE = 1 << 18
"""A side that is larger when it is serialized is not written into a certificate."""

_IR_VERSION = 8  # the first that has functions
_OPSET = 17  # where a side has no operator of ai.onnx, but an Identity is needed
_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


class Writer:
    """Writes one side as a model. Names are given in order, so that equal rewrites give equal claims.

    Args:
        names: The names of what both sides begin with.
        embedded: The constants among that which are written into the model.
    """

    def __init__(self, names: Mapping[ir.Value, str], embedded: Mapping[ir.Value, onnx.TensorProto]) -> None:
        self._names = dict(names)
        self._shared = frozenset(names)
        self._embedded = embedded
        self._count = 0

    def model(
        self,
        nodes: Sequence[Frozen],
        outputs: Sequence[ir.Value],
        inputs: Sequence[onnx.ValueInfoProto],
        ir_version: int,
    ) -> bytes:
        """The serialized model.

        Raises:
            NotRestated: It would be too large, or what it is made of can't be written.
        """
        graph = onnx.GraphProto(name="side", input=inputs)
        graph.node.extend(self._node(each) for each in nodes)
        used = {name for node in graph.node for name in reads_of(node)}
        for number, value in enumerate(outputs):
            name = self._name(value)
            used.add(name)
            graph.node.add(op_type="Identity", input=[name], output=[f"y{number}"])
            graph.output.add(name=f"y{number}")
        for value, tensor in self._embedded.items():
            if self._names[value] in used:
                graph.initializer.add().CopyFrom(tensor)
                graph.initializer[-1].name = self._names[value]
        functions = _functions(nodes)
        model = onnx.ModelProto(ir_version=max(ir_version, _IR_VERSION), graph=graph, functions=functions)
        called = [node for function in functions for node in function.node]
        domains = {node.domain for node in _all_nodes([*graph.node, *called])}
        for domain, version in sorted(_imports(nodes).items()):
            if domain in domains:
                model.opset_import.add(domain=domain, version=version)
        side: bytes = model.SerializeToString(deterministic=True)
        if len(side) > MAX_SIDE:
            raise NotRestated(f"a side of it has {len(side)} bytes")
        return side

    def _fresh(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _name(self, value: ir.Value) -> str:
        if value not in self._names:
            self._names[value] = self._fresh()
        return self._names[value]

    def _node(self, frozen: Frozen) -> onnx.NodeProto:
        inputs = ["" if value is None else self._name(value) for value in frozen.inputs]
        outputs = [self._name(value) if value.name else "" for value in frozen.outputs]
        node = onnx.NodeProto(
            domain=frozen.domain, op_type=frozen.op_type, overload=frozen.overload, input=inputs, output=outputs
        )
        node.attribute.extend(map(ir.serde.serialize_attribute, frozen.attributes))
        if frozen.holder is not None:
            outer = {name: self._name(value) for name, value in frozen.captured.items()}
            node.attribute.extend(each for each in frozen.holder.attribute if each.type in _GRAPHS)
            for _, body in bodies(node):
                self._rename(body, outer)
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
        return node

    def _rename(self, body: onnx.GraphProto, outer: Mapping[str, str]) -> None:
        """Gives all that a body defines a name of its own, and what it takes from outside the name it has there."""
        for field in ("doc_string", "name", "value_info", "metadata_props", "quantization_annotation"):
            body.ClearField(field)
        body.name = "body"
        if any(each.data_location == onnx.TensorProto.EXTERNAL for each in body.initializer):
            raise NotRestated("a body has external data")
        names, own = dict(outer), set()
        for each in (*body.input, *body.initializer):
            if each.name not in own:  # an initializer may be listed as an input too
                own.add(each.name)
                names[each.name] = self._inner()
            each.name = names[each.name]
        for node in body.node:
            for field in ("name", "doc_string", "metadata_props"):
                node.ClearField(field)
            node.input[:] = [names[name] if name else "" for name in node.input]
            for _, inner in bodies(node):
                self._rename(inner, names)
            for name in node.output:
                if name:
                    names[name] = self._inner()
            node.output[:] = [names[name] if name else "" for name in node.output]
        for output in body.output:
            output.name = names[output.name]

    def _inner(self) -> str:
        self._count += 1
        return f"b{self._count}"


def _all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Some nodes, and those in their bodies."""
    for node in nodes:
        yield node
        for _, body in bodies(node):
            yield from _all_nodes(body.node)


def _functions(nodes: Iterable[Frozen]) -> list[onnx.FunctionProto]:
    found: dict[tuple[str, str, str], onnx.FunctionProto] = {}
    for function in (each for node in nodes for each in node.functions):
        key = function.domain, function.name, function.overload
        if found.setdefault(key, function) != function:
            raise NotRestated(f"the function {function.name!r} was changed meanwhile")
    return list(found.values())


def _imports(nodes: Iterable[Frozen]) -> dict[str, int]:
    """The operator sets that the nodes stand in, those that they need."""
    known: dict[str, int] = {}
    for node in nodes:
        known.update(node.imports)
        for function in node.functions:
            known.setdefault(function.domain, 1)
    return {**known, "": known.get("", _OPSET)}
