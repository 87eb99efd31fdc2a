"""What an operator's own schema says of its outputs: the fallback where no transfer function is written.

onnx runs the schema's inference on one node. Symbolic dims go in and come back as names. Where it is known to be
unsound, the operator has a transfer function of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import onnx
import onnx_ir as ir
from onnx import shape_inference

from foldproof.facts.dim import Dim, DimLike
from foldproof.facts.fact import Fact, Kind
from foldproof.facts.registry import NodeView
from foldproof.graphs import admitted_types, bodies_of

MAX_DATA = 4096
"""Constant inputs of more elements are not shown to the schema's inference: it reads shape data only."""


@functools.lru_cache(maxsize=4096)
def schema_of(domain: str, op_type: str, version: int) -> onnx.defs.OpSchema | None:
    """The schema of an operator that is in force at a version of its domain; None for an unknown operator."""
    try:
        return onnx.defs.get_schema(op_type, max_inclusive_version=version, domain=domain)
    except onnx.defs.SchemaError:
        return None


def output_dtype(view: NodeView, index: int) -> ir.DataType | None:
    """The element type of an output, as far as the type constraints of the schema tie it to the inputs'."""
    rules = _dtype_rules(view.node.domain, view.op_type, view.version)
    rule = rules[min(index, len(rules) - 1)] if rules else None
    # A DataType is an int too: it must be told from the position of an input.
    return rule if rule is None or isinstance(rule, ir.DataType) else view.input(rule).dtype


@functools.lru_cache(maxsize=4096)
def _dtype_rules(domain: str, op_type: str, version: int) -> tuple[ir.DataType | int | None, ...]:
    """For each formal output, its type, or the input that it shares its type with, or None."""
    schema = schema_of(domain, op_type, version)
    if schema is None:
        return ()
    first: dict[str, int] = {}
    for index, formal in enumerate(schema.inputs):
        first.setdefault(formal.type_str, index)
    rules: list[ir.DataType | int | None] = []
    for formal in schema.outputs:
        # A variadic parameter of mixed types ties nothing.
        mixed = formal.option is onnx.defs.OpSchema.FormalParameterOption.Variadic and not formal.is_homogeneous
        if mixed:
            rules.append(None)
        elif formal.type_str in first:
            source = schema.inputs[first[formal.type_str]]
            free = source.option is onnx.defs.OpSchema.FormalParameterOption.Variadic and not source.is_homogeneous
            rules.append(None if free else first[formal.type_str])
        else:
            types = list(admitted_types(schema, formal))
            rules.append(_dtype_named(types[0]) if len(types) == 1 else None)
    return tuple(rules)


def _dtype_named(text: str) -> ir.DataType | None:
    """The element type that a schema writes as `tensor(int64)`; None for other types."""
    if not text.startswith("tensor("):
        return None
    name = text[len("tensor(") : -1].upper()
    return ir.DataType.__members__.get(name)


def infer(view: NodeView) -> Sequence[Fact | None] | None:
    """The facts of a node's outputs by its schema.

    Returns:
        One fact for each output, or None where the operator is unknown.
    """
    schema = schema_of(view.node.domain, view.op_type, view.version)
    if schema is None:
        return None
    try:
        return _infer(view, schema)
    except _CONTRADICTIONS:
        return []  # the inputs contradict the operator: the runtime will say so


def contradicts(view: NodeView) -> bool:
    """Whether the schema's inference finds that a node's inputs contradict its operator, so that it can never run."""
    schema = schema_of(view.node.domain, view.op_type, view.version)
    try:
        if schema is not None and view.op_type not in _ENDLESS:
            _infer(view, schema)
    except _CONTRADICTIONS:
        return True
    return False


_CONTRADICTIONS = (shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError)
_ENDLESS = frozenset({"Einsum"})
"""Operators whose inference never comes back from some attributes that are not valid."""
_DIVISORS = ("strides", "q_num_heads", "kv_num_heads")
"""Attributes by which the inference of some operators divides: before onnx 1.23, a 0 ends the process."""


def _infer(view: NodeView, schema: onnx.defs.OpSchema) -> Sequence[Fact | None]:
    if any(True for _ in bodies_of(view.node)) or not schema.has_type_and_shape_inference_function:
        return []
    stated = view.attribute("num_outputs")
    if stated is not None and stated != view.output_count:  # Split's inference ends the process
        return []
    if any(_has_zero(view.attribute(name)) for name in _DIVISORS):
        return []
    names = _Names()
    proto = _bare_node(view)
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for name, fact in zip(proto.input, view.inputs, strict=True):
        if not name:
            continue
        type_proto = names.type_of(fact)
        if type_proto is None:
            return []
        types[name] = type_proto
        tensor = _data_of(fact, name)
        if tensor is not None:
            data[name] = tensor
    inferred = shape_inference.infer_node_outputs(
        schema, proto, types, data, opset_imports=[onnx.helper.make_opsetid(view.node.domain, view.version)]
    )
    return [
        names.fact_of(inferred[name], view, index) if name in inferred else None
        for index, name in enumerate(proto.output)
    ]


