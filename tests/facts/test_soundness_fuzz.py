"""No fact is ever wrong: facts of random models against what a runtime computes, at random sizes.

There are two sources of models. The published backend node tests cover nearly all operators and their attributes; here
some of their inputs become constants and some of their dims symbols, and they are run at other sizes and under older
versions too. Programs of shape arithmetic compose operators at random.

`FOLDPROOF_FUZZ=nightly` runs more than 50,000 node checks, otherwise it is more than 3,000. The counts are recorded as
properties of the tests, and logged.
"""

from __future__ import annotations

import logging
import os

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.facts.checking import Checked, assert_sound, compare, random_feeds
from tests.facts.node_cases import NodeCase, published_cases, variants
from tests.facts.programs.builder import SYMBOLS
from tests.facts.programs.program import SIZES, ShapeProgram
from tests.facts.running import CannotRunError, run_all
from tests.helpers import needs_recent_onnxruntime, parse

NIGHTLY = os.environ.get("FOLDPROOF_FUZZ") == "nightly"
NODE_CHECKS = 30_000 if NIGHTLY else 2_000
"""At least so many by each of the two sources."""
PROGRAMS = 2_500 if NIGHTLY else 200

logger = logging.getLogger(__name__)


# Operators ------------------------------------------------------------------------------------------------


@needs_recent_onnxruntime
def test_facts_of_all_operators_hold(record_property):
    rng = np.random.default_rng(20260101)
    cases = [case for case in published_cases() if NIGHTLY or len(case.model.graph.node) == 1]
    nodes, operators, faults = 0, set(), []
    while nodes < NODE_CHECKS and not faults:
        for case in cases:
            for variant in variants(case, rng):
                checked = check_case(variant)
                if checked is None:
                    continue
                nodes += checked.nodes
                operators |= {node.op_type for node in variant.model.graph.node if not node.domain}
                if checked.faults:
                    faults.append(report(variant.model, variant.feeds, checked))
    record_property("node checks", nodes)
    record_property("operators", len(operators))
    logger.info("%d node checks of %d operators", nodes, len(operators))
    assert not faults, "\n\n".join(faults)
    assert len(operators) >= 150


def check_case(case: NodeCase) -> Checked | None:
    """Compares the facts of a case. None where neither onnxruntime runs it nor the outputs are published."""
    try:
        values, runtime = run_all(case.model, case.feeds, reference=False)
    except CannotRunError:
        if not case.outputs:
            return None
        values, runtime = {}, "the published outputs"
    checked = compare(case.model, {**case.outputs, **values}, case.feeds)
    checked.runtime = runtime
    return checked


# Programs -------------------------------------------------------------------------------------------------


@needs_recent_onnxruntime
def test_facts_of_shape_arithmetic_hold(record_property):
    nodes, operators = 0, set()

    @settings(
        max_examples=PROGRAMS,
        deadline=None,
        derandomize=not NIGHTLY,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(rng=st.randoms(use_true_random=False), length=st.integers(1, 12))
    def hold(rng, length):
        nonlocal nodes
        program = ShapeProgram(rng, length)
        for _ in range(4):
            model, checked = check_program(program, {symbol: rng.choice(SIZES) for symbol in SYMBOLS})
            nodes += checked.nodes
            operators.update(node.op_type for node in model.graph.node)

    hold()
    record_property("node checks", nodes)
    record_property("operators", len(operators))
    logger.info("%d node checks of %d operators", nodes, len(operators))
    assert nodes >= NODE_CHECKS


@pytest.mark.parametrize(
    "steps",
    [
        "f = Cast <to = 1> (s) y = Cast <to = 7> (f)",
        "f = Cast <to = 1> (s) k = Constant <value_float = 2.0> () h = Div (f, k) i = Floor (h) y = Cast <to = 7> (i)",
        "f = Cast <to = 11> (s) y = Cast <to = 7> (f)",
        "f = Cast <to = 6> (s) y = Cast <to = 7> (f)",
        "f = Cast <to = 5> (s) y = Cast <to = 7> (f)",
    ],
)
def test_facts_of_large_sizes_hold_in_narrow_types(steps):
    model = parse(f"g (uint8[N] x) => (int64[1] y) {{ s = Shape (x) {steps} }}")
    for size in (0, 1, 2**15, 2**16 + 1, 2**24 + 1, 2**25 + 2):
        assert_sound(model, {"x": np.zeros(size, np.uint8)})


def check_program(program: ShapeProgram, sizes: dict[str, int]) -> tuple[onnx.ModelProto, Checked]:
    """Compares the facts of a program at a binding, or, where the run fails, of as much of it as runs."""
    count = len(program.nodes)
    while True:
        model = program.model(count)
        feeds = random_feeds(model, sizes)
        try:
            values, runtime = run_all(model, feeds, reference=False)
            break
        except CannotRunError:
            count //= 2  # the first node is a Shape: that one runs
    checked = compare(model, values, feeds)
    checked.runtime = runtime
    assert not checked.faults, report(model, feeds, checked)
    return model, checked


def report(model: onnx.ModelProto, feeds: dict[str, object], checked: Checked) -> str:
    """All that one needs to see a fault again."""
    faults = "\n".join(checked.faults)
    shapes = {name: np.shape(feed) for name, feed in feeds.items()}
    return f"{faults}\nsays {checked.runtime} for {shapes} of\n{onnx.printer.to_text(model)}"
