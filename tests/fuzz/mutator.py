"""Random changes to models: to their parts, whatever they are, to what the parts mean together, and to their bytes.

The changes depend on the random numbers alone. Most leave a model that gets as far as the rules do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import onnx
from google.protobuf.message import Message

INTEGERS = (
    *range(-3, 33), 63, 64, 127, 128, 255, 256, 1000, 65535, 65536, 10**6, 2**31 - 1, 2**31, -(2**31), 2**32,
    2**53 + 1, 2**60, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 2**64 - 1,
)  # fmt: skip
"""Numbers at which something changes."""

REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 3.4e38, float("inf"), float("-inf"), float("nan"), 1e308, 2.0**53)

TEXTS = (
    "", " ", "x", "N", "-1", "a/b", "../../etc/passwd", "/etc/passwd", "a\nb", "a\0b", "\x1b[31mred", "\u202eevil",
    "[bold]x[/bold]", "[/]", "{x}", "%s", "ai.onnx", "ai.onnx.ml", "com.microsoft", "A" * 1000, "i&j->i", "ij,jk->ik",
    "...ii->i", "\N{GREEK SMALL LETTER BETA}", "<script>alert(1)</script>", "NOTSET", "SAME_UPPER", "VALID", "linear",
)  # fmt: skip
"""Texts that somebody might take for something else."""

_VALUE_NAMES = frozenset(
    {
        "onnx.NodeProto.input",
        "onnx.NodeProto.output",
        "onnx.ValueInfoProto.name",
        "onnx.TensorProto.name",
        "onnx.FunctionProto.input",
        "onnx.FunctionProto.output",
        "onnx.TensorAnnotation.tensor_name",
    }
)
"""The fields that hold names of values: what refers to another should still find one."""


class Mutator:
    """Changes models.

    Args:
        donors: Models that parts and words are taken from.
    """

    def __init__(self, donors: Sequence[onnx.ModelProto]) -> None:
        parts: dict[str, list[Message]] = {}
        words: dict[str, dict[Any, None]] = {}
        for message in (each for donor in donors for each in _messages(donor)):
            parts.setdefault(message.DESCRIPTOR.full_name, []).append(message)
            for field, value in message.ListFields():
                if field.message_type is None:
                    values = value if _is_repeated(value) else [value]
                    words.setdefault(field.full_name, {}).update(dict.fromkeys(values[:16]))
        self._parts = parts
        self._words = {field: list(values) for field, values in words.items()}

    def mutated(self, model: onnx.ModelProto, rng: random.Random) -> bytes:
        """The bytes of a model with some changes; the model itself stays as it is."""
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        for _ in range(1 + min(int(rng.expovariate(0.5)), 12)):
            self.change(changed, rng)
        data = changed.SerializeToString()
        return mutated_bytes(data, rng) if rng.random() < 0.1 else data

    def change(self, model: onnx.ModelProto, rng: random.Random) -> None:
        """Makes one change."""
        change: Callable[[onnx.ModelProto, random.Random], None] = rng.choices(
            [self._part, self._rewire, self._graft_node, _freeze, _rename, _resize, _externalize, _call],
            weights=[40, 15, 15, 12, 4, 6, 3, 5],
        )[0]
        change(model, rng)

    # Any part, whatever it means -------------------------------------------------------------------------------------

    def _part(self, model: onnx.ModelProto, rng: random.Random) -> None:
        """Changes a field of some message. Each kind of message is as likely as any other, however many there are."""
        by_kind: dict[str, list[Message]] = {}
        for each in _messages(model):
            by_kind.setdefault(each.DESCRIPTOR.full_name, []).append(each)
        message = rng.choice(by_kind[rng.choice(list(by_kind))])
        there = [field for field, _ in message.ListFields()]
        field = rng.choice(there if there and rng.random() < 0.8 else list(message.DESCRIPTOR.fields))
        value = getattr(message, field.name)
        if _is_repeated(value):
            self._change_list(value, field, model, rng)
        elif field.message_type is not None:
            if rng.random() < 0.5 or not self._parts.get(field.message_type.full_name):
                message.ClearField(field.name)
            else:
                value.CopyFrom(rng.choice(self._parts[field.message_type.full_name]))
        else:
            _set(message, field.name, self._scalar(field, value, model, rng))

    def _change_list(self, values: Any, field: Any, model: onnx.ModelProto, rng: random.Random) -> None:
        place = rng.randrange(len(values)) if len(values) else 0
        kind = rng.randrange(5) if len(values) else 4
        if kind == 0:
            del values[place]
        elif kind == 1:
            values.append(values[place])
        elif kind == 2:
            content = [_copy(each) for each in values]
            other = rng.randrange(len(content))
            content[place], content[other] = content[other], content[place]
            _refill(values, content)
        elif field.message_type is not None:
            donors = self._parts.get(field.message_type.full_name)
            if donors:
                values.append(rng.choice(donors))
        else:
            content = list(values)
            content[place : place + (kind == 3)] = [
                self._scalar(field, content[place] if content else None, model, rng)
            ]
            _refill(values, content)

    def _scalar(self, field: Any, old: Any, model: onnx.ModelProto, rng: random.Random) -> Any:
        words = self._words.get(field.full_name)
        if field.full_name in _VALUE_NAMES and rng.random() < 0.7:
            return rng.choice(_names(model) or [""])
        if words and rng.random() < 0.6:
            return rng.choice(words)
        if field.cpp_type == field.CPPTYPE_STRING:
            text = rng.choice(TEXTS)
            if field.type != field.TYPE_BYTES:
                return text
            return mutated_bytes(old, rng) if old and rng.random() < 0.7 else text.encode()
        if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
            return rng.choice(REALS)
        if isinstance(old, int) and rng.random() < 0.3:
            return old + rng.choice((-1, 1))
        return rng.choice(INTEGERS)

    # What parts mean together ----------------------------------------------------------------------------------------

    def _rewire(self, model: onnx.ModelProto, rng: random.Random) -> None:
        """Lets a node read another value, leave one out, or be another operator."""
        node = rng.choice(_nodes(model) or [onnx.NodeProto()])
        kind = rng.randrange(5)
        if kind == 0 and self._words.get("onnx.NodeProto.op_type"):
            node.op_type = rng.choice(self._words["onnx.NodeProto.op_type"])
        elif kind == 1:
            node.input.append(rng.choice(_names(model) or [""]))
        elif node.input:
            node.input[rng.randrange(len(node.input))] = "" if kind == 2 else rng.choice(_names(model) or [""])

    def _graft_node(self, model: onnx.ModelProto, rng: random.Random) -> None:
        """Adds a node of another model that reads this one's values, and hands out its result."""
        node = onnx.NodeProto()
        node.CopyFrom(rng.choice(self._parts["onnx.NodeProto"]))
        names = _names(model) or [""]
        for index, name in enumerate(node.input):
            node.input[index] = rng.choice(names) if name else name
        taken = set(names)
        for index, name in enumerate(node.output):
            new = next(text for text in (f"{name or 'new'}_{k}" for k in range(len(taken) + 1)) if text not in taken)
            node.output[index] = new
            taken.add(new)
        model.graph.node.append(node)
        if node.output and rng.random() < 0.7:
            model.graph.output.add(name=node.output[0])
            if model.graph.output[:-1] and rng.random() < 0.5:
                model.graph.output[-1].type.CopyFrom(rng.choice(model.graph.output[:-1]).type)


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """The bytes with some of them changed, cut out, put in or cut off."""
    content = bytearray(data)
    for _ in range(1 + min(int(rng.expovariate(1.0)), 8)):
        place = rng.randrange(len(content) + 1)
        kind = rng.randrange(5)
        if kind == 0 and place < len(content):
            content[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[place:place] = rng.randbytes(rng.choice((1, 2, 4, 8, 64)))
        elif kind == 2:
            del content[place : place + rng.choice((1, 2, 4, 8, 64))]
        elif kind == 3 and rng.random() < 0.3:
            del content[place:]
        else:
            start = rng.randrange(len(content) + 1)
            content[place:place] = content[start : start + rng.choice((1, 4, 16, 256))]
    return bytes(content)


def _freeze(model: onnx.ModelProto, rng: random.Random) -> None:
    """Makes a graph input a constant, or fills a small one anew, so that more can be computed."""
    graph = model.graph
    whole = [each for each in graph.initializer if each.data_type == onnx.TensorProto.INT64]
    if whole and rng.random() < 0.5:
        tensor = rng.choice(whole)
        dims = list(tensor.dims)
    elif graph.input:
        value = graph.input.pop(rng.randrange(len(graph.input)))
        dims = [d.dim_value or rng.randrange(4) for d in value.type.tensor_type.shape.dim]
        tensor = graph.initializer.add(name=value.name, data_type=value.type.tensor_type.elem_type, dims=dims)
    else:
        return
    count = 1
    for dim in dims:
        count *= max(dim, 0)
    if count > 4096:
        return
    kind = tensor.data_type
    for field in ("raw_data", "int64_data", "float_data", "int32_data", "double_data", "uint64_data"):
        tensor.ClearField(field)
    if kind == onnx.TensorProto.INT64:
        tensor.int64_data.extend(rng.choice(INTEGERS[:-1]) for _ in range(count))
    elif kind == onnx.TensorProto.FLOAT:
        tensor.float_data.extend(rng.choice(REALS[:10]) for _ in range(count))
    elif kind == onnx.TensorProto.STRING:
        tensor.string_data.extend(rng.choice(TEXTS).encode() for _ in range(count))
    else:
        tensor.raw_data = rng.randbytes(count * _ITEM_BYTES.get(kind, 1))


_ITEM_BYTES = {1: 4, 4: 2, 5: 2, 6: 4, 10: 2, 11: 8, 12: 4, 13: 8, 14: 8, 15: 16, 16: 2}
"""The bytes of an element, by the number of its type, where it is not one."""


def _rename(model: onnx.ModelProto, rng: random.Random) -> None:
    """Gives a value another name wherever it stands, so that the model is as valid as before."""
    names = [name for name in _names(model) if name]
    if not names:
        return
    old = rng.choice(names)
    new = rng.choice(TEXTS)
    for message in list(_messages(model)):
        for field, value in message.ListFields():
            if field.full_name not in _VALUE_NAMES:
                continue
            if _is_repeated(value):
                for index, name in enumerate(value):
                    if name == old:
                        value[index] = new
            elif value == old:
                setattr(message, field.name, new)


def _resize(model: onnx.ModelProto, rng: random.Random) -> None:
    """Gives a tensor other dims, or its raw data another length."""
    tensors = [each for each in _messages(model) if isinstance(each, onnx.TensorProto)]
    if not tensors:
        return
    tensor = rng.choice(tensors)
    if tensor.raw_data and rng.random() < 0.5:
        tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)] * rng.choice((1, 1, 2))
    elif tensor.dims and rng.random() < 0.7:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(INTEGERS[:-1])
    else:
        tensor.dims.append(rng.choice(INTEGERS[:-1]))


