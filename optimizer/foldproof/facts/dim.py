"""The algebra of symbolic dims: integer polynomials over symbols, with floor division, modulo, min and max.

A dim of a fact is a Python int or a `Dim`. A `Dim` is a sum of terms, each an integer times a monomial; a
monomial is a product of powers of atoms; an atom is a `Symbol` or an `Opaque`: a floor division, a modulo, a
minimum or a maximum that could not be written as a polynomial. Everything is kept in one canonical form and
interned, so that expressions of one form are one object and comparing them costs nothing.

Every simplification holds for all bindings of the symbols to integers >= 0, 0 included. `(n*m)//m` therefore
stays as it is: it is not `n` where `m` is 0. Bounds and proofs live in `dim_order`, text in `dim_text`; both
are imported from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import gcd
from operator import itemgetter
from threading import RLock
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias, cast, final
from weakref import WeakValueDictionary

from foldproof.facts.dim_order import at_least, differ, equal, interval, lower_bound, upper_bound
from foldproof.facts.dim_text import format_dim, parse_dim

__all__ = [
    "Dim",
    "DimLike",
    "Symbol",
    "TooComplexError",
    "at_least",
    "ceil_div",
    "differ",
    "equal",
    "exact_div",
    "floor_div",
    "lower_bound",
    "maximum",
    "minimum",
    "modulo",
    "parse_dim",
    "product",
    "upper_bound",
]

DimLike: TypeAlias = "int | Dim"
Atom: TypeAlias = "Symbol | Opaque"
Operator: TypeAlias = Literal["//", "%", "min", "max"]
Terms: TypeAlias = "tuple[tuple[Monomial, int], ...]"
# Nested tuples of str and int: the order may never rest on an id or a hash.
SortKey: TypeAlias = tuple[Any, ...]


_MAX_TERMS = 256
_MAX_PRODUCTS = 4096
_MAX_COEFFICIENT = 1 << 4096
"""Expressions beyond these are not written out: the terms of a product of sums multiply with each factor."""


class TooComplexError(ValueError):
    """An expression over dims that would be too large. Nothing is known of what it stands for."""


class Symbol(NamedTuple):
    """A name that stands for one integer >= 0.

    Attributes:
        name: As the model writes it.
        scope: Tells symbols of the same name apart; 0 is the model's contract.
    """

    name: str
    scope: int = 0


@final
class Opaque:
    """An atom that is no symbol: an operator on dims, already in canonical form. Interned.

    Attributes:
        operator: `//`, `%`, `min` or `max`.
        arguments: Numerator and divisor, or the two or more arguments of `min` and `max`, in canonical order.
        key: Its place in the canonical order.
        interval: Its bounds, filled in by `dim_order` when first asked for.
    """

    __slots__ = ("__weakref__", "arguments", "interval", "key", "operator")
    operator: Operator
    arguments: tuple[DimLike, ...]
    key: SortKey
    interval: tuple[int | None, int | None] | None

    def __new__(cls, operator: Operator, arguments: tuple[DimLike, ...]) -> Opaque:
        found = _OPAQUES.get((operator, arguments))
        if found is not None:
            return found
        made = object.__new__(cls)
        made.operator = operator
        made.arguments = arguments
        made.key = (_RANK[operator], tuple(map(_dim_key, arguments)))
        made.interval = None
        with _INTERNING:
            return _OPAQUES.setdefault((operator, arguments), made)

    def __reduce__(self) -> tuple[Any, ...]:
        return Opaque, (self.operator, self.arguments)


@final
class Monomial:
    """A product of powers of atoms; without factors it is 1. Interned.

    Attributes:
        factors: Atoms, in canonical order, with their powers (>= 1).
        key: Its place in the canonical order: graded lexicographic, as polynomial division needs.
        interval: Its bounds, filled in by `dim_order` when first asked for.
    """

    __slots__ = ("__weakref__", "factors", "interval", "key")
    factors: tuple[tuple[Atom, int], ...]
    key: SortKey
    interval: tuple[int | None, int | None] | None

    def __new__(cls, factors: tuple[tuple[Atom, int], ...]) -> Monomial:
        found = _MONOMIALS.get(factors)
        if found is not None:
            return found
        made = object.__new__(cls)
        made.factors = factors
        runs = tuple((_atom_key(atom), -power) for atom, power in factors)
        made.key = (-sum(power for _, power in factors), runs)
        made.interval = None
        with _INTERNING:
            return _MONOMIALS.setdefault(factors, made)

    def __reduce__(self) -> tuple[Any, ...]:
        return Monomial, (self.factors,)

    def __mul__(self, other: Monomial) -> Monomial:
        if not other.factors:
            return self
        if not self.factors:
            return other
        powers = dict(self.factors)
        for atom, power in other.factors:
            powers[atom] = powers.get(atom, 0) + power
        return Monomial(tuple(sorted(powers.items(), key=_factor_key)))

    def divided_by(self, other: Monomial) -> Monomial | None:
        """Returns the monomial that times `other` is this one, or None if there is none."""
        if not other.factors:
            return self
        powers = dict(self.factors)
        for atom, power in other.factors:
            left = powers.get(atom, 0) - power
            if left < 0:
                return None
            powers[atom] = left
        return Monomial(tuple(item for item in powers.items() if item[1]))

    def as_dim(self) -> DimLike:
        """Returns the monomial as an expression of its own."""
        return Dim(((self, 1),)) if self.factors else 1

    def without(self, atom: Atom) -> DimLike:
        """Returns the product of the factors but `atom`."""
        return Monomial(tuple(item for item in self.factors if item[0] is not atom)).as_dim()


@final
class Dim:
    """An integer expression over symbols that is not constant. Immutable and interned: `==` is identity.

    Make one with `Dim.symbol` and the operators `+ - * // %` (between dims and ints), or with `parse_dim`. A
    result that is constant comes back as an int. `//` and `%` floor as Python's do, and raise
    `ZeroDivisionError` for a divisor that is exactly 0.

    Attributes:
        terms: Monomials with their coefficients (never 0), in canonical order, the constant last.
    """

    __slots__ = ("__weakref__", "_symbols", "_text", "interval", "lower", "terms")
    terms: Terms
    interval: tuple[int | None, int | None] | None  # both filled in by dim_order when first asked for
    lower: int | Literal["unknown"] | None
    _symbols: frozenset[Symbol] | None
    _text: str | None

    def __new__(cls, terms: Terms) -> Dim:
        """Returns the one dim with these canonical terms. For this module: it checks nothing."""
        found = _DIMS.get(terms)
        if found is not None:
            return found
        made = object.__new__(cls)
        made.terms = terms
        made.interval = None
        made.lower = "unknown"
        made._symbols = made._text = None
        with _INTERNING:
            return _DIMS.setdefault(terms, made)

    @staticmethod
    def symbol(name: str, scope: int = 0) -> Dim:
        """Returns the dim that is one symbol.

        Args:
            name: Any text but the empty one, which in a model means "unknown".
            scope: Tells symbols of the same name apart; 0 is the model's contract. Not printed.

        Raises:
            ValueError: The name is empty.
        """
        if not name:
            raise ValueError("a symbol needs a name")
        return Dim(((Monomial(((Symbol(name, scope), 1),)), 1),))

    def __reduce__(self) -> tuple[Any, ...]:
        return Dim, (self.terms,)

    def __str__(self) -> str:
        if self._text is None:
            self._text = format_dim(self)
        return self._text

    def __repr__(self) -> str:
        return f"Dim({self})"

    def __neg__(self) -> DimLike:
        return Dim(tuple([(monomial, -coefficient) for monomial, coefficient in self.terms]))

    def __add__(self, other: DimLike) -> DimLike:
        if isinstance(other, int):
            return _plus_int(self, other)
        if isinstance(other, Dim):
            counts = dict(self.terms)
            for monomial, coefficient in other.terms:
                counts[monomial] = counts.get(monomial, 0) + coefficient
            return _collect(counts)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: DimLike) -> DimLike:
        if isinstance(other, int):
            return _plus_int(self, -other)
        if isinstance(other, Dim):
            counts = dict(self.terms)
            for monomial, coefficient in other.terms:
                counts[monomial] = counts.get(monomial, 0) - coefficient
            return _collect(counts)
        return NotImplemented

    def __rsub__(self, other: int) -> DimLike:
        return -self + other

    def __mul__(self, other: DimLike) -> DimLike:
        if isinstance(other, int):
            if other == 1:
                return self
            return Dim(tuple([(monomial, c * other) for monomial, c in self.terms])) if other else 0
        if isinstance(other, Dim):
            if len(self.terms) * len(other.terms) > _MAX_PRODUCTS:
                raise TooComplexError("an expression over dims has too many terms")
            counts: dict[Monomial, int] = {}
            for left, a in self.terms:
                for right, b in other.terms:
                    monomial = left * right
                    counts[monomial] = counts.get(monomial, 0) + a * b
            return _collect(counts)
        return NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: DimLike) -> DimLike:
        return floor_div(self, other) if isinstance(other, (int, Dim)) else NotImplemented

    def __rfloordiv__(self, other: int) -> DimLike:
        return floor_div(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: DimLike) -> DimLike:
        return modulo(self, other) if isinstance(other, (int, Dim)) else NotImplemented

    def __rmod__(self, other: int) -> DimLike:
        return modulo(other, self) if isinstance(other, int) else NotImplemented

    @property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols that occur in the expression."""
        if self._symbols is None:
            found: set[Symbol] = set()
            for monomial, _ in self.terms:
                for atom, _ in monomial.factors:
                    if isinstance(atom, Symbol):
                        found.add(atom)
                    else:
                        found.update(*(dim.symbols for dim in atom.arguments if isinstance(dim, Dim)))
            self._symbols = frozenset(found)
        return self._symbols

    def substitute(self, mapping: Mapping[Symbol, DimLike]) -> DimLike:
        """Puts expressions in place of symbols, all at once.

        Args:
            mapping: What each symbol becomes, something that is >= 0; symbols that it lacks stay.

        Raises:
            ZeroDivisionError: A divisor becomes exactly 0.
        """
        if self.symbols.isdisjoint(mapping):
            return self

        def value_of(symbol: Symbol) -> DimLike:
            value = mapping.get(symbol)
            return Dim.symbol(*symbol) if value is None else value

        return _rebuild(self, value_of, {})

    def evaluate(self, bindings: Mapping[Symbol | str, int]) -> int:
        """Computes the integer that the expression is.

        Args:
            bindings: A value >= 0 for each symbol; a str stands for the symbol of that name in scope 0.

        Raises:
            KeyError: A symbol has no value; the message names it.
            ZeroDivisionError: A divisor is 0.
        """

        def value_of(symbol: Symbol) -> int:
            if symbol in bindings:
                return bindings[symbol]
            if symbol.scope == 0 and symbol.name in bindings:
                return bindings[symbol.name]
            scope = f" of scope {symbol.scope}" if symbol.scope else ""
            raise KeyError(f"no value for the symbol {symbol.name!r}{scope}")

        return cast("int", _rebuild(self, value_of, {}))


