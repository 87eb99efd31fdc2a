from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from foldproof.verification.feeds import Plan, TooLarge, make_feeds
from foldproof.verification.hints import Hint
from foldproof.verification.signature import inputs_of
from foldproof.verification.specials import sprinkle

T = onnx.TensorProto


def inputs(*values, initializers=(), ir=9):
    graph = helper.make_graph([], "g", list(values), [], list(initializers))
    return inputs_of(helper.make_model(graph, ir_version=ir))


def tensor(element_type, dims=("N",), name="x"):
    return helper.make_tensor_value_info(name, element_type, None if dims is None else list(dims))


def feed(value, hints=None, **plan):
    return make_feeds(inputs(value), Plan({"N": 64}, **plan), hints or {})["x"]


@pytest.mark.parametrize(
    ("element_type", "dtype"),
    [
        (T.FLOAT, np.float32),
        (T.DOUBLE, np.float64),
        (T.FLOAT16, np.float16),
        (T.BFLOAT16, ml_dtypes.bfloat16),
        (T.FLOAT8E5M2, ml_dtypes.float8_e5m2),
        (T.INT4, ml_dtypes.int4),
        (T.COMPLEX64, np.complex64),
        (T.BOOL, np.bool_),
        (T.UINT64, np.uint64),
        (T.STRING, object),
    ],
)
def test_each_type_gets_values_of_its_own_that_differ(element_type, dtype):
    value = feed(tensor(element_type))
    assert value.dtype == dtype
    assert value.shape == (64,)
    assert len(set(value.tolist())) > 1


def test_the_same_seed_gives_the_same_feed_and_another_seed_another():
    one, same, other = (feed(tensor(T.FLOAT), seed=seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize("seed", range(0, 40, 2))
@pytest.mark.parametrize("size", [1, 2, 3])
def test_floats_of_two_runs_have_both_signs(seed, size):
    runs = [feed(tensor(T.FLOAT, (size,)), seed=each) for each in (seed, seed + 1)]
    assert {*np.sign(np.concatenate(runs))} == {-1, 1}
    assert size == 1 or all({*np.sign(run)} == {-1, 1} for run in runs)


def test_two_inputs_of_one_type_differ():
    made = make_feeds(inputs(tensor(T.FLOAT), tensor(T.FLOAT, name="z")), Plan({"N": 4}), {})
    assert (made["x"] != made["z"]).any()


def test_integers_are_small_and_nonnegative():
    value = feed(tensor(T.INT64))
    assert value.min() >= 0
    assert value.max() < 8


def test_integers_keep_to_hints_pins_and_caps():
    assert set(feed(tensor(T.INT64), {"x": Hint(low=2, high=4)}).tolist()) == {2, 3}
    assert set(feed(tensor(T.INT64), values={"x": 9}).tolist()) == {9}
    assert feed(tensor(T.INT64), {"x": Hint(high=100)}, cap=3).max() == 3
    whole = feed(tensor(T.FLOAT), {"x": Hint(high=100, whole=True)})
    assert (whole == np.round(whole)).all()
    assert feed(tensor(T.FLOAT), {"x": Hint(positive=True)}).min() >= 0


def test_a_mask_leaves_something_of_each_row():
    mask = feed(tensor(T.BOOL, ("N", 5)))
    assert mask.any(axis=-1).all()
    assert not mask.all()


def test_declared_sizes_are_taken_literally():
    assert feed(tensor(T.FLOAT, (0, "N", 3))).shape == (0, 64, 3)
    assert feed(tensor(T.FLOAT, ())).shape == ()


def test_an_input_without_rank_gets_the_plans():
    value = make_feeds(inputs(tensor(T.FLOAT, None)), Plan({}, ranks={"x": 3}), {})["x"]
    assert value.ndim == 3


def test_sequences_optionals_and_maps():
    declared = helper.make_tensor_type_proto(T.FLOAT, ["N"])
    sequence = helper.make_value_info("x", helper.make_sequence_type_proto(declared))
    assert [each.shape for each in feed(sequence)] == [(64,), (64,)]
    optional = helper.make_value_info("x", helper.make_optional_type_proto(declared))
    assert feed(optional).shape == (64,)
    assert feed(optional, absent=True) is None
    mapping = onnx.ValueInfoProto(name="x")
    mapping.type.map_type.key_type = T.STRING
    mapping.type.map_type.value_type.CopyFrom(helper.make_tensor_type_proto(T.FLOAT, []))
    assert {type(key) for key in feed(mapping)} == {str}


def test_overridable_initializers_get_other_values_only_when_asked():
    weight = helper.make_tensor("w", T.FLOAT, [3], [1.0, 1.0, 1.0])
    count = helper.make_tensor("n", T.INT64, [], [4])
    given = inputs(tensor(T.FLOAT, (3,), "w"), tensor(T.INT64, (), "n"), initializers=[weight, count])
    assert make_feeds(given, Plan({}), {}) == {}
    assert set(make_feeds(given, Plan({}, override="floats"), {})) == {"w"}
    made = make_feeds(given, Plan({}, override="all"), {})
    assert made["n"] != 4
    assert (made["w"] != 1).all()


def test_initializers_of_ir_version_3_are_no_inputs():
    weight = helper.make_tensor("w", T.FLOAT, [1], [1.0])
    assert inputs(tensor(T.FLOAT, (1,), "w"), initializers=[weight], ir=3) == ()


def test_no_feed_is_larger_than_the_limit():
    with pytest.raises(TooLarge):
        feed(tensor(T.FLOAT, (1 << 20, 1 << 20)))


def test_negative_integers_are_among_the_small_numbers():
    values = sprinkle(np.ones((2, 3), np.int32), "small", np.random.default_rng(0))
    assert (values < 0).any()
    assert (sprinkle(np.ones((2, 3), np.uint8), "small", np.random.default_rng(0)) == 1).all()


@pytest.mark.parametrize("seed", range(12))
def test_zeros_of_both_signs_are_among_the_small_numbers_of_few_elements(seed: int) -> None:
    values = sprinkle(np.ones((2, 3), np.float32), "small", np.random.default_rng(seed))
    assert set(np.signbit(values[values == 0])) == {False, True}


@pytest.mark.parametrize("element_type", [T.FLOAT, T.FLOAT8E5M2, T.INT8, T.DOUBLE])
def test_what_would_take_too_much_while_it_is_drawn_is_not_made_up(element_type):
    with pytest.raises(TooLarge, match=r"input 'x' of shape \[16384, 16384\] is too large"):
        feed(tensor(element_type, (16384, 16384)))


def test_a_lack_of_memory_is_no_fault_of_ours(monkeypatch):
    def none_left(self, dims):
        raise MemoryError

    monkeypatch.setattr("foldproof.verification.feeds._Maker.floats", none_left)
    with pytest.raises(TooLarge, match="not enough memory to make up input 'x'"):
        feed(tensor(T.FLOAT))