def _externalize(model: onnx.ModelProto, rng: random.Random) -> None:
    """Says that the elements of a tensor lie in a file."""
    tensors = [each for each in _messages(model) if isinstance(each, onnx.TensorProto)]
    if not tensors:
        return
    tensor = rng.choice(tensors)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    if rng.random() < 0.8:
        tensor.ClearField("raw_data")
    for key in ("location", "offset", "length", "checksum"):
        if rng.random() < 0.8:
            text = (
                rng.choice(("weights.bin", "weights.bin", *TEXTS)) if key == "location" else str(rng.choice(INTEGERS))
            )
            tensor.external_data.add(key=key, value=text)


def _call(model: onnx.ModelProto, rng: random.Random) -> None:
    """Moves a node of the main graph into a function that it becomes the call of, or lets a node call any function."""
    if model.functions and rng.random() < 0.5:
        node, function = rng.choice(_nodes(model) or [onnx.NodeProto()]), rng.choice(model.functions)
        node.domain, node.op_type, node.overload = function.domain, function.name, function.overload
        return
    if not model.graph.node:
        return
    node = rng.choice(model.graph.node)
    if node.domain:
        return
    name = f"f{len(model.functions)}"
    function = model.functions.add(domain="fuzz", name=name, input=dict.fromkeys(n for n in node.input if n))
    function.output.extend(dict.fromkeys(each for each in node.output if each))
    function.opset_import.extend(model.opset_import)
    function.node.add().CopyFrom(node)
    inputs, outputs = list(function.input), list(function.output)
    if all(each.domain != "fuzz" for each in model.opset_import):
        model.opset_import.add(domain="fuzz", version=1)
    if rng.random() < 0.3:
        for attribute in function.node[0].attribute:
            attribute.ref_attr_name = attribute.name
            function.attribute.append(attribute.name)
    else:
        node.ClearField("attribute")
    node.domain, node.op_type = "fuzz", name
    _refill(node.input, inputs)
    _refill(node.output, outputs)


