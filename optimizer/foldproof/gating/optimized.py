"""Whether `foldproof optimize` would still change a model."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import onnx_ir as ir

from foldproof import model_file
from foldproof.attempts import Attempts
from foldproof.configuration.place import Place, shown
from foldproof.dims import bindable_dims
from foldproof.errors import UnverifiedWarning, UsageError, VerificationError
from foldproof.gating.outcome import Outcome
from foldproof.optimization import Plan
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.rewriting.ledger import Entry

_SHOWN = 3


def check_optimized(path: Path, model: ir.Model, options: Options) -> Outcome:
    """Optimizes a model in memory, and sees whether that does anything.

    The rewrites are found without verification. Only where there are any is the result verified, since `optimize` would
    take back what is guilty.

    Args:
        path: The model's file.
        model: The model.
        options: Those that `optimize` would have. Of dims to be bound, those that the model does not have are taken to
            be bound already.

    Raises:
        UsageError: Of a run that stops after some rewrites, nothing can be said.
        FoldproofError: See `foldproof.Optimizer.run`.
    """
    if options.stop_after is not None:
        raise UsageError(
            "`stop_after` counts the rewrites of the original, and here is only the result",
            hint="Name rules to leave out (skip_rules), or places (keep_node), or leave out this check (skip)",
        )
    place = Place(path)
    dims = bindable_dims(model)
    unbound = [f"{name}={size}" for name, size in options.set_dim.items() if name in dims]
    if unbound:
        message = f"`optimize` would bind {', '.join(unbound)}"
        return Outcome("optimized", "failed", message, place, hint=_how(path))
    options = dataclasses.replace(options, set_dim={})
    entries = _found(path, options)
    if not entries:
        return Outcome("optimized", "passed", "`optimize` would not change it", place)
    if options.verify:
        stands = _what_stands(path, options)
        if isinstance(stands, str):
            return Outcome("optimized", "passed", stands, place)
        entries = stands
    return Outcome("optimized", "failed", _words(entries), place, _nodes(entries), _how(path))


def _found(path: Path, options: Options) -> tuple[Entry, ...]:
    """The rewrites that the rules find."""
    options = dataclasses.replace(options, verify=False)
    plan = Plan(tuple(Optimizer(options).rules))
    with Attempts(options, lambda: model_file.read(path)) as attempts, attempts.rewritten(plan) as run:
        return run.report().ledger


def _what_stands(path: Path, options: Options) -> tuple[Entry, ...] | str:
    """The rewrites that verification lets stand, or why `optimize` would write nothing else than the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnverifiedWarning)
        try:
            report = Optimizer(options).run(path).report
        except VerificationError as error:
            return f"`optimize` would refuse what it finds: {error.reason}"
    if report.verdict == "unverified" and not options.allow_unverified:
        return "`optimize` would refuse what it finds, as nothing here can run the model"
    if not report.ledger:
        return f"verification takes back all rewrites that are found ({len(report.taken_back)})"
    return report.ledger


def _words(entries: tuple[Entry, ...]) -> str:
    first = ", ".join(f"{each.rule} at {each.place!r}" for each in entries[:_SHOWN])
    more = f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else ""
    count = "1 rewrite" if len(entries) == 1 else f"{len(entries)} rewrites"
    return f"`optimize` would change it by {count}: {first}{more}"


def _nodes(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.place for each in entries))


def _how(path: Path) -> str:
    command = f"foldproof optimize {shown(path)}"
    if path.stem.endswith(".opt"):  # it is a result, and shall keep its name
        return f"Make it anew from its original, or run `{command} --in-place`"
    return f"Run `{command}` and keep what it writes"
