"""Makes a model that fails smaller, as long as it fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import onnx

from tests.fuzzing.checking import check, optimized, options_of
from tests.fuzzing.generator import Case


def fails(case: Case) -> bool:
    """Whether a case is at fault."""
    try:
        check(case)
    except Exception:  # noqa: BLE001  whatever fails is a fault
        return True
    return False


def shrink(case: Case, is_faulty: Callable[[Case], bool] = fails) -> Case:
    """The smallest case that is found to fail still: with fewer outputs, cut short, and with fewer nodes."""
    assert is_faulty(case), "it does not fail"
    while True:
        for smaller in _smaller(case.model):
            candidate = dataclasses.replace(case, model=smaller)
            if is_faulty(candidate):
                case = candidate
                break
        else:
            return case


def needed_rules(case: Case) -> list[str]:
    """The rules without each of which the case does not fail."""
    fired = dict.fromkeys(entry.rule for entry in optimized(case.model, **options_of(case.seed))[1].ledger)

    def is_well_without(name: str) -> bool:
        try:
            check(case, skip_rules=[name])
        except Exception:  # noqa: BLE001
            return False
        return True

    return [name for name in fired if is_well_without(name)]


def _smaller(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Models with less in them, those with much less first. Not all are valid."""
    outputs = list(model.graph.output)
    for kept in outputs if len(outputs) > 1 else []:
        yield _with_outputs(model, [kept])
    for dropped in outputs if len(outputs) > 2 else []:
        yield _with_outputs(model, [each for each in outputs if each is not dropped])
    named = {output.name for output in outputs}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in named and node.op_type != "Constant":
                yield _with_outputs(model, [onnx.ValueInfoProto(name=name)])
    for index, node in enumerate(model.graph.node):
        for name in node.input:
            if name and node.op_type not in ("Constant", "Identity"):
                yield _bypassed(model, index, name)


def _with_outputs(model: onnx.ModelProto, outputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    smaller = onnx.ModelProto()
    smaller.CopyFrom(model)
    del smaller.graph.output[:]
    smaller.graph.output.extend(outputs)
    _drop_unread(smaller.graph)
    return smaller


def _bypassed(model: onnx.ModelProto, index: int, name: str) -> onnx.ModelProto:
    """The model with an Identity of one of its inputs in a node's place."""
    smaller = onnx.ModelProto()
    smaller.CopyFrom(model)
    node = smaller.graph.node[index]
    outputs = list(node.output)
    node.Clear()
    node.op_type = "Identity"
    node.input.append(name)
    node.output.append(outputs[0])
    _drop_unread(smaller.graph)
    return smaller


def _drop_unread(graph: onnx.GraphProto) -> None:
    """Takes out nodes, initializers and inputs that nothing reads."""
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(_reads(node))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in reversed(kept)]
    del graph.node[:]
    graph.node.extend(nodes)
    for field in ("input", "initializer"):
        found = [each for each in getattr(graph, field) if each.name in needed]
        del getattr(graph, field)[:]
        getattr(graph, field).extend(found)


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                yield from _reads(inner)
            for output in attribute.g.output:
                yield output.name
