"""Symbolic dims as a person writes them, and back: `2*batch*seq + 1`, `(h + 1)//2`, `min(n, 512)`, `n**2`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # dim imports this module
    from foldproof.facts.dim import Atom, DimLike, Monomial

_TOKEN = re.compile(r"[0-9]+|[^\W\d]\w*|\*\*|//|\S")
# A dim of a hostile model may neither exhaust memory nor the stack.
_MAX_DEPTH = 100
_MAX_TERMS = 2_000
_MAX_POWER = 1_000
_MAX_BITS = 4_096


def format_dim(d: DimLike) -> str:
    """Returns the text of an expression: higher degrees first, then by name, the constant last.

    Where it would begin with a minus, the first positive term goes in front.
    """
    if isinstance(d, int):
        return str(d)
    terms = list(d.terms)
    front = next((i for i, (_, coefficient) in enumerate(terms) if coefficient > 0), 0)
    terms.insert(0, terms.pop(front))
    text = ""
    for monomial, coefficient in terms:
        # A leading minus binds tighter than // and %, one between terms does not.
        sign = "-" if coefficient < 0 else ""
        body = _format_term(monomial, abs(coefficient), alone=bool(text) or not sign)
        text = f"{text} {sign or '+'} {body}" if text else sign + body
    return text


def _format_term(monomial: Monomial, coefficient: int, *, alone: bool) -> str:
    factors = monomial.factors
    if alone and coefficient == 1 and len(factors) == 1 and factors[0][1] == 1:
        return _format_atom(factors[0][0])
    parts = [str(coefficient)] if coefficient != 1 or not factors else []
    for atom, power in factors:
        text = _format_atom(atom)
        if _needs_brackets(atom):
            text = f"({text})"
        parts.append(text if power == 1 else f"{text}**{power}")
    return "*".join(parts)


def _needs_brackets(atom: Atom) -> bool:
    return not isinstance(atom, tuple) and atom.operator in ("//", "%")


def _format_atom(atom: Atom) -> str:
    if isinstance(atom, tuple):  # a Symbol
        return atom.name
    if atom.operator in ("min", "max"):
        return f"{atom.operator}({', '.join(map(format_dim, atom.arguments))})"
    left, right = map(_format_operand, atom.arguments)
    return f"{left}//{right}" if atom.operator == "//" else f"{left} % {right}"


def _format_operand(d: DimLike) -> str:
    text = format_dim(d)
    if isinstance(d, int):
        return text if d >= 0 else f"({text})"
    (monomial, coefficient), *others = d.terms
    factors = monomial.factors
    bare = not others and coefficient == 1 and len(factors) == 1 and factors[0][1] == 1
    return text if bare and not _needs_brackets(factors[0][0]) else f"({text})"


def parse_dim(text: str) -> DimLike:
    """Reads an expression: the inverse of `str` for symbols of scope 0 whose names are identifiers.

    Args:
        text: Integers, names, `+ - * // % **` with Python's precedence, `min(...)`, `max(...)` and brackets.

    Raises:
        ValueError: It is anything else, divides by exactly 0, or is unreasonably large.
    """
    parser = _Parser(text)
    try:
        result = parser.sum()
    except ZeroDivisionError:
        raise ValueError(f"{text!r} divides by 0") from None
    if parser.token:
        raise parser.error()
    return result


class _Parser:
    """Recursive descent; `token` is the next token, empty at the end."""

    def __init__(self, text: str) -> None:
        from foldproof.facts import dim  # here, because dim imports this module

        self.dim = dim
        self.text = text
        self.depth = 0
        self.tokens = iter(_TOKEN.findall(text))
        self.token = next(self.tokens, "")

    def error(self) -> ValueError:
        where = f"at {self.token!r}" if self.token else "at its end"
        return ValueError(f"{self.text!r} is not the expression of a dim: not understood {where}")

    def advance(self) -> str:
        """Returns the token and goes to the next."""
        token, self.token = self.token, next(self.tokens, "")
        return token

    def expect(self, token: str) -> None:
        if self.token != token:
            raise self.error()
        self.advance()

    def integer(self) -> int:
        if not (self.token.isascii() and self.token.isdecimal()):
            raise self.error()
        return int(self.advance())

    def sum(self) -> DimLike:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError(f"{self.text!r} is nested too deeply")
        result = self.term()
        while self.token in ("+", "-"):
            result = result + self.term() if self.advance() == "+" else result - self.term()
        self.depth -= 1
        return result

    def term(self) -> DimLike:
        result = self.factor()
        while self.token in ("*", "//", "%"):
            operator = self.advance()
            right = self.factor()
            if operator == "*":
                result = self.times(result, right)
            elif operator == "//":
                result = self.dim.floor_div(result, right)
            else:
                result = self.dim.modulo(result, right)
        return result

    def factor(self) -> DimLike:
        negative = False
        while self.token == "-":
            negative = not negative
            self.advance()
        base = self.atom()
        if self.token == "**":
            self.advance()
            power = self.integer()
            if power > _MAX_POWER:
                raise ValueError(f"{self.text!r} has too large a power")
            result: DimLike = 1
            for _ in range(power):
                result = self.times(result, base)
            base = result
        return -base if negative else base

    def times(self, a: DimLike, b: DimLike) -> DimLike:
        if isinstance(a, int) and isinstance(b, int):
            large = a.bit_length() + b.bit_length() > _MAX_BITS
        else:
            large = not isinstance(a, int) and not isinstance(b, int) and len(a.terms) * len(b.terms) > _MAX_TERMS
        if large:
            raise ValueError(f"{self.text!r} is too large")
        return a * b

    def atom(self) -> DimLike:
        if self.token == "(":
            self.advance()
            result = self.sum()
            self.expect(")")
            return result
        if self.token[:1].isdecimal():
            return self.integer()
        if not self.token.isidentifier():
            raise self.error()
        name = self.advance()
        if self.token != "(":
            return self.dim.Dim.symbol(name)
        if name not in ("min", "max"):
            raise self.error()
        arguments: list[DimLike] = []
        while not arguments or self.token == ",":
            self.advance()
            arguments.append(self.sum())
        self.expect(")")
        return self.dim.minimum(*arguments) if name == "min" else self.dim.maximum(*arguments)
