"""The form that an operator demands of a node: how many inputs and outputs, and which attributes of which types."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

import onnx
import onnx_ir as ir

from foldproof.facts.schema_inference import schema_of


@dataclasses.dataclass(frozen=True)
class Form:
    """The form of an operator's nodes.

    Attributes:
        inputs: The least and the largest number of inputs.
        outputs: The same of outputs.
        demanded: The places and names of the inputs that may not be left out.
        attributes: The types of the attributes by name.
        required: The names of those that a node must have.
    """

    inputs: tuple[int, int]
    outputs: tuple[int, int]
    demanded: tuple[tuple[int, str], ...]
    attributes: Mapping[str, ir.AttributeType]
    required: tuple[str, ...]


@functools.lru_cache(maxsize=4096)
def form_of(domain: str, op_type: str, version: int) -> Form | None:
    """The form of an operator at a version of its domain; None for an unknown operator.

    A schema makes its tables anew at each question, so that they are kept here.
    """
    schema = schema_of(domain, op_type, version)
    if schema is None:
        return None
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    attributes = schema.attributes
    return Form(
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
        tuple((index, formal.name) for index, formal in enumerate(schema.inputs) if formal.option is single),
        {name: ir.AttributeType(int(each.type)) for name, each in attributes.items()},  # type: ignore[call-overload]
        tuple(name for name, attribute in attributes.items() if attribute.required),
    )


def malformation(node: ir.Node, version: int) -> str | None:
    """What is wrong with the form of a node at a version of its domain, as a sentence without its full stop.

    None where nothing is, or where no version of the domain has the operator.
    """
    form = form_of(node.domain, node.op_type, version)
    if form is None:
        exists = _exists(node.domain, node.op_type)
        return f"version {version} of its domain has no such operator" if exists else None
    inputs, attributes = node.inputs, node.attributes.data  # a plain dict: this is asked of each node, many times
    if not form.inputs[0] <= len(inputs) <= form.inputs[1]:
        return f"it has {len(inputs)} inputs, and its operator takes {_range(*form.inputs)}"
    if not form.outputs[0] <= len(node.outputs) <= form.outputs[1]:
        return f"it has {len(node.outputs)} outputs, and its operator gives {_range(*form.outputs)}"
    for index, name in form.demanded if None in inputs else ():
        if index < len(inputs) and inputs[index] is None:
            return f"its input {index} ({name}) is left out"
    for name, attribute in attributes.items():
        wanted = form.attributes.get(name)
        if wanted is None:
            return f"its operator has no attribute {name}"
        if attribute.type is not wanted:
            return f"its attribute {name} is of the type {attribute.type.name}, and must be {wanted.name}"
    for name in form.required:
        if name not in attributes:
            return f"its attribute {name} is missing"
    return None


@functools.lru_cache(maxsize=4096)
def _exists(domain: str, op_type: str) -> bool:
    """Whether any version of a domain has an operator."""
    return bool(onnx.defs.has(op_type, domain))


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
