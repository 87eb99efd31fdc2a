"""What a model says about its parts: names, descriptions, types; kept from the original, if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnx
import onnx_ir as ir

from foldproof.graphs import ANNOTATION
from foldproof.model_file.matching import by_turns


def set_changed(target: Any, owner: Any, fields: Iterable[str]) -> None:
    """Sets the fields of a message that differ from those of `owner`; None is the same as empty or 0."""
    for field in fields:
        before, now = getattr(target, field), getattr(owner, field)
        if now is None:
            now = type(before)()
        if before != now:
            setattr(target, field, now)


def set_described(target: Any, owner: Any) -> None:
    """Sets `doc_string` and `metadata_props` where they changed; entries that stay keep their order."""
    set_changed(target, owner, ("doc_string",))
    entries, properties = target.metadata_props, owner.metadata_props
    if {entry.key: entry.value for entry in entries} != properties:
        kept = [entry.key for entry in entries if entry.key in properties]
        del entries[:]
        for key in dict.fromkeys([*kept, *properties]):
            entries.add(key=key, value=properties[key])


def rename_specs(target: onnx.NodeProto, original: onnx.NodeProto) -> None:
    """Lets the sharding specs of a node name its inputs and outputs as they are called now.

    A spec has to name one of them (onnx.proto, `ShardingSpecProto`): that of a value which it has no more goes.

    Args:
        target: The node, with the specs of `original`.
        original: What it was.
    """
    now = {*target.input, *target.output}
    gone = {*original.input, *original.output} - now
    if not gone:
        return
    renamed = dict(zip(original.output, target.output, strict=False))
    if len(target.input) == len(original.input):  # else their places tell nothing
        renamed.update(zip(original.input, target.input, strict=True))
    for configuration in target.device_configurations:
        specs = configuration.sharding_spec
        named = {spec.tensor_name for spec in specs}
        for spec in [spec for spec in specs if spec.tensor_name in gone]:
            name = renamed.get(spec.tensor_name)
            if name and name not in named:
                spec.tensor_name = name
                named.add(name)
            else:
                specs.remove(spec)


def declare(
    target: Any,
    values: Iterable[ir.Value],
    originals: Iterable[onnx.ValueInfoProto],
    redeclared: Iterable[str],
) -> None:
    """Declares inputs or outputs: as the original did, except new ones and the redeclared."""
    original_of = by_turns((proto for proto in originals if proto.name not in redeclared), lambda proto: proto.name)
    for value in values:
        original = original_of(value.name or "")
        if original is not None:
            target.append(original)
        else:
            ir.serde.serialize_value_into(target.add(), value)


def keep_living(target: Any, original: onnx.GraphProto | onnx.FunctionProto, corrected: Mapping[str, ir.Value]) -> None:
    """Keeps the type declarations and quantization annotations of all values that were not taken away.

    Args:
        target: The new graph or function, complete but for these.
        original: What it was.
        corrected: Values by name that are declared anew.
    """
    is_graph = isinstance(original, onnx.GraphProto)
    annotations: Sequence[onnx.TensorAnnotation] = original.quantization_annotation if is_graph else ()
    if not original.value_info and not annotations:
        return
    gone = _defined_names(original) - _defined_names(target)
    for declared in original.value_info:
        if declared.name in corrected:
            ir.serde.serialize_value_into(target.value_info.add(), corrected[declared.name])
        elif declared.name not in gone:
            target.value_info.append(declared)
    if annotations:
        target.quantization_annotation.extend(a for a in annotations if a.tensor_name not in gone)


def _defined_names(owner: onnx.GraphProto | onnx.FunctionProto) -> set[str]:
    names: set[str] = set()
    if isinstance(owner, onnx.GraphProto):
        names.update(value.name for value in owner.input)
        names.update(tensor.name for tensor in owner.initializer)
        names.update(tensor.values.name for tensor in owner.sparse_initializer)
    else:
        names.update(owner.input)
    for node in owner.node:
        names.update(node.output)
    return names


def add_value_info(target: Any, owner: ir.Graph | ir.Function) -> None:
    """Declares the intermediate values of a graph or function that has no original."""
    outputs = set(owner.outputs) if isinstance(owner, ir.Graph) else set()
    values = owner.inputs if isinstance(owner, ir.Function) else ()
    for value in (*values, *(value for node in owner for value in node.outputs)):
        says_something = value.type is not None or value.doc_string or value.metadata_props
        if says_something and value.name and value not in outputs:
            ir.serde.serialize_value_into(target.add(), value)


def add_annotations(target: onnx.GraphProto, graph: ir.Graph) -> None:
    """Adds the quantization annotations of the values of a graph that has no original."""
    produced = (value for node in graph for value in node.outputs)
    for value in dict.fromkeys([*graph.inputs, *graph.initializers.values(), *produced]):
        names = value.meta.get(ANNOTATION)
        if names:
            annotation = target.quantization_annotation.add(tensor_name=value.name)
            for key, name in names.items():
                annotation.quant_parameter_tensor_names.add(key=key, value=name)
