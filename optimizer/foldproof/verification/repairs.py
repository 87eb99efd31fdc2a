"""What to try next after the original failed at a feed: the runtime's message often says which number it wanted.

Dims are bound to numbers of their own, so a number in a message mostly tells which dim is meant: at `past = 5, seq = 3, total = 7` the
words `8 by 7` say that `total` has to be 8.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import onnx

from .feeds import Plan
from .signature import Input

_INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
_BOUND = re.compile(r"within the inclusive range \[-?\d+,\s*(-?\d+)\]|out of range \[-?\d+,\s*(\d+)\)")
_LARGEST = 1 << 16


def repairs(plan: Plan, message: str, inputs: tuple[Input, ...]) -> Iterator[tuple[int, Plan]]:
    """Other plans, the most likely ones first.

    Args:
        plan: The plan that failed.
        message: The engine's message.
        inputs: The model's inputs.

    Yields:
        How much less likely than the best (0) the plan is, and the plan.
    """
    words = message.split("Status Message:")[-1]
    bound = _BOUND.search(words)
    if bound is not None:
        inclusive, exclusive = bound.groups()
        cap = int(inclusive) if inclusive is not None else int(exclusive) - 1
        if cap >= 0 and (plan.cap is None or cap < plan.cap):
            yield 0, dataclasses.replace(plan, cap=cap)
    numbers = _numbers(words)
    for key, value in plan.dims.items():
        for number in numbers:
            if number != value and number > 0:
                # A dim whose own value the message names is meant more likely than any other.
                yield (1 if value in numbers else 3), _bind(plan, key, number)
    for each in inputs:
        if each.kind == "tensor" and each.element_type in _INTEGERS and each.dims is not None and len(each.dims) < 2:
            for number in [*numbers, *(number - 1 for number in numbers), *(number + 1 for number in numbers)]:
                if plan.values.get(each.name) != number:
                    yield (1 if each.name in words else 3), _pin(plan, each.name, number)
    if bound is not None or "index" in words:
        for key, value in plan.dims.items():
            yield 3, _bind(plan, key, value + 1)


def _numbers(words: str) -> list[int]:
    """The integers in a message, without those of source lines, in order of appearance."""
    words = re.sub(r"\S+\.(?:cc|h|cpp):\d+", "", words)
    words = re.sub(r"\b(?:axis|Axis|dim|index)\s+\d+", "", words)
    found = (int(each) for each in re.findall(r"(?<![\w.])\d+(?![\w.]\d)", words))
    return [each for each in dict.fromkeys(found) if each <= _LARGEST][:8]


def _bind(plan: Plan, key: str, number: int) -> Plan:
    return dataclasses.replace(plan, dims={**plan.dims, key: number})


def _pin(plan: Plan, name: str, number: int) -> Plan:
    return dataclasses.replace(plan, values={**plan.values, name: number})
