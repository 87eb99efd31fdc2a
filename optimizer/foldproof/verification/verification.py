"""The verification itself: both models run on every admitted feed, and all that they hand out compared."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import functools
import pathlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import onnx

from foldproof.engines import Allowance, Engine, EngineError, Runnable, Worker, load_engine, require_onnxruntime
from foldproof.errors import UsageError
from foldproof.protos import load_proto

from .admission import Admission, Admitted, Progress
from .clock import Clock
from .examination import Examination, Original
from .feed_files import read_feeds
from .hints import find_hints
from .margins import Margins
from .noise import Noise
from .probes import Probe
from .proven import Proven
from .repetition import Repetition
from .results import Verification
from .settings import SECONDS, Settings
from .signature import Input, inputs_of, keys_of
from .trials import Trial, Trials

if TYPE_CHECKING:
    from .goals import Bindings


def verify(
    original: Runnable,
    optimized: Runnable,
    *,
    exact: bool = True,
    seed: int = 0,
    feeds: pathlib.Path | None = None,
    evaluate: Sequence[Probe] | None = None,
    proven: Sequence[Proven] = (),
    seconds: float = SECONDS,
    bindings: Bindings | None = None,
    provider: str | None = None,
    reference: bool = False,
    progress: Progress | None = None,
    allowance: Allowance | None = None,
    loading: float | None = None,
) -> Verification:
    """Run both models at several bindings and compare all that they hand out.

    Args:
        original: The model to hold the other one to; a path where it has external data. It is not changed.
        optimized: The model to be verified, likewise.
        exact: Floats must be equal bit for bit; else within a tolerance, see
            `foldproof.verification.comparison`.
        seed: The seed of the inputs that are made up. The same seed gives the same inputs.
        feeds: A folder of inputs to run as well, see `foldproof.verification.feed_files`.
        evaluate: The `Size` and `Shape` nodes of the optimized model to compute by the reference kernels as
            well. None: all of its `Size` nodes.
        proven: What is proven of integers that the optimized model computes, see `find_proven`.
        seconds: The time limit, see `Settings`.
        bindings: The sizes to run, see `Settings`.
        provider: The execution provider that onnxruntime has to use.
        reference: Run both models by the ONNX reference.
        progress: Is told what is done next.
        allowance: What a run of the models may take.
        loading: How long either model may take to be loaded, see `Settings`.

    Raises:
        UnverifiedError: onnxruntime is not installed.
        UsageError: The folder of inputs or the bindings do not fit the model.
        ModelError: A file can't be read.
    """
    settings = Settings(seed, feeds, bindings or {}, seconds, provider, reference, loading)
    with Verifier(original, settings, progress=progress) as verifier:
        return verifier.compare(optimized, exact=exact, evaluate=evaluate, proven=proven, allowance=allowance)


class Verifier:
    """An original, loaded once, and what it hands out: any number of models can be compared with it.

    Args:
        original: The model to hold the others to; a path where it has external data. It must stay as it is.
        settings: How to verify.
        worker: The process that onnxruntime runs in; unless given, one that was lent, or one of its own.
        progress: Is told what is done next.

    Raises:
        UnverifiedError: onnxruntime is not installed.
    """

    def __init__(
        self,
        original: Runnable,
        settings: Settings | None = None,
        *,
        worker: Worker | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._settings = settings or Settings()
        if not self._settings.reference:
            require_onnxruntime()
        self._model = original
        given = worker or Worker.borrowed()
        self._worker = given or Worker()
        self._has_own_worker = given is None
        self._progress = progress
        self._clock = Clock(self._settings.seconds, self._settings.loading)
        self._loading: concurrent.futures.Future[Engine] | None = None
        self._original: Original | None = None

    @property
    def model(self) -> Runnable:
        """The original."""
        return self._model

    def __enter__(self) -> Verifier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process that the models run in, unless it was given or lent."""
        if self._has_own_worker:
            self._worker.close()
        if self._original is not None:
            self._original.repetition.close()

    def prepare(self) -> None:
        """Begin to load the original, and don't wait for it."""
        if self._loading is None:
            pool = concurrent.futures.ThreadPoolExecutor(1)
            self._loading = pool.submit(self._load)
            pool.shutdown(wait=False)

    def compare(
        self,
        optimized: Runnable,
        *,
        exact: bool = True,
        evaluate: Sequence[Probe] | None = None,
        proven: Sequence[Proven] = (),
        runs: Collection[int] | None = None,
        allowance: Allowance | None = None,
    ) -> Verification:
        """Compare a model with the original.

        Args:
            optimized: The model.
            exact: Floats must be equal bit for bit; else within a tolerance.
            evaluate: The `Size` and `Shape` nodes to compute by the reference kernels as well. None: all of its
                `Size` nodes.
            proven: What is proven of integers that the model computes, to be held against what it does compute, see
                `find_proven`.
            runs: The numbers of the only feeds to run, as `Run.number` and `Difference.run` give them.
            allowance: What a run of the models may take; all that there is unless given.

        Raises:
            UsageError: The folder of inputs or the bindings do not fit the original.
            ModelError: A file can't be read.
        """
        self._clock.start()
        with self._allowing(allowance or Allowance()) as limits:
            try:
                original = self._opened()
            except EngineError as error:
                reason = f"nothing can load the original: {error}"
                return Verification("unverified", reason=reason + limits, seconds=self._clock.taken)
            examination = Examination(original, optimized, exact, self._clock, self._worker)
            found = examination.run(evaluate, proven, runs)
        return found if found.reason is None else dataclasses.replace(found, reason=found.reason + limits)

    @contextlib.contextmanager
    def _allowing(self, allowance: Allowance) -> Iterator[str]:
        """Let models take no more in the body, which is given words for that."""
        self._worker.allowance = self._clock.allowance = allowance
        words = f"; a run of it may take {allowance}, as it is not proven what it does (--trust-model lifts that)"
        try:
            yield words if str(allowance) else ""
        finally:
            self._worker.allowance = Allowance()

    def trials(self, numbers: Collection[int] | None = None, allowance: Allowance | None = None) -> Iterator[Trial]:
        """The feeds at which the original runs, and what it hands out there.

        Args:
            numbers: The numbers of the only ones that are wanted.
            allowance: What a run of the original may take.

        Raises:
            EngineError: Nothing can load the original.
        """
        with self._allowing(allowance or Allowance()):
            yield from self._opened().trials.again(self._clock.for_a_run, numbers)

    def _load(self) -> Engine:
        settings = self._settings
        return load_engine(
            self._model,
            worker=self._worker,
            provider=settings.provider,
            reference=settings.reference,
            seconds=self._clock.for_loading,
        )

    @functools.cached_property
    def _proto(self) -> onnx.ModelProto:
        return load_proto(self._model)

    @functools.cached_property
    def _inputs(self) -> tuple[Input, ...]:
        return inputs_of(self._proto)

    @functools.cached_property
    def _given(self) -> list[tuple[str, dict[str, object]]]:
        folder = self._settings.feeds
        return read_feeds(folder, self._inputs) if folder is not None else []

    @functools.cached_property
    def _bindings(self) -> Mapping[str, Sequence[int]]:
        known = keys_of(self._inputs)
        for name in self._settings.bindings:
            is_axis = any(each.is_unranked and name.startswith(f"{each.name}:") for each in self._inputs)
            if name not in known and not is_axis:
                raise UsageError(f"the inputs have no dim {name!r}", hint=f"They have: {', '.join(known) or 'none'}")
        return self._settings.bindings

    def _opened(self) -> Original:
        """The original, loaded.

        Raises:
            EngineError: Nothing can load it.
        """
        if self._original is not None:
            return self._original
        given, bindings = self._given, self._bindings  # what a person got wrong comes before all else
        self.prepare()
        assert self._loading is not None
        engine = self._loading.result()
        hints = find_hints(self._proto, self._inputs)
        admission = Admission(engine, self._inputs, hints, self._settings.seed, self._clock, bindings, self._progress)

        def found() -> Iterator[Admitted]:
            yield from admission.given(given)
            yield from admission.generated()

        noise = Noise(self._model, engine, self._worker, self._settings.provider)
        trials = Trials(engine, found())
        repetition = Repetition(self._model, engine, self._worker.allowance)
        margins = Margins(self._model, self._proto, engine, self._worker)
        self._original = Original(self._model, self._proto, engine, admission, trials, noise, margins, repetition)
        return self._original