# How messages are walked and set -------------------------------------------------------------------------------------


def _messages(root: Message) -> Iterator[Message]:
    """A message and all that it holds, at any depth."""
    stack = [root]
    while stack:
        message = stack.pop()
        yield message
        for field, value in message.ListFields():
            if field.message_type is not None:
                stack.extend(value if _is_repeated(value) else [value])


def _nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [each for each in _messages(model) if isinstance(each, onnx.NodeProto)]


def _names(model: onnx.ModelProto) -> list[str]:
    """The names of the main graph's values."""
    graph = model.graph
    found = [each.name for each in (*graph.input, *graph.initializer)]
    return [*found, *(name for node in graph.node for name in node.output)]


def _is_repeated(value: Any) -> bool:
    return not isinstance(value, Message) and hasattr(value, "MergeFrom")


def _copy(value: Any) -> Any:
    if not isinstance(value, Message):
        return value
    copy = type(value)()
    copy.CopyFrom(value)
    return copy


def _refill(values: Any, content: Sequence[Any]) -> None:
    del values[:]
    for each in content:
        try:
            values.append(each)
        except ValueError:  # out of the field's range
            values.append(0)


def _set(message: Message, name: str, value: Any) -> None:
    try:
        setattr(message, name, value)
    except (ValueError, TypeError):  # out of the field's range, or bytes that are no text
        message.ClearField(name)
