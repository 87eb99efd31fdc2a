from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import initializers, operators, parse, rewrite
from tests.rules.checking import assert_becomes, assert_stays

HALF = 'coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "ceil"'
SCALES = "s = Constant <value_floats = [1.0, 1.0, 1.0, 1.0]> ()"


@pytest.mark.parametrize(
    ("body", "opset"),
    [
        ("a = Dropout(x) y = Neg(a)", 13),
        ("a, m = Dropout(x) y = Neg(a)", 13),
        ("r = Constant <value_float = 0.9> () f = Constant <value = bool {0}> () a = Dropout(x, r, f) y = Neg(a)", 13),
        ("r = Constant <value_float = 0.0> () t = Constant <value = bool {1}> () a = Dropout(x, r, t) y = Neg(a)", 13),
        ("a, m = Dropout <ratio = 0.3> (x) y = Neg(a)", 10),
        ("a = Dropout <ratio = 0.3> (x) y = Neg(a)", 7),
    ],
)
def test_a_dropout_that_drops_nothing_goes(body: str, opset: int) -> None:
    assert_becomes(f"g (float[N,3] x) => (float[N,3] y) {{ {body} }}", {"Neg": 1}, "dropout_without_drop", opset=opset)


def test_a_dropout_of_the_first_versions_tells_by_an_attribute() -> None:
    # Neither onnxruntime nor the reference evaluator has them. The specification says that the output is the input.
    for is_test, left in ((1, {"Neg": 1}), (0, {"Neg": 1, "Dropout": 1})):
        body = f"g (float[N,3] x) => (float[N,3] y) {{ a = Dropout <is_test = {is_test}> (x) y = Neg(a) }}"
        model, _ = rewrite(parse(body, opset=6), "dropout_without_drop")
        assert operators(model) == left


def test_the_mask_of_a_dropout_is_true() -> None:
    body = "g (float[2,3] x) => (float[2,3] y, bool[2,3] z) { a, m = Dropout(x) y = Neg(a) z = Not(m) }"
    model = assert_becomes(body, {"Neg": 1, "Not": 1}, "dropout_without_drop")
    assert list(initializers(model).values()) == [np.ones((2, 3), bool).tolist()]


@pytest.mark.parametrize(
    ("body", "opset"),
    [
        ("r = Constant <value_float = 0.5> () on = Constant <value = bool {1}> () y = Dropout(x, r, on)", 13),
        ("r = Constant <value_float = 0.5> () y = Dropout(x, r, t)", 13),
        ("y = Dropout <ratio = 0.5> (x)", 6),
        ("a, m = Dropout(x) b = Cast <to = 1> (m) y = Add(a, b)", 13),
        ("a, m = Dropout(x) y = Add(a, m)", 7),
    ],
)
def test_a_dropout_that_may_train_or_whose_mask_is_open_stays(body: str, opset: int) -> None:
    assert_stays(f"g (float[N,3] x, bool t) => (float[N,3] y) {{ {body} }}", "dropout_without_drop", opset=opset)


def test_a_mask_that_is_an_output_stays() -> None:
    body = "g (float[2,3] x) => (float[2,3] y, bool[2,3] m) { a, m = Dropout(x) y = Neg(a) }"
    assert_stays(body, "dropout_without_drop")


@pytest.mark.parametrize("operator", ["Concat <axis = 0>", "Sum", "Max", "Min", "Mean"])
def test_an_operator_of_many_operands_with_one_goes(operator: str) -> None:
    assert_becomes(f"g (float[N] x) => (float[N] y) {{ a = {operator} (x) y = Neg(a) }}", {"Neg": 1}, "single_operand")
    assert_stays(f"g (float[N] x, float[N] w) => (float[M] y) {{ y = {operator} (x, w) }}", "single_operand")


@pytest.mark.parametrize(
    ("nodes", "opset"),
    [
        (f"{SCALES} a = Resize(x, , s)", 18),
        (f'{SCALES} a = Resize <coordinate_transformation_mode = "align_corners"> (x, , s)', 13),
        ("z = Constant <value_ints = [1, 2, 4, 3]> () a = Resize(x, , , z)", 18),
        ("z = Constant <value_ints = [4, 3]> () a = Resize <axes = [2, 3]> (x, , , z)", 18),
        ("a = Upsample <scales = [1.0, 1.0, 1.0, 1.0]> (x)", 7),
    ],
)
def test_a_nearest_resize_by_one_goes(nodes: str, opset: int) -> None:
    body = f"g (float[1,2,4,3] x) => (float[1,2,4,3] y) {{ {nodes} y = Neg(a) }}"
    assert_becomes(body, {"Neg": 1}, "resize_nearest_by_one", opset=opset)
    assert_stays(body, "resize_by_one", opset=opset)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_an_interpolating_resize_by_one_goes_as_tolerant(mode: str) -> None:
    body = f'g (float[1,2,N,3] x) => (float[1,2,N,3] y) {{ {SCALES} a = Resize <mode = "{mode}"> (x, , s) y = Neg(a) }}'
    assert_stays(body, "resize_nearest_by_one")
    model, rewriter = rewrite(parse(body), "resize_by_one", "dead_node")
    assert operators(model) == {"Neg": 1}
    assert not rewriter.ledger.entries[0].exact


@pytest.mark.parametrize(
    ("nodes", "opset"),
    [
        ("s = Constant <value_floats = [1.0, 1.0, 1.1, 1.0]> () y = Resize(x, , s)", 18),  # keeps the dims all the same
        (f"y = Resize <{HALF}> (x, r, ones)", 11),
        ("z = Constant <value_ints = [1, 2, 4, 6]> () y = Resize(x, , , z)", 18),
        ('z = Constant <value_ints = [4, 3]> () '
         'y = Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , z)', 18),
        ("y = Resize(x, , f)", 18),
        ('y = Resize <mode = "linear", exclude_outside = 1> (x, , ones)', 18),  # infinity becomes finite
        ('y = Resize <mode = "linear", antialias = 1> (x, , ones)', 18),
        ("y = Upsample <scales = [1.0, 1.0, 1.0, 1.3]> (x)", 7),
    ],
)  # fmt: skip
def test_a_resize_whose_scales_may_differ_from_one_stays(nodes: str, opset: int) -> None:
    inputs = "float[1,2,4,3] x, float[4] f, float[8] r"
    body = f"g ({inputs}) => (float[A,B,C,D] y) <float[4] ones = {{1, 1, 1, 1}}> {{ {nodes} }}"
    assert_stays(body, "resize_nearest_by_one", "resize_by_one", opset=opset)
