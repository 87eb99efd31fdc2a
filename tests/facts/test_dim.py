"""The dim algebra: tables of what each operation gives, and properties against plain Python integers."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import subprocess
import sys
import threading
from math import prod

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from foldproof.facts import dim as dim_module
from foldproof.facts.dim import (
    Dim,
    Symbol,
    at_least,
    ceil_div,
    differ,
    equal,
    exact_div,
    floor_div,
    lower_bound,
    maximum,
    minimum,
    modulo,
    parse_dim,
    product,
    upper_bound,
)

batch, h, m, n, seq = (Dim.symbol(name) for name in ("batch", "h", "m", "n", "seq"))


# Tables


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (n + 0, n),
        (n * 1, n),
        (n * 0, 0),
        (n - n, 0),
        (n + m - n - m + 3, 3),
        ((n + 1) * (n - 1), n * n - 1),
        ((n + m) * (n + m), n * n + 2 * n * m + m * m),
        (3 - n, -(n - 3)),
        (n + True, n + 1),
        ((4 * n + 6) // 2, 2 * n + 3),
        ((6 * n + 4) // 2, 3 * n + 2),
        ((6 * n + 2) // 4, (3 * n + 1) // 2),
        ((4 * n + m + 5) // 4, n + (m + 5) // 4),
        ((m + 5) // 4, (m + 1) // 4 + 1),
        ((m - 1) // 4, (m + 3) // 4 - 1),
        (n // 1, n),
        (n // -1, -n),
        (n // -2, (-n) // 2),
        ((n // 2) // 3, n // 6),
        (((n + 1) // 2 + 1) // 2, (n + 3) // 4),
        (n % 1, 0),
        ((4 * n + 5) % 4, 1),
        ((5 * n + 9) % 4, (n + 1) % 4),
        ((2 * n + 1) % 2, 1),
        ((2 * n) % 4, 2 * (n % 2)),
        ((n % 4) % 2, n % 2),
        ((n % 4 + 1) % 2, (n + 1) % 2),
        ((n % 4) % 6, n % 4),
        ((n % 4) // 4, 0),
        (n % -3, -((-n) % 3)),
        (((n + 1) * m) // (n + 1), m),
        (((n + 1) * m) % (n + 1), 0),
        (n // (n + 1), 0),
        (n % (n + 1), n),
        ((2 * n) // (2 * m), n // m),
        ((2 * n) % (2 * m), 2 * (n % m)),
        (n // -m, (-n) // m),
        (minimum(n, 0), 0),
        (maximum(n, 0), n),
        (minimum(n, n + 1), n),
        (minimum(n, m, n), minimum(m, n)),
        (minimum(minimum(n, 5), minimum(m, 3)), minimum(m, n, 3)),
        (maximum(maximum(n, 5), maximum(m, 3)), maximum(m, n, 5)),
        (maximum(minimum(n, m), n), n),
        (minimum(n // 2, n), n // 2),
        (minimum(n % 4, 3), n % 4),
        (minimum(n), n),
        (minimum(4, 2), 2),
        (maximum(4, 2), 4),
        (product([]), 1),
        (product([2, n, 3, m]), 6 * n * m),
        (product([n, 0, m]), 0),
        (ceil_div(7, 2), 4),
        (ceil_div(n, 2), (n + 1) // 2),
        (ceil_div(n, -2), -(n // 2)),
        (ceil_div(n, m + 1), (n + m) // (m + 1)),
        (ceil_div(n, m), -((-n) // m)),
        (floor_div(-7, 2), -4),
        (modulo(-7, 4), 1),
    ],
)
def test_canonical_form(expression, expected):
    assert expression is expected or (type(expression), expression) == (int, expected)


@pytest.mark.parametrize(
    "expression",
    [
        (n * m) // m,
        n // n,
        n % n,
        (n * m) % m,
        0 // n,
        7 // n,
        (n + 1) // 2,
        minimum(n, 1),
        maximum(n, 1),
    ],
)
def test_what_has_no_simpler_form_stays_opaque(expression):
    assert isinstance(expression, Dim)
    assert len(expression.terms) == 1
    assert type(expression.terms[0][0].factors[0][0]).__name__ == "Opaque"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((6 * n + 3) // 4, (3 * n + 1) // 2),
        ((3 * n) // 2, n + n // 2),
        ((m + 4 * n) // 4, m // 4 + n),
        ((5 * m + 7) // 3, m + (2 * m + 1) // 3 + 2),
    ],
)
def test_equal_floors_are_one_object(one, other):
    assert one is other


def test_division_by_a_symbol_that_is_zero_raises_when_evaluated():
    quotient, remainder = (n * m) // m, (n * m) % m
    assert quotient.evaluate({"n": 5, "m": 2}) == 5
    with pytest.raises(ZeroDivisionError):
        quotient.evaluate({"n": 5, "m": 0})
    with pytest.raises(ZeroDivisionError):
        remainder.evaluate({"n": 5, "m": 0})
    with pytest.raises(ZeroDivisionError):
        quotient.substitute({Symbol("m"): 0})


@pytest.mark.parametrize("function", [operator.floordiv, operator.mod, floor_div, modulo, ceil_div])
@pytest.mark.parametrize("numerator", [n, 4])
def test_division_by_exactly_zero_raises(function, numerator):
    with pytest.raises(ZeroDivisionError):
        function(numerator, 0)
    with pytest.raises(ZeroDivisionError):
        function(numerator, n - n)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (n, "n"),
        (-n, "-n"),
        (2 * batch * seq, "2*batch*seq"),
        (batch + 1, "batch + 1"),
        (1 + 2 * batch + seq * batch, "batch*seq + 2*batch + 1"),
        (10 - n, "10 - n"),
        (-n - 3, "-n - 3"),
        (n - m * n + 1, "n - m*n + 1"),
        (n * n, "n**2"),
        (3 * n * n * m, "3*m*n**2"),
        (h // 2, "h//2"),
        ((h + 1) // 2, "(h + 1)//2"),
        ((3 * h) // 2, "h + h//2"),
        ((3 * h) // 5, "(3*h)//5"),
        ((-h) // 2, "(-h)//2"),
        (-(h // 2), "-(h//2)"),
        (n - h // 2, "n - h//2"),
        (2 * (h // 2), "2*(h//2)"),
        ((h // 2) * (h // 2), "(h//2)**2"),
        (h % 2, "h % 2"),
        ((h // 3) % 2, "(h//3) % 2"),
        (h // n, "h//n"),
        (h // (n * m), "h//(m*n)"),
        (-7 // n, "(-7)//n"),
        (minimum(n, m), "min(m, n)"),
        (maximum(3, n), "max(n, 3)"),
        (2 * maximum(n, 3) + 1, "2*max(n, 3) + 1"),
        (maximum(n, 3) // 2, "max(n, 3)//2"),
        (Dim.symbol("past.len") + 1, "past.len + 1"),
        (Dim.symbol("n", 3), "n"),
    ],
)
def test_text(expression, text):
    assert str(expression) == text
    assert repr(expression) == f"Dim({text})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("-3", -3),
        (" n ", n),
        ("n+1", n + 1),
        ("--n", n),
        ("2*-n", -2 * n),
        ("n*m//2", (n * m) // 2),
        ("-n//2", (-n) // 2),
        ("-n**2", -(n * n)),
        ("(n + 1)**2", n * n + 2 * n + 1),
        ("2**3", 8),
        ("n - m - 1", n - m - 1),
        ("max(n, min(m, 3), 1)", maximum(n, minimum(m, 3), 1)),
        ("min + max", Dim.symbol("min") + Dim.symbol("max")),
        ("größe", Dim.symbol("größe")),
    ],
)
def test_parse(text, expected):
    assert parse_dim(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "n +",
        "n m",
        "2n",
        "n/2",
        "floor(n)",
        "n.m",
        "(n",
        "n)",
        "min()",
        "min(n,)",
        "n**-1",
        "n**m",
        "n**2**2",
        "+n",
        "n//0",
        "n % (m - m)",
        "1.5",
        "²",
        "n\x00",
        "__import__('os')",
        "(" * 2000 + "n" + ")" * 2000,
        "(a+b+c+d+e+f+g)**60",
        "9**1000**1000",
        "((9**1000)**1000)**1000",
        "n**99999999999",
        "9" * 5000,
    ],
)
def test_what_is_no_dim_is_a_value_error(text):
    with pytest.raises(ValueError):  # noqa: PT011 - the messages differ, the type is the contract
        parse_dim(text)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (6, 3, 2),
        (7, 3, None),
        (0, n, 0),
        (5, n, None),
        (n, 0, None),
        (4 * n + 2, 2, 2 * n + 1),
        (4 * n + 2, -2, -2 * n - 1),
        (4 * n + 1, 2, None),
        (2 * n * m, 2 * m, n),
        (n * m + m, m, n + 1),
        (n * m + 1, m, None),
        (n * n - m * m, n - m, n + m),
        (n * n + m * m, n + m, None),
        (3 * n, 2 * n, None),
        (n, n * m, None),
        (6 * (n // 2) * m, 3 * (n // 2), 2 * m),
    ],
)
def test_exact_div(a, b, expected):
    assert exact_div(a, b) == expected


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (5, 5, 5),
        (n, 0, None),
        (n + 1, 1, None),
        (3 - n, None, 3),
        (n - m, None, None),
        (2 * n * m + 3, 3, None),
        (n % 4, 0, 3),
        (7 - 2 * (n % 4), 1, 7),
        (minimum(n, 5), 0, 5),
        (maximum(n, 5), 5, None),
        ((n % 10) // 3, 0, 3),
        ((n + 9) // 3, 3, None),
        (7 // (n + 2), 0, 3),
        (-7 // (n + 2), -4, -1),
        ((n % 4) * (2 - m % 5), -6, 6),
        (n - 2 * (n // 2), 0, 1),
        ((n - m) * (n - m), None, None),
        (minimum(n, m) - n, None, 0),
        (minimum(n, 10**400) * 10**400 * m, 0, None),
    ],
)
def test_bounds(expression, low, high):
    # None stands for no bound but the one that the largest dim gives.
    found = lower_bound(expression), upper_bound(expression)
    assert found[0] == low if low is not None else found[0] < -(2**20)
    assert found[1] == high if high is not None else found[1] > 2**20


def test_a_symbol_is_a_dim_of_a_tensor():
    assert (lower_bound(n), upper_bound(n)) == (0, 2**30)
    assert minimum(n, 2**31 - 1) is n
    assert minimum(n, 2**30 - 1) is not n


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (3, 3),
        (n, n),
        (n, 0),
        (n + 1, n),
        (n + m, n),
        (n, minimum(n, m)),
        (maximum(n, m), n),
        (maximum(n, m), minimum(n, m)),
        (n + m, maximum(n, m)),
        (n, n // 2),
        (n, (n + 1) // 2),
        (n, 2 * (n // 2)),
        (2 * (n // 2) + 1, n),
        (n, n % m),
        (n, n // m),
        (m, n % m),
        (n * m, n * (m // 2)),
        ((n + 3) // 2, (n + 2) // 2),
        (n, maximum(minimum(n, m) - 1, 0)),
    ],
)
def test_at_least_is_proven(a, b):
    assert at_least(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [(2, 3), (n, 1), (n, n + 1), (n, m), (n * m, n), (minimum(n, m), n), (n, (n + 2) // 2), (n, n * n)],
)
def test_at_least_is_not_claimed_where_it_fails(a, b):
    assert not at_least(a, b)


def test_equal_and_differ():
    assert equal(3, 3)
    assert not equal(3, 4)
    assert equal((n + 1) * m, m * n + m)
    assert equal((6 * n + 3) // 4, (3 * n + 1) // 2)
    assert equal((3 * n) // 2, n + n // 2)
    assert not equal(n, m)
    assert differ(3, 4)
    assert differ(n, n + 1)
    assert differ(n + 1, 0)
    assert differ(2 * n, 2 * m + 1)
    assert differ(n % 3, 5)
    assert not differ(n, 0)
    assert not differ(n, m)
    assert not differ(n, n)
    assert not differ(2 * n, 4 * m + 2)


def test_symbols_and_scopes():
    inner = Dim.symbol("n", 7)
    assert inner != n
    assert inner - n != 0
    expression = minimum(n * inner, h // 2) + seq % 3
    assert expression.symbols == {Symbol("n"), Symbol("n", 7), Symbol("h"), Symbol("seq", 0)}
    assert (n + inner).evaluate({"n": 1, Symbol("n", 7): 10}) == 11
    assert (n + 1).evaluate({Symbol("n"): 1}) == 2


def test_evaluate_names_the_missing_symbol():
    with pytest.raises(KeyError, match="seq"):
        (batch * seq).evaluate({"batch": 2})
    with pytest.raises(KeyError, match="'n' of scope 7"):
        Dim.symbol("n", 7).evaluate({"n": 2})


def test_substitute():
    swapped = (n - m).substitute({Symbol("n"): m, Symbol("m"): n})
    assert swapped is m - n
    assert (n * m + 1).substitute({Symbol("h"): 3}) is n * m + 1
    assert (n * m + 1).substitute({Symbol("n"): 3, Symbol("m"): 2}) == 7
    assert ((n + 1) // 2).substitute({Symbol("n"): 4 * h}) is 2 * h
    assert minimum(n, m).substitute({Symbol("m"): n + 1}) is n


def test_an_empty_name_is_refused():
    with pytest.raises(ValueError, match="name"):
        Dim.symbol("")


@pytest.mark.parametrize("other", [1.5, "n", None])
def test_only_ints_and_dims_mix(other):
    for function in (operator.add, operator.sub, operator.mul, operator.floordiv):
        with pytest.raises(TypeError):
            function(n, other)
        with pytest.raises(TypeError):
            function(other, n)
    assert n != other


# Interning


def test_equal_expressions_are_one_object():
    assert n + m is m + n
    assert (n + 1) * (n + 2) is n * n + 3 * n + 2
    assert Dim.symbol("n") is n
    assert len({n + 1, 1 + n, n + 1 + 0}) == 1
    assert n != 1


@pytest.mark.parametrize("expression", [n, 2 * n * m + 1, minimum(n // 2, m % 3) * h, Dim.symbol("n", 4) // m])
def test_copies_are_the_same_object(expression):
    assert copy.copy(expression) is expression
    assert copy.deepcopy([expression])[0] is expression
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(expression, protocol)) is expression


def test_forgotten_dims_leave_the_tables():
    tables = (dim_module._DIMS, dim_module._MONOMIALS, dim_module._OPAQUES)
    gc.collect()
    before = [len(table) for table in tables]
    for i in range(200):
        x = Dim.symbol(f"forgotten{i}")
        assert isinstance(minimum((x * n + i) // 7, m) % 5, Dim)
    del x
    gc.collect()
    assert [len(table) for table in tables] == before


@pytest.fixture
def hasty_threads():
    """Threads take turns so often that a race shows."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_agree_on_the_object():
    barrier = threading.Barrier(8)
    made: list[list[object]] = []

    def work() -> None:
        barrier.wait()
        made.append([(Dim.symbol(f"thread{i}") * n + 1) // 3 for i in range(300)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert all(a is b for other in made for a, b in zip(made[0], other, strict=True))


def test_the_order_does_not_depend_on_hashes():
    code = (
        "from foldproof.facts.dim import *\n"
        "a, b, c = map(Dim.symbol, 'abc')\n"
        "print(maximum(c, b, a//2, b%3) * (c + b + a + Dim.symbol('a', 2)*2) + minimum(c//a, b//a, 9))"
    )
    texts = set()
    for seed in "0", "1", "2", "3":
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        texts.add(run.stdout)
    assert len(texts) == 1


def test_deep_nesting_is_no_trouble():
    x = n
    for i in range(150):
        x = maximum(minimum(x, 100 + i) - m, 0) if i % 2 else (3 * x + 1) // 2
    assert isinstance(x, Dim)
    assert x.evaluate({"n": 1, "m": 10**6}) == 0
    assert x.symbols == {Symbol("n"), Symbol("m")}


# Properties, on random trees: an int, a name, or (operator, left, right)

NAMES = ("a", "b", "c")
FUNCTIONS = {
    "+": (operator.add, operator.add),
    "-": (operator.sub, operator.sub),
    "*": (operator.mul, operator.mul),
    "//": (operator.floordiv, floor_div),
    "%": (operator.mod, modulo),
    "min": (min, minimum),
    "max": (max, maximum),
}
LEAVES = st.sampled_from(NAMES) | st.integers(-9, 9)


def _node(children):
    positive = st.integers(2, 12)
    return st.one_of(
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), children, children),
        st.tuples(st.sampled_from(["//", "%"]), children, positive),
    )