# Weak, so that a process that optimizes many models forgets the dims of the last one.
_OPAQUES: WeakValueDictionary[tuple[Operator, tuple[DimLike, ...]], Opaque] = WeakValueDictionary()
_MONOMIALS: WeakValueDictionary[tuple[tuple[Atom, int], ...], Monomial] = WeakValueDictionary()
_DIMS: WeakValueDictionary[Terms, Dim] = WeakValueDictionary()
# The setdefault of a weak dictionary is not atomic, and two objects for one expression would be unequal.
# Reentrant, because a finalizer may run inside it.
_INTERNING = RLock()

_RANK: dict[Operator, int] = {"//": 1, "%": 2, "min": 3, "max": 4}  # symbols come first, with 0
_ONE = Monomial(())


def _atom_key(atom: Atom) -> SortKey:
    return (0, *atom) if isinstance(atom, Symbol) else atom.key


def _factor_key(factor: tuple[Atom, int]) -> SortKey:
    return _atom_key(factor[0])


def _term_key(term: tuple[Monomial, int]) -> SortKey:
    return term[0].key


def _dim_key(dim: DimLike) -> SortKey:
    """Returns the place of an expression in the canonical order: ints come last."""
    return tuple((monomial.key, coefficient) for monomial, coefficient in _terms_of(dim))


