"""What to try next after the original failed: the runtime's message often says which number it wanted.

Dims are bound to numbers of their own, so a number in a message mostly tells which dim is meant: at
`past = 5`, `seq = 3`, `total = 7` the words `8 by 7` say that `total` has to be 8.
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
_SOURCE_LINE = re.compile(r"\S+\.(?:cc|h|cpp):\d+")
_AXIS = re.compile(r"\b(?:[aA]xis|dim|index)\s+\d+")
_LARGEST = 1 << 16
_NUMBERS = 8  # More numbers in one message are mostly the shapes of everything.


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
    nearby = dict.fromkeys([*numbers, *(each - 1 for each in numbers), *(each + 1 for each in numbers)])
    for each in inputs:
        if _is_small_integer(each):
            for number in nearby:
                if number >= 0 and plan.values.get(each.name) != number:
                    yield (1 if each.name in words else 3), _pin(plan, each.name, number)
    if "index" in words or "indices" in words:
        for key, value in plan.dims.items():
            yield 3, _bind(plan, key, value + 1)


def _numbers(words: str) -> list[int]:
    """The integers in a message, without source lines and axes, in order of appearance."""
    words = _AXIS.sub("", _SOURCE_LINE.sub("", words))
    found = (int(each) for each in re.findall(r"(?<![\w.])\d+(?![\w.]\d)", words))
    return [each for each in dict.fromkeys(found) if each <= _LARGEST][:_NUMBERS]


def _is_small_integer(each: Input) -> bool:
    """Whether an input is a length, a count or the like: an integer scalar, or one for each of a batch."""
    return (
        each.kind == "tensor"
        and each.element_type in _INTEGERS
        and each.dims is not None
        and len(each.dims) < 2
        and each.default is None
    )


def _bind(plan: Plan, key: str, number: int) -> Plan:
    return dataclasses.replace(plan, dims={**plan.dims, key: number})


def _pin(plan: Plan, name: str, number: int) -> Plan:
    return dataclasses.replace(plan, values={**plan.values, name: number})
