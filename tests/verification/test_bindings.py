from __future__ import annotations

import itertools

import onnx
from onnx import helper

from foldproof.verification.bindings import Search
from foldproof.verification.feeds import Plan
from foldproof.verification.goals import Goal, goals
from foldproof.verification.hints import Hint
from foldproof.verification.repairs import repairs
from foldproof.verification.signature import inputs_of

ONES = Goal("ones", "all dims 1")
DISTINCT = Goal("apart", "dims other than 1")


def inputs(**dims):
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in dims.items()]
    graph = helper.make_graph([], "g", values, [])
    return inputs_of(helper.make_model(graph, ir_version=9))


def first(search, count=1):
    return [dict(plan.dims) for plan in itertools.islice(search, count)]


def test_the_first_bindings_are_ones_and_numbers_of_their_own():
    given = inputs(x=["N", 3, "H", "W"], z=["N", "K"])
    assert first(Search(given, ONES, {})) == [{"N": 1, "H": 1, "W": 1, "K": 1}]
    (binding,) = first(Search(given, DISTINCT, {}))
    assert len({*binding.values()}) == 4
    assert min(binding.values()) > 1


def test_unnamed_dims_are_named_by_input_and_axis():
    given = inputs(x=[None, -1, "", 0, 4])
    (binding,) = first(Search(given, DISTINCT, {}))
    assert list(binding) == ["x:0", "x:1", "x:2"]  # 0 is a real size


def test_the_usual_shapes_are_among_the_bindings():
    images = list(map(tuple, (each.values() for each in first(Search(inputs(x=["N", 3, "H", "W"]), DISTINCT, {}), 90))))
    assert (2, 32, 64) in images
    assert (2, 32, 32) in images
    assert (32, 32, 32) in images
    caches = first(Search(inputs(ids=["B", "seq"], mask=["B", "total"], k=["B", 4, "past", 8]), DISTINCT, {}), 30)
    assert any(each["total"] == each["past"] + each["seq"] and each["past"] != each["seq"] for each in caches)
    waves = first(Search(inputs(x=["N", "samples"]), ONES, {}), 90)
    assert {"N": 1, "samples": 16384} in waves


def test_dims_that_weights_prescribe_are_kept():
    search = Search(inputs(x=["N", "C"]), DISTINCT, {"x": Hint(dims={"C": 7})})
    assert all(each["C"] == 7 for each in first(search, 50))


def test_no_plan_comes_twice():
    search = Search(inputs(x=["N", "M"]), DISTINCT, {})
    keys = [plan.key for plan in itertools.islice(search, 200)]
    assert len(set(keys)) == len(keys)


def test_a_message_names_the_number_that_a_dim_should_have():
    plan = Plan({"past": 5, "seq": 3, "total": 7})
    message = "Status Message: elementwise.h:563 axis == 1 was false. broadcast a dimension. 8 by 7"
    likely = [dict(each.dims) for cost, each in repairs(plan, message, ()) if cost <= 1]
    assert {"past": 5, "seq": 3, "total": 8} in likely


def test_a_message_about_bounds_caps_integers():
    message = "indices element out of data bounds, idx=7 must be within the inclusive range [-5,4]"
    assert any(plan.cap == 4 for _, plan in repairs(Plan({"N": 2}), message, ()))


def test_a_message_pins_the_scalar_that_it_speaks_of():
    values = [helper.make_tensor_value_info("count", onnx.TensorProto.INT64, [])]
    given = inputs_of(helper.make_model(helper.make_graph([], "g", values, []), ir_version=9))
    message = "count must be at least 6, got 2"
    pinned = {plan.values["count"] for _, plan in repairs(Plan({}), message, given) if plan.values}
    assert {6, 2} <= pinned


def test_failures_are_learned_from_before_unlikely_templates():
    search = Search(inputs(x=["N", "M"]), DISTINCT, {})
    plans = iter(search)
    plan = next(plans)
    search.failed(plan, f"Status Message: {plan.dims['M']} is not 113")
    assert any(next(plans).dims["M"] == 113 for _ in range(6))


def usual(found):
    return [each for each in found if each.special == "no" and 0 not in each.pinned.values()]


def test_a_static_model_is_run_with_two_seeds():
    found = goals(inputs(x=[2, 3]), {}, seed=5)
    assert [each.seed for each in usual(found)] == [5, 6]


def test_a_value_that_the_graph_compares_with_is_tried_and_so_is_another():
    found = goals(inputs(x=["N"]), {"x": Hint(values=(16000, 8000))}, seed=0)
    assert [each.values for each in usual(found)] == [{"x": 16000}, {"x": 16000}, {"x": 8000}, {}]
