"""Shapes of inputs, as other tools are told them, in terms of the dims that they bind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from foldproof.errors import UsageError


def sizes_of_dims(model: onnx.ModelProto, shapes: Mapping[str | None, Sequence[int]]) -> dict[str, int]:
    """The size of each symbolic dim.

    Args:
        model: The model.
        shapes: A shape for each input that is named; None stands for the only one. A dim below 1 stays as it is.

    Returns:
        The sizes, by the name of the dim, or as `input:axis` for an unnamed one.

    Raises:
        UsageError: There is no such input, its rank or a dim of it is another one, or a dim gets two sizes.
    """
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in weights}
    sizes: dict[str, int] = {}
    for name, shape in shapes.items():
        if name is None and len(inputs) != 1:
            raise UsageError(f"the model has {len(inputs)} inputs", hint="Name the input that has this shape")
        value = next(iter(inputs.values())) if name is None else inputs.get(name)
        if value is None:
            raise UsageError(f"there is no input {name!r}", hint=f"There are: {', '.join(inputs)}")
        declared = value.type.tensor_type.shape.dim
        if not value.type.tensor_type.HasField("shape") or len(declared) != len(shape):
            raise UsageError(f"the input {value.name!r} has not {len(shape)} dims")
        for axis, (dim, size) in enumerate(zip(declared, shape, strict=True)):
            if size < 1:
                continue
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                if dim.dim_value != size:
                    raise UsageError(
                        f"axis {axis} of the input {value.name!r} is {dim.dim_value}, and can't be {size}",
                        hint="Only symbolic dims can be set; export the model anew for others",
                    )
                continue
            key = dim.dim_param or f"{value.name}:{axis}"
            if sizes.setdefault(key, size) != size:
                raise UsageError(f"the dim {key!r} can't be both {sizes[key]} and {size}")
    return sizes


def shape_in(text: str) -> tuple[str | None, list[int]]:
    """Reads `x:1,3,224,224`, or `1,3,224,224` for the only input.

    Raises:
        UsageError: It is no shape.
    """
    name, colon, numbers = text.rpartition(":")
    try:
        return name if colon else None, [int(number) for number in numbers.split(",")]
    except ValueError:
        raise UsageError(f"{text!r} is no shape", hint="Write it as x:1,3,224,224") from None
