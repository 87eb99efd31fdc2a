"""What belongs to a model as a whole: its signature, its operator sets, its metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx_ir as ir

from foldproof.diffing.difference import Change
from foldproof.diffing.texts import type_text
from foldproof.model_file import Source


def changes_between(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """The keys that have other values, or that only one has."""
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield Change(key, before.get(key), after.get(key))


def signature_changes(a: Source, b: Source) -> Iterator[Change]:
    """Inputs and outputs with other types or shapes, in another order, or that only one has."""
    for side in ("input", "output"):
        before, after = (_declared(source, side) for source in (a, b))
        common = [name for name in before if name in after]
        if common != [name for name in after if name in before]:
            yield Change(f"order of the {side}s", ", ".join(before), ", ".join(after))
        for change in changes_between(before, after):
            yield Change(f"{side} {change.what}", change.before, change.after)


def _declared(source: Source, side: str) -> dict[str, str]:
    """The types of the inputs or outputs. A weight that IR version 3 lists as an input is none."""
    graph = source.model.graph
    values = graph.inputs if side == "input" else graph.outputs
    protos = {} if source.proto is None else {each.name: each for each in getattr(source.proto.graph, side)}
    found = {}
    for value in values:
        if side == "input" and value.is_initializer() and source.model.ir_version < 4:
            continue
        text = type_text(value)
        if text is None and value.name in protos:  # a type that onnx_ir has not, such as a map
            text = " ".join(str(protos[value.name].type).split())
        default = ", with a default" if side == "input" and value.is_initializer() else ""
        found[str(value.name)] = f"{text or 'no type'}{default}"
    return found


def opsets_of(model: ir.Model) -> dict[str, str]:
    """The operator sets that a model imports."""
    return {domain or "ai.onnx": str(version) for domain, version in sorted(model.graph.opset_imports.items())}


def metadata_of(source: Source) -> dict[str, str]:
    """Names, versions, doc strings and metadata of a model, and what else its file holds that has no effect."""
    model = source.model
    found = {
        "IR version": str(model.ir_version),
        "producer": model.producer_name or "",
        "producer version": model.producer_version or "",
        "domain": model.domain or "",
        "model version": str(model.model_version or 0),
        "doc string": model.doc_string or "",
        "name of the graph": model.graph.name or "",
        "doc string of the graph": model.graph.doc_string or "",
        **{f"metadata {key}": value for key, value in sorted(model.metadata_props.items())},
        **{f"metadata of the graph {key}": value for key, value in sorted(model.graph.metadata_props.items())},
    }
    if source.proto is not None and source.proto.training_info:
        found["training info"] = f"{len(source.proto.training_info)} parts"
    return {key: value for key, value in found.items() if value}