TREES = st.recursive(LEAVES, _node, max_leaves=10)
BINDINGS = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, 12) | st.integers(0, 10**6)))


def python_value(tree, bindings):
    if isinstance(tree, tuple):
        return FUNCTIONS[tree[0]][0](python_value(tree[1], bindings), python_value(tree[2], bindings))
    return bindings[tree] if isinstance(tree, str) else tree


def python_value_or_reject(tree, bindings):
    try:
        return python_value(tree, bindings)
    except ZeroDivisionError:
        assume(False)


def build(tree):
    if isinstance(tree, tuple):
        return FUNCTIONS[tree[0]][1](build(tree[1]), build(tree[2]))
    return Dim.symbol(tree) if isinstance(tree, str) else tree


def build_or_reject(tree):
    try:
        return build(tree)
    except ZeroDivisionError:
        assume(False)


def value(dim, bindings):
    return dim if isinstance(dim, int) else dim.evaluate(bindings)


@settings(max_examples=600, deadline=None)
@given(TREES, BINDINGS)
@example(("//", ("+", ("*", "a", 6), 3), 4), {"a": 1, "b": 0, "c": 0})
def test_a_dim_has_the_value_of_its_tree(tree, bindings):
    expected = python_value_or_reject(tree, bindings)
    # Building raises only for a divisor that is 0 for all bindings, and then Python raised above.
    dim = build(tree)
    assert value(dim, bindings) == expected
    assert isinstance(dim, int) or dim.symbols <= {Symbol(name) for name in NAMES}


