from __future__ import annotations

import numpy as np
import onnx
import pytest

import foldproof
from foldproof.engines import EngineError, Worker
from foldproof.measuring import AS_IN_USE, Medians, measure, telling
from foldproof.verification.results import Run
from tests.helpers import parse


def run(binding: dict[str, int], feeds: str = "generated", engine: str = "onnxruntime 1.20") -> Run:
    return Run(binding, feeds, 0, engine, engine, 1, 0.0, 0.0)


def test_both_models_are_loaded_and_run_in_turns() -> None:
    fast = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    body = "".join(f"v{k + 1} = MatMul(v{k}, v{k}) " for k in range(8))
    slow = parse(
        f"g (float[N] x) => (float[N] y) {{ n = Shape(x) s = Concat<axis=0>(n, n) v0 = Expand(x, s) {body} i = Constant<value_int=0>() y = Gather(v8, i) }}"
    )
    with Worker() as worker:
        found = measure(slow, fast, {"x": np.ones(300, np.float32)}, {"N": 300}, worker)
    assert len(found.original.runs) == len(found.optimized.runs) >= 3
    assert len(found.original.load) == len(found.optimized.load) >= 1
    assert found.faster > len(found.original.runs) / 2
    assert found.to_dict()["original"]["latency"] > found.to_dict()["optimized"]["latency"] > 0


def test_what_can_not_run_is_an_error() -> None:
    model = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    with Worker() as worker, pytest.raises(EngineError):
        measure(model, model, {"x": np.ones((2, 2), np.float32)}, {}, worker)


def test_the_largest_ordinary_inputs_tell_most_and_the_person_s_own_more() -> None:
    small, large = run({"N": 1}), run({"N": 64})
    special = run({"N": 99}, "generated, infinite numbers among them")
    assert telling([small, large, run({"N": 0})]) is large
    assert telling([run({"N": 200}, engine="onnx reference 1.20")]) is None
    assert telling([large, own := run({"N": 2}, "mine.npz")]) is own
    assert telling([]) is None
    assert special not in [telling([small, special])]


def test_a_run_measures_where_it_is_asked_to(tmp_path: object) -> None:
    model = parse("g (float[N,3] x) => (float[N,3] y) { a = Identity(x) y = Relu(a) }")
    report = foldproof.Optimizer(foldproof.Options(measure=True)).run(model).report
    assert report.measured is not None
    assert report.measured.original.runs
    assert foldproof.Optimizer(foldproof.Options()).run(model).report.measured is None
    with pytest.raises(foldproof.UsageError, match="--measure"):
        foldproof.Options(measure=True, verify=False)


def test_a_model_with_external_data_is_measured(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("external")
    model = parse("g (float[N,300] x) => (float[N,300] y) { a = Identity(x) y = Add(a, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(300, np.float32), "w"))
    onnx.save_model(model, folder / "in.onnx", save_as_external_data=True, location="in.data", size_threshold=0)
    report = foldproof.optimize_file(folder / "in.onnx", folder / "out.onnx", measure=True)
    assert report.measured is not None
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("pairs", "agreeing", "is_clear"),
    # Two-sided, by the binomial distribution: 0.0625, 0.031, 0.039, 0.18, 0.055 and 0.040.
    [(5, 5, False), (6, 6, True), (9, 8, True), (9, 7, False), (200, 114, False), (200, 115, True)],
)
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_difference_is_clear_where_chance_makes_it_once_in_twenty(
    pairs: int, agreeing: int, is_clear: bool, factor: float
) -> None:
    times = [factor] * agreeing + [1 / factor] * (pairs - agreeing)
    assert Medians.of([1.0] * pairs, times) == Medians(1.0, factor, is_clear)


def test_equal_times_are_no_difference() -> None:
    assert not Medians.of([1.0] * 9, [1.0] * 9).is_clear
    assert not Medians.of([1.0] * 9, [1.0] * 6 + [2.0] * 3).is_clear


def test_each_model_comes_first_in_every_other_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two equal models is a little faster, and would be told to be better."""
    from foldproof.engines import worker

    loaded: list[str] = []
    ran: list[str] = []

    class Told:
        def __init__(self, content: str, settings: object, in_use: bool) -> None:
            loaded.append(content)
            self.content = content

        def seconds_of_a_run(self, feeds: object) -> float:
            ran.append(self.content)
            return len(ran)

    monkeypatch.setattr(worker, "Session", Told)
    (a_loads, a_runs), (b_loads, b_runs) = worker._measured(["a", "b"], AS_IN_USE, {}, 10)
    assert loaded[:6] == ["a", "b", "b", "a", "a", "b"]
    assert sorted(ran[:2]) == ["a", "b"]  # these two are not measured
    assert sum(b < a for a, b in zip(a_runs, b_runs, strict=True)) == len(a_runs) / 2
    assert len(a_loads) == len(b_loads)
    assert all(ran[int(at) - 1] == "a" for at in a_runs)
