"""The memory that operators take while they run, beside their inputs and outputs.

Most take little, or about as much as these. The others are here: what they write down in between may be many times
larger. Their formulas are those of the operators' definitions, computed as onnxruntime does on a CPU; what an operator
takes of which nothing is said here, such as a runtime's own, is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import onnx_ir as ir

from foldproof.verification.sizes import Sizes

_KNOWN_DOMAINS = ("", "ai.onnx.ml")
_LONGEST_EQUATION = 200
"""The letters of an Einsum that is looked at: the time for it is quadratic."""


def scratch_of(node: ir.Node, sizes: Sizes) -> int | None:
    """The bytes that a node takes for itself at most; None where they are not known.

    Args:
        node: A node that its operator's schema admits.
        sizes: The sizes of the values.
    """
    if node.domain not in _KNOWN_DOMAINS:
        return None
    count = _COUNTS.get(node.op_type) if not node.domain else None
    if count is None:
        return 0
    try:
        elements = count(node, sizes)
    except (IndexError, KeyError, TypeError, ValueError):  # something is not there, or a shape is not known
        return None
    return elements * max(sizes.item_bytes(value) for value in node.inputs[:1])


def _einsum(node: ir.Node, sizes: Sizes) -> int:
    """Two products of the first operands, one by one: of each they keep what a later one or the output still reads."""
    equation = node.attributes["equation"].as_string().replace(" ", "").replace("...", ".")
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    if len(equation) > _LONGEST_EQUATION:
        raise ValueError("it is too long to be followed")
    if not arrow:
        output = "." + "".join(label for label in left if left.count(label) == 1)
    dims: dict[str | int, int] = {}
    labels: list[list[str | int]] = []
    for term, shape in zip(terms, sizes.shapes_of(node.inputs), strict=True):
        known = _known(shape)
        hidden = len(known) - len(term.replace(".", ""))
        labels.append([])
        for label in term:
            labels[-1] += [label] if label != "." else range(-hidden, 0)  # the last of them are the same ones
        for name, dim in zip(labels[-1], known, strict=True):
            dims[name] = max(dims.get(name, 1), dim)
    largest = 0
    for number in range(1, len(terms)):
        still_read = {*output, *(label for later in labels[number + 1 :] for label in later)}
        seen = {label for earlier in labels[: number + 1] for label in earlier}
        kept = (dims[label] for label in seen if label in still_read or isinstance(label, int))
        largest = max(largest, math.prod(kept))
    return 2 * largest


def _convolution(weight: int) -> Callable[[ir.Node, Sizes], int]:
    """For each element of the output, all that the kernel reads: of one group and one item of the batch at a time.

    Or where that lies: then these are pointers.
    """

    def count(node: ir.Node, sizes: Sizes) -> int:
        kernel, output = _known(sizes.shape_of(node.inputs[weight])), _known(sizes.shape_of(node.outputs[0]))
        return max(kernel[1], 8) * math.prod(kernel[2:]) * math.prod(output[2:])

    return count


def _deformed_convolution(node: ir.Node, sizes: Sizes) -> int:
    """For each element of the output, all that the kernel reads, of all groups; and where that lies."""
    data, kernel = _known(sizes.shape_of(node.inputs[0])), _known(sizes.shape_of(node.inputs[1]))
    output = _known(sizes.shape_of(node.outputs[0]))
    return (data[1] + 8) * math.prod(kernel[2:]) * math.prod(output[2:])


def _region_samples(node: ir.Node, sizes: Sizes) -> int:
    """Of each element of a region its samples: four places and four weights. An attribute says how many."""
    ratio = node.attributes.get_int("sampling_ratio", 0) or 0
    if ratio <= 0:
        raise ValueError("the regions decide on the number of samples")
    return 16 * ratio**2 * math.prod(_known(sizes.shape_of(node.outputs[0]))[2:])


def _transposed_convolution(node: ir.Node, sizes: Sizes) -> int:
    """For each element of the input, all that it adds to."""
    data, kernel = _known(sizes.shape_of(node.inputs[0])), _known(sizes.shape_of(node.inputs[1]))
    return math.prod(kernel[1:]) * math.prod(data[2:])


def _attention(node: ir.Node, sizes: Sizes) -> int:
    """The scores of each pair of positions: as a product, with the mask, and normalized."""
    query, key = _known(sizes.shape_of(node.inputs[0])), _known(sizes.shape_of(node.inputs[1]))
    past = _known(sizes.shape_of(node.inputs[4])) if len(node.inputs) > 4 and node.inputs[4] is not None else [0] * 4
    heads = query[1] if len(query) == 4 else node.attributes["q_num_heads"].as_int()
    return 3 * query[0] * heads * query[-2] * (key[-2] + past[2])


def _recurrent(node: ir.Node, sizes: Sizes) -> int:
    """All gates at all steps, before and after they are activated."""
    data, weights = _known(sizes.shape_of(node.inputs[0])), _known(sizes.shape_of(node.inputs[2]))
    return 2 * data[0] * data[1] * weights[0] * weights[1]


def _unknown(node: ir.Node, sizes: Sizes) -> int:
    raise ValueError(f"nothing is said of {node.op_type}")


def _known(shape: list[int] | None) -> list[int]:
    if shape is None:
        raise ValueError("the shape is not known")
    return shape


_COUNTS: Mapping[str, Callable[[ir.Node, Sizes], int]] = {
    "Einsum": _einsum,
    **dict.fromkeys(("Conv", "ConvInteger", "CausalConvWithState"), _convolution(1)),
    "QLinearConv": _convolution(3),
    "DeformConv": _deformed_convolution,
    "ConvTranspose": _transposed_convolution,
    "RoiAlign": _region_samples,
    "Attention": _attention,
    "LinearAttention": _unknown,
    **dict.fromkeys(("RNN", "GRU", "LSTM"), _recurrent),
}
"""The elements of the type of the first input that are written down in between."""
