"""How long a run of a model takes."""

from __future__ import annotations

import contextlib
import itertools
import math
import statistics
from pathlib import Path

from foldproof.dims import binding_text
from foldproof.engines import EngineError, Worker
from foldproof.gating.demands import Limit
from foldproof.gating.outcome import Outcome
from foldproof.measuring import AS_IN_USE
from foldproof.options import Options
from foldproof.verification import Settings, Verifier
from foldproof.verification.trials import Trial

SECONDS = 3.0
"""The time limit of the runs that are measured."""


def check_latency(path: Path, limit: Limit, options: Options) -> Outcome:
    """Measures a model in onnxruntime with its own optimizations on, as in use.

    The inputs are the largest of: the person's own, those at the sizes of `bind`, or those that verification makes up.

    Args:
        path: The model's file.
        limit: The budget, in milliseconds.
        options: The seed, `feeds`, `bind` and the time limit to find inputs.

    Raises:
        UsageError: The feeds do not fit the model.
    """
    with contextlib.ExitStack() as stack:
        worker = Worker.borrowed() or stack.enter_context(Worker())
        return _measured(path, limit, options, worker)


def _measured(path: Path, limit: Limit, options: Options, worker: Worker) -> Outcome:
    try:
        trial = _largest(path, options, worker)
        if trial is None:
            return _error("no inputs were found at which it runs", limit)
        ((_, runs),) = worker.measure([str(path.resolve())], AS_IN_USE, trial.feed.values, SECONDS)
    except EngineError as error:
        return _error(error.brief, limit)
    took = 1000 * statistics.median(runs)
    at = f"{trial.feed.source} inputs at {binding_text(trial.feed.binding)}"
    is_within = took <= limit.most
    message = (
        f"a run takes {took:.3g} ms (median of {len(runs)}, {at}), "
        f"{'within' if is_within else 'more than'} its budget of {limit.most} ms"
    )
    if is_within:
        return Outcome("latency", "passed", message, limit.place)
    return Outcome("latency", "failed", message, limit.place, hint="Where the machine was busy, run it again")


def _error(reason: str, limit: Limit) -> Outcome:
    return Outcome("latency", "error", f"its latency can't be measured: {reason}", limit.place)


def _largest(path: Path, options: Options, worker: Worker) -> Trial | None:
    """The largest inputs of ordinary numbers at which the model runs.

    Raises:
        EngineError: Nothing can load it.
    """
    settings = Settings(options.seed, options.feeds, options.bind, options.verify_seconds)
    with Verifier(path, settings, worker=worker) as verifier:
        found = list(itertools.takewhile(lambda trial: trial.feed.special == "no", verifier.trials()))
    own = [each for each in found if not each.feed.source.startswith("generated")]
    return max(own or found, key=lambda each: math.prod(each.feed.binding.values()), default=None)