def _terms_of(dim: DimLike) -> Terms:
    return ((_ONE, dim),) if isinstance(dim, int) else dim.terms


def _plus_int(dim: Dim, constant: int) -> DimLike:
    if not constant:
        return dim
    terms = dim.terms
    last, coefficient = terms[-1]
    if last is not _ONE:
        return Dim((*terms, (_ONE, +constant)))  # the plus makes an int of a bool
    constant += coefficient
    return Dim((*terms[:-1], (_ONE, constant)) if constant else terms[:-1])


def _collect(counts: dict[Monomial, int]) -> DimLike:
    """Returns the sum of monomials times coefficients, which may be 0."""
    terms = [term for term in counts.items() if term[1]]
    if len(terms) > _MAX_TERMS or any(abs(coefficient) > _MAX_COEFFICIENT for _, coefficient in terms):
        raise TooComplexError("an expression over dims has too many terms, or too large numbers")
    if len(terms) > 1:
        terms.sort(key=_term_key)
    elif not terms:
        return 0
    elif terms[0][0] is _ONE:
        return terms[0][1]
    return Dim(tuple(terms))


def _opaque(operator: Operator, *arguments: DimLike) -> Dim:
    return Dim(((Monomial(((Opaque(operator, arguments), 1),)), 1),))