def _has_zero(value: object) -> bool:
    return 0 in value if isinstance(value, Sequence) else value == 0


def _bare_node(view: NodeView) -> onnx.NodeProto:
    """The node with names of our own: what is inferred may not depend on how values are called.

    A reference to an attribute of the enclosing function is followed: taken as it is, it would count as 0.
    """
    node = view.node
    proto = onnx.NodeProto(op_type=node.op_type, domain=node.domain)
    proto.input.extend("" if value is None else f"i{index}" for index, value in enumerate(node.inputs))
    proto.output.extend(f"o{index}" for index in range(len(node.outputs)))
    for name in node.attributes:
        attribute = view.facts.attribute(node, name)
        if attribute is not None:
            proto.attribute.append(ir.to_proto(attribute))
            proto.attribute[-1].name = name
    return proto


def _data_of(fact: Fact, name: str) -> onnx.TensorProto | None:
    """The values of a small constant, for inference that reads them."""
    if fact.constant is not None:
        if fact.constant.size > MAX_DATA:
            return None
        try:
            return onnx.TensorProto(
                name=name,
                data_type=fact.constant.dtype.value,
                dims=fact.constant.shape.numpy(),
                raw_data=fact.constant.tobytes(),
            )
        except (OSError, TypeError, ValueError):  # a missing file, or strings
            return None
    if fact.ints is None or fact.dtype is None or not fact.is_static or fact.shape is None:
        return None
    if fact.dtype not in (ir.DataType.INT64, ir.DataType.INT32, ir.DataType.BOOL):
        return None
    return onnx.helper.make_tensor(
        name, fact.dtype.value, [int(dim) for dim in fact.shape if isinstance(dim, int)], fact.ints
    )


class _Names:
    """Gives each symbolic dim a name for the time of one call, and takes it back."""

    def __init__(self) -> None:
        self._dims: list[Dim] = []

    def type_of(self, fact: Fact) -> onnx.TypeProto | None:
        if fact.kind is not Kind.TENSOR:
            inner = None if fact.item is None else self.type_of(fact.item)
            if inner is None:
                return None
            proto = onnx.TypeProto()
            (proto.sequence_type if fact.kind is Kind.SEQUENCE else proto.optional_type).elem_type.CopyFrom(inner)
            return proto
        if fact.dtype is None:
            return None
        proto = onnx.TypeProto()
        proto.tensor_type.elem_type = fact.dtype.value
        if fact.shape is not None:
            proto.tensor_type.shape.SetInParent()  # a scalar's shape has no dims, and is there
            dims = proto.tensor_type.shape.dim
            for dim in fact.shape:
                if isinstance(dim, int):
                    if dim < 0:  # by the inference of Slice it ends the process
                        raise ValueError(f"a dim is {dim}")
                    dims.add(dim_value=dim)
                else:
                    dims.add(dim_param=self._name(dim))
        return proto

    def _name(self, dim: Dim) -> str:
        if dim not in self._dims:
            self._dims.append(dim)
        return f"#{self._dims.index(dim)}"

    def fact_of(self, proto: onnx.TypeProto, view: NodeView, output: int) -> Fact:
        if proto.HasField("sequence_type"):
            return Fact(kind=Kind.SEQUENCE, item=self._loose(proto.sequence_type.elem_type))
        if proto.HasField("optional_type"):
            return Fact(kind=Kind.OPTIONAL, item=self._loose(proto.optional_type.elem_type))
        if not proto.HasField("tensor_type"):
            return Fact()
        return Fact(dtype=_dtype(proto), shape=self._shape(proto, lambda axis: view.fresh(axis, output)))

    def _loose(self, proto: onnx.TypeProto) -> Fact:
        """The fact of a sequence's items: a dim that is not known may differ from item to item, so it has no symbol."""
        if not proto.HasField("tensor_type"):
            return Fact()
        return Fact(dtype=_dtype(proto), shape=self._shape(proto, lambda axis: None))

    def _shape(self, proto: onnx.TypeProto, unknown: Callable[[int], Dim | None]) -> tuple[DimLike, ...] | None:
        if not proto.tensor_type.HasField("shape"):
            return None
        shape: list[DimLike] = []
        for axis, dim in enumerate(proto.tensor_type.shape.dim):
            which = dim.WhichOneof("value")
            known: DimLike | None = None
            if which == "dim_value" and dim.dim_value >= 0:
                known = dim.dim_value
            elif which == "dim_param" and dim.dim_param.startswith("#"):
                known = self._dims[int(dim.dim_param[1:])]
            if known is None:
                known = unknown(axis)
            if known is None:
                return None
            shape.append(known)
        return tuple(shape)


def _dtype(proto: onnx.TypeProto) -> ir.DataType | None:
    number = proto.tensor_type.elem_type
    return ir.DataType(number) if number else None
