"""The `Size` and `Shape` nodes of a model, and where they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import onnx

from foldproof.protos import FunctionKey, bodies, canonical, label, opsets_of

Step = tuple[int, str]  # the index of a node in its scope, and which of its bodies


@dataclasses.dataclass(frozen=True)
class Probe:
    """A `Size` or `Shape` node of a model, and where it is.

    Attributes:
        op_type: `Size` or `Shape`.
        output: The name of its output.
        place: Where it is, for a person, such as `If_3/then_branch`; `""` in the main graph.
        function: The model-local function that holds it, if any.
        path: The way to its scope from the main graph's or function's nodes.
        index: Its place among the nodes of that scope.
        version: The opset version that holds there.
        start: The attribute of `Shape`.
        end: Likewise.
    """

    op_type: str
    output: str
    place: str
    function: FunctionKey | None
    path: tuple[Step, ...]
    index: int
    version: int
    start: int = 0
    end: int | None = None


def find_probes(proto: onnx.ModelProto) -> list[Probe]:
    """All `Size` and `Shape` nodes of ai.onnx in a model: in the main graph, in bodies and in functions."""
    main = opsets_of(list(proto.opset_import))
    found = list(_find(proto.graph.node, main.get("", 1), None, (), ""))
    for function in proto.functions:
        key = canonical(function.domain), function.name
        version = opsets_of(list(function.opset_import)).get("", main.get("", 1))
        found += _find(function.node, version, key, (), f"function {function.domain}::{function.name}")
    return found


def _find(
    nodes: Sequence[onnx.NodeProto],
    version: int,
    function: FunctionKey | None,
    path: tuple[Step, ...],
    place: str,
) -> Iterator[Probe]:
    for index, node in enumerate(nodes):
        if node.op_type in ("Size", "Shape") and not canonical(node.domain) and node.output and len(node.input) == 1:
            ends = {each.name: each.i for each in node.attribute if each.name in ("start", "end")}
            if ends and (node.op_type != "Shape" or version < 15):
                continue  # this version has no such attributes: no runtime takes the node
            yield Probe(
                node.op_type,
                node.output[0],
                place,
                function,
                path,
                index,
                version,
                ends.get("start", 0),
                ends.get("end"),
            )
        for name, body in bodies(node):
            inner = f"{place}/{label(node)}/{name}" if place else f"{label(node)}/{name}"
            yield from _find(body.node, version, function, (*path, (index, name)), inner)
