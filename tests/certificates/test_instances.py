from __future__ import annotations

import numpy as np
import onnx

from foldproof.certificates.claim import Claim, Known
from foldproof.certificates.instances import MAX_ELEMENTS, Instance, instances

FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL


def made(*boundary: Known, recorded: tuple[dict[str, int], ...] = ()) -> list[Instance]:
    return list(instances(Claim(b"", b"", boundary), recorded))


def test_symbols_are_0_and_1_and_2_and_more_and_differ() -> None:
    bindings = [each.binding for each in made(Known("x", FLOAT, ("n", "m")))]
    assert {0, 1, 2} < {each["n"] for each in bindings}
    assert any(each["n"] != each["m"] and min(each.values()) > 1 for each in bindings)
    assert {"n": 0, "m": 0} in bindings
    assert any(each["n"] == 0 < each["m"] for each in bindings)


def test_recorded_bindings_come_first() -> None:
    assert made(Known("x", FLOAT, ("n", "_0")), recorded=({"n": 40, "other": 3},))[0].binding["n"] == 40


def test_shapes_and_elements_fit_together() -> None:
    found = made(Known("x", FLOAT, ("n", 3)), Known("s", INT64, (2,), elements=("2*n", 3)))
    assert found
    for each in found:
        n = each.binding["n"]
        assert each.feeds["x"].shape == (n, 3)
        assert each.feeds["s"].tolist() == [2 * n, 3]


def test_special_numbers_are_among_the_floats() -> None:
    values = np.concatenate([each.feeds["x"].reshape(-1) for each in made(Known("x", FLOAT, (16,)))])
    assert np.isnan(values).any()
    assert np.isinf(values).any()
    assert ((values == 0) & np.signbit(values)).any()
    assert (np.abs(values[values != 0]) < np.finfo(np.float32).tiny).any()


def test_extreme_integers_are_there_unless_a_range_is_known() -> None:
    free = np.concatenate([each.feeds["i"] for each in made(Known("i", INT64, (8,)))])
    assert {np.iinfo(np.int64).min, np.iinfo(np.int64).max} < set(free.tolist())
    bounded = np.concatenate([each.feeds["i"] for each in made(Known("i", INT64, (8,), low=0, high=5))])
    assert bounded.min() == 0
    assert bounded.max() <= 5


def test_a_fill_is_everywhere() -> None:
    assert all((each.feeds["x"] == 7).all() for each in made(Known("x", INT64, ("n", 2), fill=7)))


def test_a_binding_that_makes_a_dim_negative_is_left_out() -> None:
    assert all(each.binding["n"] >= 4 for each in made(Known("x", FLOAT, ("n - 4",))))


def test_what_is_too_large_is_not_made() -> None:
    assert made(Known("x", FLOAT, (MAX_ELEMENTS + 1,))) == []


def test_a_sequence_has_the_length_that_is_known() -> None:
    found = made(Known("x", FLOAT, (2,), sequence=True, length=3), Known("y", BOOL, (1,), sequence=True))
    assert all(len(each.feeds["x"]) == 3 and each.feeds["x"][0].shape == (2,) for each in found)


def test_an_unknown_rank_is_several_ones() -> None:
    assert {each.feeds["x"].ndim for each in made(Known("x", FLOAT, None))} > {1, 2, 3}


def test_they_are_always_the_same() -> None:
    first, second = (made(Known("x", FLOAT, ("n", 4)), Known("i", INT64, ("n",))) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.binding == other.binding
        assert all(one.feeds[name].tobytes() == other.feeds[name].tobytes() for name in one.feeds)
