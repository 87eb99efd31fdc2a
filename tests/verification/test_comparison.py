from __future__ import annotations

import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from foldproof.verification.comparison import Comparison, Errors

EXACT = Comparison()
TOLERANT = Comparison(exact=False)
FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]


def differences(comparison, a, b):
    return list(comparison.differences("y", a, b, Errors()))


def kinds(comparison, a, b):
    return [each.kind for each in differences(comparison, a, b)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_tells_minus_zero_from_zero(dtype):
    (found,) = differences(EXACT, np.array([1, 0.0], dtype), np.array([1, -0.0], dtype))
    assert (found.kind, found.index) == ("value", (1,))
    assert not differences(TOLERANT, np.array([1, 0.0], dtype), np.array([1, -0.0], dtype))


@pytest.mark.parametrize("comparison", [EXACT, TOLERANT])
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_equals_nan_and_nothing_else(comparison, dtype):
    nan = np.array([np.nan], dtype)
    assert not differences(comparison, nan, nan)
    assert kinds(comparison, nan, np.zeros(1, dtype)) == ["value"]
    assert kinds(comparison, np.zeros(1, dtype), nan) == ["value"]


def test_nan_payloads_are_alike():
    one, other = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    assert not differences(EXACT, np.array(one), np.array(other))


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_sees_the_last_bit(dtype):
    one = np.ones(3, dtype)
    bits = np.ascontiguousarray(one).view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[one.itemsize])
    other = (bits + np.array([0, 0, 1], bits.dtype)).view(one.dtype)
    (found,) = differences(EXACT, one, other)
    assert found.index == (2,)
    assert found.max_error == abs(float(other[2]) - 1)


def test_tolerance_is_relative_and_scaled_to_the_output():
    a = np.array([1000.0, 1e-3], np.float32)
    assert not differences(TOLERANT, a, a * np.float32(1.00005))
    assert not differences(TOLERANT, a, a + np.array([0, 5e-3], np.float32))
    assert kinds(TOLERANT, a, a * np.float32(1.001)) == ["value"]
    assert kinds(TOLERANT, a, a + np.array([0, 0.1], np.float32)) == ["value"]


@pytest.mark.parametrize("comparison", [EXACT, TOLERANT])
def test_infinities_keep_their_sign(comparison):
    a = np.array([np.inf, 1], np.float32)
    assert not differences(comparison, a, a)
    assert kinds(comparison, a, -a) == ["value"]
    assert kinds(comparison, a, np.array([3e38, 1], np.float32)) == ["value"]


def test_integers_are_exact_also_beyond_what_floats_hold():
    a = np.array([2**53], np.int64)
    assert kinds(TOLERANT, a, a + 1) == ["value"]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_compared_part_by_part(dtype):
    a = np.array([1 + 2j], dtype)
    assert not differences(EXACT, a, a.copy())
    assert kinds(EXACT, a, np.conj(a)) == ["value"]
    assert not differences(TOLERANT, a, a + dtype(1e-9j))


def test_strings_and_booleans_are_compared():
    assert not differences(EXACT, np.array(["a", "b"], object), np.array(["a", "b"]))
    assert kinds(EXACT, np.array(["a", "b"], object), np.array(["a", "c"], object)) == ["value"]
    assert kinds(EXACT, np.array([True]), np.array([False])) == ["value"]


def test_dtype_and_shape_come_before_values():
    a = np.zeros((2, 3), np.float32)
    assert kinds(EXACT, a, a.astype(np.float64)) == ["dtype"]
    assert kinds(EXACT, a, a.reshape(3, 2)) == ["shape"]
    assert kinds(EXACT, np.zeros((), np.int64), np.zeros(1, np.int64)) == ["shape"]
    assert not differences(EXACT, np.zeros((0, 3)), np.zeros((0, 3)))
    assert kinds(EXACT, np.zeros((0, 3)), np.zeros((3, 0))) == ["shape"]


def test_sequences_are_compared_by_length_and_element():
    one, two = np.zeros(1), np.zeros(2)
    assert not differences(EXACT, [one, two], [one, two])
    assert kinds(EXACT, [one, two], [one]) == ["shape"]
    (found,) = differences(EXACT, [one, two], [one, two + 1])
    assert found.output == "y[1]"


def test_maps_are_compared_by_key():
    assert not differences(EXACT, [{"a": 1.5}], [{"a": 1.5}])
    assert kinds(EXACT, [{"a": 1.5}], [{"b": 1.5}]) == ["value"]
    (found,) = differences(EXACT, [{"a": 1.5}], [{"a": 2.5}])
    assert found.output == "y[0]['a']"


def test_an_absent_optional_differs_from_a_present_one():
    assert not differences(EXACT, None, None)
    assert kinds(EXACT, None, np.zeros(1)) == ["dtype"]
    assert kinds(EXACT, [np.zeros(1)], np.zeros(1)) == ["dtype"]


def test_random_outputs_are_compared_by_shape_alone():
    shapes_only = Comparison(values=False)
    assert not differences(shapes_only, np.zeros(2), np.ones(2))
    assert kinds(shapes_only, np.zeros(2), np.ones(3)) == ["shape"]
    assert not differences(Comparison(values=False, shapes=False), np.zeros(2), np.ones(3))


def test_the_largest_errors_are_noted():
    errors = Errors()
    list(TOLERANT.differences("y", np.array([10.0, 1.0]), np.array([11.0, 1.5]), errors))
    assert (errors.absolute, errors.relative) == (1.0, 0.5)


def test_a_difference_within_the_original_s_own_noise_is_none():
    from foldproof.verification import verify
    from tests.helpers import parse

    # A sine of large arguments: the last bit of x decides on the third digit.
    body = "g (float[64] x) => (float[64] y) <float k = {100000}, float m = {100}, float n = {1000}> "
    a = parse(body + "{ a = Mul(x, k) y = Sin(a) }")
    b = parse(body + "{ b = Mul(x, m) a = Mul(b, n) y = Sin(a) }")
    assert verify(a, b, exact=True).status == "different"
    assert verify(a, b, exact=False).status == "same"
    wrong = parse(body + "{ b = Mul(x, k) a = Add(b, b) y = Sin(a) }")
    assert verify(a, wrong, exact=False).status == "different"


def test_one_large_channel_does_not_hide_another():
    from foldproof.verification import verify
    from tests.helpers import parse

    body = "g (float[N,3] x) => (float[N,6] y) <float k = {100000000}> { a = Mul(x, k) b = Identity(x) y = Concat <axis = 1> (a, b) }"
    assert verify(parse(body), parse(body.replace("Identity", "Neg")), exact=False).status == "different"
    assert verify(parse(body), parse(body), exact=False).status == "same"


def test_errors_are_measured_in_units_in_the_last_place():
    errors = Errors()
    one = np.array([1.0, 1e10, np.inf, np.nan], np.float32)
    other = one.copy()
    other[1] = np.nextafter(np.nextafter(other[1], np.float32(np.inf)), np.float32(np.inf))
    assert not list(Comparison(exact=False).differences("y", one, other, errors))
    assert errors.ulps == 2.0


def test_equal_arrays_take_no_memory_to_compare_and_a_last_bit_is_seen() -> None:
    one = np.zeros(10_000_019, np.float32)
    tracemalloc.start()
    assert not list(Comparison().differences("y", one, one.copy(), Errors()))
    peak = tracemalloc.get_traced_memory()[1] - one.nbytes
    tracemalloc.stop()
    assert peak < one.nbytes / 4
    other = one.copy()
    other[-1] = -0.0
    assert len(list(Comparison().differences("y", one, other, Errors()))) == 1