@settings(max_examples=600, deadline=None)
@given(TREES, BINDINGS)
def test_bounds_hold(tree, bindings):
    expected = python_value_or_reject(tree, bindings)
    dim = build(tree)
    low, high = lower_bound(dim), upper_bound(dim)
    assert low is None or low <= expected
    assert high is None or high >= expected


@settings(max_examples=600, deadline=None)
@given(TREES, TREES, BINDINGS)
def test_proofs_never_lie(left, right, bindings):
    a, b = python_value_or_reject(left, bindings), python_value_or_reject(right, bindings)
    x, y = build(left), build(right)
    assert not at_least(x, y) or a >= b
    assert not equal(x, y) or a == b
    assert not differ(x, y) or a != b
    assert x != y or a == b
    assert not (equal(x, y) and differ(x, y))


@settings(max_examples=400, deadline=None)
@given(TREES, TREES, BINDINGS)
def test_exact_div_divides(left, right, bindings):
    a, b = python_value_or_reject(left, bindings), python_value_or_reject(right, bindings)
    x, y = build(left), build(right)
    quotient = exact_div(x, y)
    if quotient is not None:
        assert value(quotient, bindings) * b == a
    if not equal(y, 0):
        assert exact_div(x * y, y) == x


@settings(max_examples=400, deadline=None)
@given(TREES, TREES, BINDINGS)
def test_ceil_div_rounds_up(left, right, bindings):
    a, b = python_value_or_reject(left, bindings), python_value_or_reject(right, bindings)
    assume(b != 0)
    assert value(ceil_div(build(left), build(right)), bindings) == -(-a // b)


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_text_round_trip(tree):
    dim = build_or_reject(tree)
    assert parse_dim(str(dim)) == dim
    # The text also means to Python what it means to us.
    bindings = {"a": 3, "b": 5, "c": 7}
    try:
        expected = value(dim, bindings)
    except ZeroDivisionError:
        return
    assert eval(str(dim), {"__builtins__": {}, "min": min, "max": max}, bindings) == expected


@settings(max_examples=400, deadline=None)
@given(TREES, TREES, TREES, BINDINGS)
def test_substitute_agrees_with_evaluate(tree, for_a, for_b, bindings):
    a, b = python_value_or_reject(for_a, bindings), python_value_or_reject(for_b, bindings)
    replacements = {Symbol("a"): maximum(build(for_a), 0), Symbol("b"): maximum(build(for_b), 0)}
    expected = python_value_or_reject(tree, {"a": max(a, 0), "b": max(b, 0), "c": bindings["c"]})
    dim = build(tree)
    substituted = dim if isinstance(dim, int) else dim.substitute(replacements)
    assert value(substituted, bindings) == expected


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_rebuilding_a_canonical_form_changes_nothing(tree):
    dim = build_or_reject(tree)
    assume(isinstance(dim, Dim))
    away = {Symbol(name): Dim.symbol(name, 1) for name in NAMES}
    back = {Symbol(name, 1): Dim.symbol(name) for name in NAMES}
    assert dim.substitute(away).substitute(back) is dim
    assert pickle.loads(pickle.dumps(dim)) is dim


@settings(max_examples=400, deadline=None)
@given(TREES, TREES, TREES)
def test_ring_laws_give_the_same_object(first, second, third):
    x, y, z = (build_or_reject(tree) for tree in (first, second, third))
    assert x + y == y + x
    assert x * y == y * x
    assert (x + y) + z == x + (y + z)
    assert x * (y + z) == x * y + x * z
    assert x - y == -(y - x)
    assert minimum(x, y) == minimum(y, x)
    assert product([x, y, z]) == x * y * z


@settings(max_examples=400, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4))
def test_functions_of_ints_are_those_of_python(xs):
    assert product(xs) == prod(xs)
    assert minimum(*xs) == min(xs)
    assert maximum(*xs) == max(xs)


@settings(max_examples=400, deadline=None)
@given(*[st.integers(-30, 30)] * 3, *[st.integers(1, 12)] * 2)
def test_multiples_of_the_divisor_come_out_of_a_division(p, q, r, k, j):
    x = p * n + q * m + r
    assert (x + k * h) // k == x // k + h
    assert equal((x + k * n) // k, x // k + n)  # not always one object: `(3*n)//2` and `n//2 + n`
    assert (x + k * n) % k == x % k
    assert (j * x) // (j * k) == x // k
    assert (j * x) % (j * k) == j * (x % k)
