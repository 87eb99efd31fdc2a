"""Outputs that stopped to vary, told from those that vary seldom or in step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest

from foldproof.verification.draws import settled


def of(values: Iterable[object]) -> Callable[[], Mapping[str, np.ndarray]]:
    series = itertools.chain(values)
    return lambda: {"y": np.array([next(series)])}


@pytest.mark.parametrize(
    ("period", "found"),
    [(1, True), (2, True), (4, True), (40, False)],
    ids=["each run", "each second", "each fourth", "hardly ever"],
)
def test_an_original_that_changes_often_enough_shows_what_became_constant(period: int, found: bool) -> None:
    varying = (k // period for k in itertools.count())
    assert bool(settled({"y"}, of(varying), of(itertools.repeat(0)))) is found


def test_what_varies_in_both_is_no_finding() -> None:
    assert not settled({"y"}, of(itertools.count()), of(k // 12 for k in itertools.count()))


def test_what_varies_in_the_optimized_model_as_late_as_in_the_original_is_no_finding() -> None:
    late = itertools.chain(itertools.repeat(0, 20), itertools.count(1))
    assert not settled({"y"}, of(k // 4 for k in itertools.count()), of(late))


def test_constant_outputs_are_no_finding_and_run_a_few_times_only() -> None:
    runs = iter(range(16))
    assert not settled({"y"}, lambda: {"y": np.array([0 * next(runs)])}, of(itertools.repeat(0)))


def test_without_names_nothing_runs() -> None:
    assert not settled((), of([]), of([]))
