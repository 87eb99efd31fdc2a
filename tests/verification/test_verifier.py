"""One original, compared with several models; what is asked for, and what the original refuses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import onnx
import pytest

from foldproof.engines import Died, Engine, EngineError, Killed, OutOfMemory, Worker
from foldproof.errors import UsageError
from foldproof.facts.dim import Dim
from foldproof.verification import Proven, Settings, Verifier, examination, verification, verify

ABS = "g (float[N, M] x) => (float[N, M] y) { y = Abs (x) }"
# onnxruntime divides by an instruction of the processor, which traps at the least integer.
DIVIDE = """g (int64[N, M] x) => (int64[N, M] y) <int64 zero = {0}, int64 one = {1}> {
    zeros = Mul (x, zero)
    less = Sub (zeros, one)
    y = Div (x, less)
}"""


def bindings(result):
    return [run.binding for run in result.runs]


def test_the_original_is_loaded_and_run_once_for_several_models(parse, monkeypatch):
    model = parse(ABS)
    asked = []
    ask = Worker._ask
    monkeypatch.setattr(Worker, "_ask", lambda *given: (asked.append(given[1][:3:2]), ask(*given))[1])
    with Verifier(model) as verifier:
        first = verifier.compare(parse(ABS))
        asked.clear()
        second = verifier.compare(parse(ABS))
        third = verifier.compare(parse(ABS.replace("Abs", "Neg")))
    assert [each.status for each in (first, second, third)] == ["same", "same", "different"]
    assert first.runs == second.runs
    (kind, loaded), *others = asked[: 1 + len(second.runs)]
    assert kind == "load"
    assert others == [("run", loaded)] * len(second.runs)


def test_a_feed_can_be_run_again_by_its_number(parse):
    other = parse(ABS.replace("Abs", "Neg"))
    with Verifier(parse(ABS)) as verifier:
        whole = verifier.compare(other)
        number = whole.differences[1].run
        again = verifier.compare(other, runs=[number])
        (trial,) = verifier.trials([number])
    assert [run.number for run in again.runs] == [number]
    assert again.differences == tuple(each for each in whole.differences if each.run == number)
    x = trial.feed.values["x"]
    np.testing.assert_array_equal(trial.outputs["y"], np.abs(x))


def test_preparing_does_not_wait(parse, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    load = Worker.load

    def slow(*given):
        begun.set()
        go_on.wait(20)
        return load(*given)

    monkeypatch.setattr(Worker, "load", slow)
    with Verifier(parse(ABS)) as verifier:
        verifier.prepare()
        assert begun.wait(20)
        go_on.set()
        assert verifier.compare(parse(ABS)).status == "same"


def test_bindings_that_a_person_asks_for_are_run_and_no_others(parse):
    result = verify(parse(ABS), parse(ABS), bindings={"N": (1, 8), "M": (3, 128)})
    assert {tuple(each.values()) for each in bindings(result)} == {(1, 3), (1, 128), (8, 3), (8, 128)}


def test_a_dim_that_nobody_asked_for_is_chosen(parse):
    result = verify(parse(ABS), parse(ABS), bindings={"N": (6,)})
    assert {each["N"] for each in bindings(result)} == {6}
    assert {each["M"] for each in bindings(result)} > {0}


def test_a_binding_that_the_original_refuses_is_said(parse):
    model = parse("g (float[N] x) => (float[2] y) <int64[1] two = {2}> { y = Reshape (x, two) }")
    result = verify(model, model, bindings={"N": (2, 5)})
    assert bindings(result)[0] == {"N": 2}
    assert {"N": 5} in [each.binding for each in result.not_admitted]
    assert any("N=5" in note for note in result.notes)


def test_a_dim_that_there_is_not_is_refused(parse):
    with pytest.raises(UsageError, match="no dim 'K'.*N, M"):
        verify(parse(ABS), parse(ABS), bindings={"K": (1,)})


def test_dims_are_equal_once_and_0_once_each(parse):
    found = bindings(verify(parse(ABS), parse(ABS)))
    assert any(each["N"] == each["M"] > 1 for each in found)
    assert any(each["N"] == 0 < each["M"] for each in found)
    assert any(each["M"] == 0 < each["N"] for each in found)


@pytest.mark.parametrize(
    ("one", "other", "special"),
    [
        ("z = Mul (x, zero) y = Add (x, z)", "y = Add (x, zero)", "infinite"),
        ("y = Add (x, zero)", "y = Identity (x)", "small"),
        ("l = Mul (x, two) y = Mul (l, half)", "y = Identity (x)", "largest"),
    ],
)
def test_wrong_rewrites_that_show_at_special_numbers_alone_are_found(parse, one, other, special):
    graph = (
        "g (float[N, M] x) => (float[N, M] y) <float zero = {{0}}, float two = {{2}}, float half = {{0.5}}> {{ {} }}"
    )
    result = verify(parse(graph.format(one)), parse(graph.format(other)))
    found = {each.feeds for each in result.differences}
    assert f"generated, {special} numbers among them" in found
    assert all("numbers among them" in each for each in found)


def test_extreme_integers_are_run(parse):
    graph = "g (int64[N, M] x) => (int64[N, M] y) {{ y = {} (x) }}"
    result = verify(parse(graph.format("Abs")), parse(graph.format("Abs")))
    assert any("largest" in run.feeds for run in result.runs)


def test_tolerant_rewrites_may_overflow_elsewhere(parse):
    graph = "g (float[N] x) => (float[N] y) <float two = {{2}}, float half = {{0.5}}> {{ {} }}"
    models = [parse(graph.format(each)) for each in ("l = Mul (x, two) y = Mul (l, half)", "y = Identity (x)")]
    assert verify(*models, exact=False).status == "same"


def test_an_original_that_dies_is_not_admitted_there_and_it_is_said(parse):
    result = verify(parse(DIVIDE), parse(DIVIDE))
    assert result.status == "same"
    assert any("SIGFPE" in each.error for each in result.not_admitted)
    assert any("SIGFPE" in note for note in result.notes)


def test_a_model_that_dies_where_the_original_runs_is_different(parse):
    result = verify(parse(DIVIDE.replace("Div (x, less)", "Mul (x, less)")), parse(DIVIDE))
    (found,) = result.differences
    assert found.kind == "raised"
    assert "SIGFPE" in found.detail


class Failing:
    """An engine that fails at some of its runs."""

    def __init__(self, engine: Engine, fails: Callable[[int], EngineError | None]) -> None:
        self._engine, self._fails, self._runs = engine, fails, 0
        self.name, self.outputs = engine.name, engine.outputs

    def run(self, *args, **options):
        self._runs += 1
        error = self._fails(self._runs)
        if error is not None:
            raise error
        return self._engine.run(*args, **options)


@pytest.fixture
def failing(monkeypatch):
    """Lets the original or the optimized model fail at the runs of which a function of their number gives an error."""

    def make(which: str, fails: Callable[[int], EngineError | None]) -> None:
        module = verification if which == "original" else examination
        load = module.load_engine
        monkeypatch.setattr(module, "load_engine", lambda *args, **options: Failing(load(*args, **options), fails))

    return make


def test_a_failure_is_a_difference_even_if_it_comes_once(parse, failing):
    failing("optimized", lambda run: Died("it died") if run == 1 else None)
    result = verify(parse(ABS), parse(ABS))
    assert result.status == "different"
    assert "it died" in result.differences[0].detail


def test_where_the_original_fails_by_chance_the_other_may_fail(parse, failing):
    failing("original", lambda run: EngineError("by chance") if run == 2 else None)
    failing("optimized", lambda run: EngineError("each time") if run == 1 else None)
    result = verify(parse(ABS), parse(ABS))
    assert result.status == "same"
    assert any("does not do the same at each run" in note and "each time" in note for note in result.notes)


def test_where_the_original_fails_by_chance_and_the_other_always_nothing_is_verified(parse, failing):
    failing("original", lambda run: EngineError("by chance") if run % 2 == 0 else None)
    failing("optimized", lambda run: EngineError("each time"))
    result = verify(parse(ABS), parse(ABS))
    assert result.status == "unverified"
    assert "does not do the same at each run" in result.reason


def test_a_second_process_that_cannot_start_hides_no_difference(parse, monkeypatch):
    start = Worker._start

    def unless_poisoned(worker):
        if worker._poison is not None:
            raise EngineError("no process can be started")
        start(worker)

    monkeypatch.setattr(Worker, "_start", unless_poisoned)
    assert verify(parse(ABS), parse(ABS.replace("Abs", "Neg"))).status == "different"


def test_the_original_is_run_again_once_a_feed_however_many_outputs_differ(parse, monkeypatch):
    """It would take without end otherwise."""
    many = "g (float[2] x) => ({}) {{ {} }}"
    texts = [
        many.format(
            ", ".join(f"float[2] y{k}" for k in range(20)), " ".join(f"y{k} = {operator} (x)" for k in range(20))
        )
        for operator in ("Abs", "Neg")
    ]
    runs = []
    run = Worker.run
    monkeypatch.setattr(Worker, "run", lambda worker, *given: (runs.append(given[0]), run(worker, *given))[1])
    result = verify(*map(parse, texts))
    feeds = {each.run for each in result.differences}
    assert len(result.differences) == 20 * len(feeds)
    assert len(runs) < 6 * len(feeds)


def test_want_of_memory_says_nothing(parse, failing):
    failing("optimized", lambda run: OutOfMemory("too little") if run <= 2 else None)
    result = verify(parse(ABS), parse(ABS))
    assert result.status == "same"
    assert any("ran out of memory" in note for note in result.notes)


def test_a_model_that_always_lacks_memory_is_not_verified_for_that_reason(parse, failing):
    failing("optimized", lambda run: OutOfMemory("too little"))
    result = verify(parse(ABS), parse(ABS))
    assert result.status == "unverified"
    assert "the optimized model ran out of memory" in result.reason


@pytest.mark.parametrize(("error", "all_are_tried"), [(OutOfMemory("too little"), True), (Killed("SIGKILL"), False)])
def test_after_two_deaths_no_more_is_tried_that_is_risky_and_want_of_memory_is_none(
    parse, failing, error, all_are_tried
):
    usual = len(verify(parse(ABS), parse(ABS)).runs)
    failing("original", lambda run: error if run in (1, 2) else None)
    result = verify(parse(ABS), parse(ABS))
    assert result.status == "same"
    assert (0 in {size for each in bindings(result) for size in each.values()}) == all_are_tried
    assert (len(result.runs) >= usual - 2) == all_are_tried


def test_memory_that_was_never_written_is_no_output(parse):
    """onnxruntime leaves out an empty input of Concat, and hands out as many columns as another one has."""
    graph = "g (float[N, K] x, float[N, T] m) => (float[M, T] y) { h = Abs (x) y = Concat <axis = 0> (h, m) }"
    result = verify(parse(graph), parse(graph))
    assert result.status == "same"


def test_the_loop_of_an_original_that_never_ends_is_stopped_at_each_feed(parse):
    graph = """g (int64[N, M] n) => (int64 y) <int64 zero = {0}, bool yes = {1}> {
        most = ReduceMax <keepdims = 0> (n)
        y = Loop (most, yes, zero) <body = b (int64 i, bool c, int64 a) => (bool d, int64 e) {
            d = Identity (c)
            e = Identity (i)
        }>
    }"""
    started = time.monotonic()
    result = verify(parse(graph), parse(graph), seconds=3)
    assert result.status == "same"
    assert time.monotonic() - started < 30


def test_what_is_proven_is_held_against_what_is_computed(parse):
    model = parse("g (float[N, 3] x) => (int64[2] s, int64 n) { s = Shape (x) n = Size (x) }")
    n = Dim.symbol("N")
    right = [Proven("s", "Shape", (n, 3)), Proven("n", "Size", (3 * n,))]
    assert verify(model, model, proven=right).status == "same"
    result = verify(model, model, proven=[Proven("n", "Size", (3 * n + 1,))])
    assert result.status == "different"
    assert (result.differences[0].original, result.differences[0].optimized) == ([4], [3])


def test_what_a_binding_does_not_decide_is_not_held_against_anything(parse):
    model = parse("g (float[N, 3] x) => (int64[2] s) { s = Shape (x) }")
    assert verify(model, model, proven=[Proven("s", "Shape", (Dim.symbol("other"), None))]).status == "same"


def test_progress_is_told_of_each_step(parse):
    told = []
    verify(parse(ABS), parse(ABS), progress=lambda *words: told.append(words))
    steps = {steps for _, _, steps in told}
    assert len(steps) == 1
    assert [done for _, done, _ in told] == list(range(steps.pop()))


def test_a_provider_that_is_not_there_is_no_verification(parse):
    result = verify(parse(ABS), parse(ABS), provider="NoSuchExecutionProvider")
    assert result.status == "unverified"
    assert "CPUExecutionProvider" in result.reason


def test_the_reference_runs_both_where_it_is_asked_for(parse):
    result = verify(parse(ABS), parse(ABS), reference=True)
    assert result.status == "same"
    assert {run.original_engine for run in result.runs} == {f"onnx reference {onnx.__version__}"}
    assert {run.optimized_engine for run in result.runs} == {f"onnx reference {onnx.__version__}"}


def test_settings_are_taken_by_the_verifier(parse):
    with Verifier(parse(ABS), Settings(seed=11, bindings={"N": (2,), "M": (2,)})) as verifier:
        result = verifier.compare(parse(ABS))
    assert result.runs[0].seed == 11


def test_a_dim_of_an_initializer_that_is_an_input_has_the_size_that_is_stored(parse):
    model = parse(
        "g (float[M] x, float[2, 3] w = {1, 2, 3, 4, 5, 6}) => (float[M] y, int64 s) { y = Abs (x) s = Size (w) }"
    )
    for value in model.graph.input:
        if value.name == "w":
            value.type.tensor_type.shape.dim[0].dim_param = "N"
    result = verify(model, model, proven=[Proven("s", "Size", (3 * Dim.symbol("N"),))])
    assert (result.status, result.differences) == ("same", ())
    assert {run.binding["N"] for run in result.runs} == {2}


def test_where_memory_does_not_suffice_to_compare_nothing_is_said_of_the_model(parse, monkeypatch):
    def none_left(*given):
        raise MemoryError

    monkeypatch.setattr("foldproof.verification.examination.Comparison.differences", none_left)
    found = verify(parse(ABS), parse(ABS))
    assert found.status == "unverified"
    assert found.reason.startswith("there is not enough memory to compare the outputs at ")
