"""What is proven of the size and the order of dims, for all bindings of their symbols to integers >= 0.

Bounds come from interval arithmetic, term by term, and from a short search that puts a bound in place of an
atom where this tells more: `min(a, b) <= a`, `k*(x//k) <= x`, and that a maximum is one of its arguments. A
bound of an expression that divides by a symbol holds where the expression is defined.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, inf
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # dim imports this module
    from foldproof.facts.dim import Atom, DimLike, Monomial, Opaque

Interval: TypeAlias = "tuple[int | None, int | None]"  # both ends included; None: without bound

MAX_DIM = 2**30
"""Each symbol is taken to be at most this: no tensor has more elements along one axis.

It is an assumption that facts rest on beyond the contract. Exporters do shape arithmetic in int32 and cut off slices at
its largest number, and mean all of an axis by it.
"""

_SYMBOL: Interval = (0, MAX_DIM)
_SEARCH_STEPS = 24  # replacements of an atom in one proof; real models need one or two


def lower_bound(d: DimLike) -> int | None:
    """Returns an integer that `d` is never less than, or None where none is proven."""
    if isinstance(d, int):
        return d
    if d.lower == "unknown":
        d.lower = _search_lower(d, [_SEARCH_STEPS])
    return d.lower


def upper_bound(d: DimLike) -> int | None:
    """Returns an integer that `d` is never greater than, or None where none is proven."""
    if isinstance(d, int):
        return d
    low = lower_bound(-d)
    return None if low is None else -low


def at_least(a: DimLike, b: DimLike) -> bool:
    """Returns whether `a >= b` is proven for all bindings."""
    if a is b:
        return True
    difference = a - b
    low, high = interval(difference)  # mostly enough, and much cheaper
    if (low is None or low < 0) and (high is None or high >= 0):
        low = lower_bound(difference)
    return low is not None and low >= 0


def equal(a: DimLike, b: DimLike) -> bool:
    """Returns whether `a == b` is proven for all bindings."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a is b or (at_least(a, b) and at_least(b, a))


def differ(a: DimLike, b: DimLike) -> bool:
    """Returns whether `a != b` is proven for all bindings."""
    difference = a - b
    if isinstance(difference, int):
        return difference != 0
    constant = sum(coefficient for monomial, coefficient in difference.terms if not monomial.factors)
    step = gcd(*(coefficient for monomial, coefficient in difference.terms if monomial.factors))
    if constant % step:
        return True
    low, high = lower_bound(difference), upper_bound(difference)
    return (low is not None and low > 0) or (high is not None and high < 0)


def interval(d: DimLike) -> Interval:
    """Returns the bounds that interval arithmetic alone gives: cheaper and wider than `lower_bound`."""
    if isinstance(d, int):
        return (d, d)
    if d.interval is None:
        low: int | None = 0
        high: int | None = 0
        for monomial, coefficient in d.terms:
            if monomial.interval is None:
                monomial.interval = _monomial_interval(monomial)
            first, last = monomial.interval
            if coefficient < 0:
                first, last = last, first
            low = None if low is None or first is None else low + coefficient * first
            high = None if high is None or last is None else high + coefficient * last
        d.interval = (low, high)
    return d.interval


def _monomial_interval(monomial: Monomial) -> Interval:
    result: Interval = (1, 1)
    for atom, power in monomial.factors:
        base = _atom_interval(atom)
        raised = base
        for _ in range(power - 1):
            raised = _times(raised, base)
        if power % 2 == 0 and (raised[0] is None or raised[0] < 0):
            raised = (0, raised[1])
        result = _times(result, raised)
    return result


def _times(a: Interval, b: Interval) -> Interval:
    def ends(x: Interval) -> tuple[float, float]:
        return (-inf if x[0] is None else x[0], inf if x[1] is None else x[1])

    def corner(x: float, y: float) -> float:
        if not x or not y:
            return 0
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        return inf if (x > 0) == (y > 0) else -inf

    if a == (1, 1):
        return b
    # Only infinity, which stands for "no bound", is a float: finite corners are exact.
    corners = [corner(x, y) for x in ends(a) for y in ends(b)]
    low, high = min(corners), max(corners)
    return (None if low == -inf else int(low), None if high == inf else int(high))


def _atom_interval(atom: Atom) -> Interval:
    if isinstance(atom, tuple):  # a Symbol
        return _SYMBOL
    if atom.interval is None:
        atom.interval = _opaque_interval(atom)
    return atom.interval


def _opaque_interval(atom: Opaque) -> Interval:
    bounds = [interval(argument) for argument in atom.arguments]
    lows = [low for low, _ in bounds if low is not None]
    highs = [high for _, high in bounds if high is not None]
    if atom.operator == "min":
        return (min(lows) if len(lows) == len(bounds) else None, min(highs, default=None))
    if atom.operator == "max":
        return (max(lows, default=None), max(highs) if len(highs) == len(bounds) else None)
    (low, high), (least, most) = bounds
    if least is None or least < 0:
        return (None, None)
    least = max(least, 1)  # where it is 0, nothing is defined
    if atom.operator == "%":
        caps = [cap for cap in (None if most is None else max(most, 1) - 1, high) if cap is not None]
        if low is None or low < 0:
            caps = caps[:0] if most is None else caps[:1]
        return (0, min(caps, default=None))
    if low is not None:
        low = low // least if low < 0 else 0 if most is None else low // max(most, 1)
    if high is not None:
        high = high // least if high >= 0 else -1 if most is None else high // max(most, 1)
    return (low, high)


def _search_lower(d: DimLike, steps: list[int]) -> int | None:
    """Returns the best lower bound found with at most `steps[0]` replacements, which it counts down.

    The result depends on `d` and the steps alone, never on what was asked before: canonical forms rest on it.
    """
    if isinstance(d, int):
        return d
    best = interval(d)[0]
    for monomial, coefficient in d.terms:
        for atom, power in monomial.factors:
            if isinstance(atom, tuple) or power != 1:
                continue
            cofactor = coefficient * monomial.without(atom)
            rest = d - coefficient * monomial.as_dim()
            low, high = interval(cofactor)
            sign = 1 if low is not None and low >= 0 else -1 if high is not None and high <= 0 else 0
            for scale, alternatives in _replacements(atom, sign):
                if steps[0] < len(alternatives):
                    return best
                steps[0] -= len(alternatives)
                found = [_search_lower(rest * scale + cofactor * value, steps) for value in alternatives]
                proven = [bound for bound in found if bound is not None]
                if len(proven) == len(found):
                    bound = -(-min(proven) // scale)
                    best = bound if best is None else max(best, bound)
    return best


def _replacements(atom: Opaque, sign: int) -> Iterator[tuple[int, tuple[DimLike, ...]]]:
    """Yields ways to bound `c*atom` from below, where `c` has that sign (0: unknown).

    Each is a scale and alternatives, one of which (unknown which) has `scale*c*atom >= c*alternative`.
    """
    arguments = atom.arguments
    if atom.operator in ("min", "max"):
        if sign == (-1 if atom.operator == "min" else 1):
            for argument in arguments:
                yield 1, (argument,)
        else:
            yield 1, arguments
        return
    value, divisor = arguments
    if atom.operator == "//" and isinstance(divisor, int) and sign:
        yield divisor, (value if sign < 0 else value - (divisor - 1),)
        return
    least, lowest = interval(divisor)[0], interval(value)[0]
    if sign < 0 and least is not None and least >= 0:
        if lowest is not None and lowest >= 0:
            yield 1, (value,)  # x//d <= x and x % d <= x
        if atom.operator == "%":
            yield 1, (divisor - 1,)
