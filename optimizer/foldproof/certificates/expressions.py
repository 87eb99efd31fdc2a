"""Integer expressions over symbols, as a certificate writes dims: `2*batch*seq + 1`, `(h + 1)//2`, `min(n, 512)`.

The checker's own small evaluator: Python's arithmetic on integers, and nothing else of Python.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping

MAX_LENGTH = 4_000
"""Longer texts are no dims."""

_MAX_BITS = 256
_MAX_POWER = 64


class ExpressionError(ValueError):
    """A text that is no expression, or that has no value at a binding."""


def symbols_of(text: str) -> list[str]:
    """The symbols of an expression, in alphabetical order.

    Raises:
        ExpressionError: It is no expression.
    """
    return sorted({each.id for each in _atoms(_parsed(text)) if isinstance(each, ast.Name)})


def evaluate(text: str, binding: Mapping[str, int]) -> int:
    """The integer that an expression is at a binding.

    Raises:
        ExpressionError: It is no expression, a symbol has no value, it divides by 0, or a number is too large.
    """
    return _value(_parsed(text), binding)


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError("an expression is too long")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r} is no expression") from error


def _atoms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _atoms(node.left)
        yield from _atoms(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _atoms(node.operand)
    elif isinstance(node, ast.Call):
        for each in node.args:
            yield from _atoms(each)
    else:
        yield node


def _value(node: ast.expr, binding: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in binding:
            raise ExpressionError(f"the symbol {node.id!r} has no value")
        return binding[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, binding)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and not node.keywords:
        values = [_value(each, binding) for each in node.args]
        if node.func.id in ("min", "max"):
            return min(values) if node.func.id == "min" else max(values)
    if isinstance(node, ast.BinOp):
        result = _combined(node.op, _value(node.left, binding), _value(node.right, binding))
        if result.bit_length() <= _MAX_BITS:
            return result
        raise ExpressionError("a number is too large")
    raise ExpressionError(f"{ast.unparse(node)!r} is no expression of integers")


def _combined(operator: ast.operator, left: int, right: int) -> int:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, ast.Pow) and 0 <= right <= _MAX_POWER:
        return int(left**right)
    if isinstance(operator, (ast.FloorDiv, ast.Mod)):
        if right == 0:
            raise ExpressionError("it divides by 0")
        return left // right if isinstance(operator, ast.FloorDiv) else left % right
    raise ExpressionError(f"{type(operator).__name__} is not an operator of dims")