def _only_atom(monomial: Monomial) -> Atom | None:
    """Returns the atom that the monomial is, or None where it is a product or a power."""
    if len(monomial.factors) == 1 and monomial.factors[0][1] == 1:
        return monomial.factors[0][0]
    return None


def _rebuild(dim: DimLike, value_of: Callable[[Symbol], DimLike], done: dict[Atom, DimLike]) -> DimLike:
    """Computes the expression anew from the values of its symbols. `done` makes shared atoms cost once."""
    if isinstance(dim, int):
        return dim
    total: DimLike = 0
    for monomial, coefficient in dim.terms:
        value: DimLike = coefficient
        for atom, power in monomial.factors:
            if atom not in done:
                if isinstance(atom, Symbol):
                    done[atom] = value_of(atom)
                else:
                    arguments = [_rebuild(argument, value_of, done) for argument in atom.arguments]
                    done[atom] = _FUNCTIONS[atom.operator](*arguments)
            base = done[atom]
            for _ in range(power):
                value = value * base
        total = total + value
    return total


def _content(dim: DimLike) -> int:
    """Returns the greatest integer that divides every coefficient."""
    return abs(dim) if isinstance(dim, int) else gcd(*map(itemgetter(1), dim.terms))


def _over(dim: DimLike, divisor: int) -> DimLike:
    """Divides by an integer that is known to divide every coefficient."""
    if isinstance(dim, int):
        return dim // divisor
    return Dim(tuple([(monomial, coefficient // divisor) for monomial, coefficient in dim.terms]))


def floor_div(a: DimLike, b: DimLike) -> DimLike:
    """Returns `a // b`, rounded down as Python does.

    Raises:
        ZeroDivisionError: `b` is exactly 0. (A `b` that is 0 for some bindings raises when evaluated there.)
    """
    if isinstance(b, int):
        if isinstance(a, int):
            return a // b
        return _floor_div_by_int(a, b) if b > 0 else _floor_div_by_int(-a, -b) if b else _divides_by_zero()
    common = gcd(_content(a), _content(b))
    if b.terms[0][1] < 0:
        common = -common  # one form for a/b and -a/-b
    if common != 1:
        a, b = _over(a, common), _over(b, common)
    if differ(b, 0):
        quotient = exact_div(a, b)
        if quotient is not None:
            return quotient
    return 0 if at_least(a, 0) and at_least(b - 1, a) else _opaque("//", a, b)


def _floor_div_by_int(dim: DimLike, divisor: int) -> DimLike:
    """Returns `dim // divisor` for a divisor > 0."""
    whole: DimLike = 0
    while isinstance(dim, Dim):
        exact: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in dim.terms:
            if monomial is _ONE or coefficient > 0:
                exact[monomial], rest[monomial] = divmod(coefficient, divisor)
            else:  # toward zero, so that a negative term stays negative: its bounds are worth more
                exact[monomial] = -(-coefficient // divisor)
                rest[monomial] = coefficient - exact[monomial] * divisor
        if any(exact.values()):
            whole = whole + _collect(exact)
            dim = _collect(rest)
            if isinstance(dim, int):
                return whole  # what is left is in [0, divisor)
        common = gcd(divisor, *(coefficient for monomial, coefficient in dim.terms if monomial is not _ONE))
        if common > 1:  # (k*p + r)//(k*d) = (p + r//k)//d
            dim = _collect({monomial: coefficient // common for monomial, coefficient in dim.terms})
            divisor //= common
            continue
        inner = _addend_that_is(dim, "//")
        if inner is None:
            low, high = interval(dim)
            if low is not None and high is not None and low // divisor == high // divisor:
                return whole + low // divisor
            return whole + _opaque("//", dim, divisor)
        # (q + r//a)//b = ((a*q + r)//a)//b = (a*q + r)//(a*b)
        numerator, factor = inner.arguments[0], cast("int", inner.arguments[1])
        dim = (dim - Monomial(((inner, 1),)).as_dim()) * factor + numerator
        divisor *= factor
    return whole + dim // divisor


def _addend_that_is(dim: Dim, operator: Operator) -> Opaque | None:
    """Returns the first atom of that operator, with an integer divisor, that is a term with coefficient 1."""
    for monomial, coefficient in dim.terms:
        atom = _only_atom(monomial) if coefficient == 1 else None
        if isinstance(atom, Opaque) and atom.operator == operator and isinstance(atom.arguments[1], int):
            return atom
    return None


def modulo(a: DimLike, b: DimLike) -> DimLike:
    """Returns `a % b`, with the sign of `b` as Python does.

    Raises:
        ZeroDivisionError: `b` is exactly 0. (A `b` that is 0 for some bindings raises when evaluated there.)
    """
    if isinstance(b, int):
        if isinstance(a, int):
            return a % b
        return _modulo_int(a, b) if b > 0 else -_modulo_int(-a, -b) if b else _divides_by_zero()
    common = gcd(_content(a), _content(b))
    if b.terms[0][1] < 0:
        common = -common
    if common != 1:
        return common * modulo(_over(a, common), _over(b, common))
    if differ(b, 0) and exact_div(a, b) is not None:
        return 0
    return a if at_least(a, 0) and at_least(b - 1, a) else _opaque("%", a, b)


def _modulo_int(dim: DimLike, divisor: int) -> DimLike:
    """Returns `dim % divisor` for a divisor > 0."""
    # x % a differs from x by a multiple of a, and so of any divisor of a.
    changed = True
    while changed:
        dim = _collect({monomial: coefficient % divisor for monomial, coefficient in _terms_of(dim)})
        changed = False
        for monomial, coefficient in _terms_of(dim):
            atom = _only_atom(monomial)
            if isinstance(atom, Opaque) and atom.operator == "%":
                value, inner = atom.arguments
                if isinstance(inner, int) and inner % divisor == 0:
                    dim = dim + coefficient * (value - monomial.as_dim())
                    changed = True
    if isinstance(dim, int):
        return dim
    constant = dim.terms[-1][1] if dim.terms[-1][0] is _ONE else 0
    common = gcd(divisor, *(coefficient for monomial, coefficient in dim.terms if monomial is not _ONE))
    if common > 1:  # (g*x + s) % (g*k) = g*(x % k) + s, for s in [0, g)
        left = constant % common
        return common * _modulo_int(_over(dim - left, common), divisor // common) + left
    low, high = interval(dim)
    if low is not None and high is not None and low // divisor == high // divisor:
        return dim - low // divisor * divisor
    return _opaque("%", dim, divisor)


def _divides_by_zero() -> NoReturn:
    raise ZeroDivisionError("a dim is divided by 0")


def ceil_div(a: DimLike, b: DimLike) -> DimLike:
    """Returns `a / b` rounded up.

    Raises:
        ZeroDivisionError: `b` is exactly 0.
    """
    if at_least(b, 1):
        return floor_div(a + b - 1, b)
    return -floor_div(-a, b)


def exact_div(a: DimLike, b: DimLike) -> DimLike | None:
    """Returns the `c` with `c*b == a` for all bindings where `b` is not 0, or None where none is proven."""
    if isinstance(b, int):
        return None if b == 0 or _content(a) % b else _over(a, b)
    if isinstance(a, int):
        return None if a else 0
    leading, divisor = b.terms[0]
    quotient: dict[Monomial, int] = {}
    rest: DimLike = a
    while rest:  # long division: each step takes the leading term away
        monomial, coefficient = _terms_of(rest)[0]
        step = monomial.divided_by(leading)
        if step is None or coefficient % divisor:
            return None
        quotient[step] = coefficient // divisor
        rest = rest - b * (step.as_dim() * quotient[step])
    return _collect(quotient)


def minimum(*xs: DimLike) -> DimLike:
    """Returns the least of the dims, without those that are proven to be no less than another.

    Raises:
        ValueError: There are none.
    """
    return _extreme("min", xs)


def maximum(*xs: DimLike) -> DimLike:
    """Returns the greatest of the dims, without those that are proven to be no greater than another.

    Raises:
        ValueError: There are none.
    """
    return _extreme("max", xs)


def _extreme(operator: Literal["min", "max"], xs: Iterable[DimLike]) -> DimLike:
    constants: list[int] = []
    dims: dict[Dim, None] = {}  # a set that keeps its order
    for x in xs:
        atom = None if isinstance(x, int) else _only_atom(x.terms[0][0]) if len(x.terms) == 1 else None
        flat = isinstance(atom, Opaque) and atom.operator == operator and _terms_of(x)[0][1] == 1
        for part in cast("Opaque", atom).arguments if flat else (x,):
            if isinstance(part, int):
                constants.append(part)
            else:
                dims[part] = None
    if not dims:
        return min(constants) if operator == "min" else max(constants)
    kept: list[DimLike] = sorted(dims, key=_dim_key)
    if constants:
        kept.append(min(constants) if operator == "min" else max(constants))
    for x in tuple(kept):
        others = (y for y in kept if y is not x)
        if any(at_least(x, y) if operator == "min" else at_least(y, x) for y in others):
            kept = [y for y in kept if y is not x]
    return kept[0] if len(kept) == 1 else _opaque(operator, *kept)


def product(xs: Iterable[DimLike]) -> DimLike:
    """Returns the product of the dims: 1 for none, 0 if one is exactly 0."""
    constant = 1
    result: DimLike = 1
    for x in xs:
        if isinstance(x, int):
            constant *= x
        else:
            result = x if result == 1 else result * x
    return result * constant


_FUNCTIONS: dict[Operator, Callable[..., DimLike]] = {
    "//": floor_div,
    "%": modulo,
    "min": minimum,
    "max": maximum,
}
