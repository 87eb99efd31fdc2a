"""What a model takes: its inputs with their types, and the names of their dims."""

from __future__ import annotations

import dataclasses
from typing import Literal

import onnx

Kind = Literal["tensor", "sequence", "optional", "map", "other"]


@dataclasses.dataclass(frozen=True)
class Input:
    """A graph input that a feed gives.

    Attributes:
        name: Its name.
        kind: Of what kind it is. `other`: nothing here makes one up (opaque, sparse tensors).
        element_type: The `TensorProto.DataType` of the tensor (for a map, of its values; 0 where unknown).
        dims: Each an integer, or the key that a binding uses: the symbol's name, or `name:axis` for an
            unnamed one. None: unknown rank.
        inner: What a sequence or optional holds.
        key_type: A map's key type.
        default: The initializer of the same name, whose value a caller may override (IR version 4 and later).
    """

    name: str
    kind: Kind
    element_type: int = 0
    dims: tuple[int | str, ...] | None = None
    inner: Input | None = None
    key_type: int = 0
    default: onnx.TensorProto | None = None

    @property
    def is_unranked(self) -> bool:
        """Whether it is a tensor of any rank."""
        return self.kind == "tensor" and self.dims is None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the dims that a binding has to give, each once."""
        own = tuple(dict.fromkeys(dim for dim in self.dims or () if isinstance(dim, str)))
        return own or (self.inner.keys if self.inner is not None else ())


def inputs_of(proto: onnx.ModelProto) -> tuple[Input, ...]:
    """The inputs of a model, without mere weights (IR version 3 lists every initializer as an input)."""
    initializers = {each.name: each for each in proto.graph.initializer}
    sparse = {each.values.name for each in proto.graph.sparse_initializer}
    found = []
    for value in proto.graph.input:
        default = initializers.get(value.name)
        if value.name in sparse or (default is not None and proto.ir_version < 4):
            continue
        found.append(dataclasses.replace(_input(value.name, value.type), default=default))
    return tuple(found)


def output_names(proto: onnx.ModelProto) -> tuple[str, ...]:
    """The names of the outputs, in order."""
    return tuple(each.name for each in proto.graph.output)


def keys_of(inputs: tuple[Input, ...]) -> tuple[str, ...]:
    """All dims that a binding has to give, in order of appearance."""
    return tuple(dict.fromkeys(key for each in inputs for key in each.keys))


def _input(name: str, declared: onnx.TypeProto) -> Input:
    which = declared.WhichOneof("value")
    if which == "tensor_type":
        return Input(name, "tensor", declared.tensor_type.elem_type, _dims(name, declared.tensor_type))
    if which == "sequence_type":
        return Input(name, "sequence", inner=_input(name, declared.sequence_type.elem_type))
    if which == "optional_type":
        return Input(name, "optional", inner=_input(name, declared.optional_type.elem_type))
    if which == "map_type":
        return Input(
            name,
            "map",
            element_type=declared.map_type.value_type.tensor_type.elem_type,
            key_type=declared.map_type.key_type,
        )
    return Input(name, "other")


def _dims(name: str, tensor: onnx.TypeProto.Tensor) -> tuple[int | str, ...] | None:
    if not tensor.HasField("shape"):
        return None
    dims: list[int | str] = []
    for axis, dim in enumerate(tensor.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(dim.dim_value)
        else:
            dims.append(dim.dim_param or f"{name}:{axis}")
    return tuple(dims)
