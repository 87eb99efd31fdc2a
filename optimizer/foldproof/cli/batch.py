"""`foldproof batch`."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foldproof.cli.optimize import optimize, options_for
from foldproof.cli.shared import ModelCommand, check_json, json_option, quiet_option, write_json
from foldproof.errors import UsageError

if TYPE_CHECKING:
    from foldproof.batch.folders import Folder
    from foldproof.batch.outcome import Outcome
    from foldproof.batch.selection import Selected
    from foldproof.options import Options

# What `optimize` is told of one model and its files, and `batch` says in its own way.
_OF_ONE_MODEL = frozenset(
    {"certificate", "force", "in_place", "json_file", "output", "profile", "quiet", "report", "verbose"}
    | {"config", "no_config"}
)

_EXIT_STATUS = """\b
Exit status: that of the model that ended worst, in this order, the worst first:
  5  a fault of Foldproof or of a rule pack, a process that died, the time limit, or a lack of memory
  1  a difference that taking back rewrites does not explain, or any with --strict
  3  the model can't be read, or is invalid
  2  an option or a path makes no sense for it, or wrong usage: then nothing was begun
  4  nothing here can run the model, so that it can't be verified
  0  all models are done and verified
"""


class _BatchCommand(ModelCommand):
    """Has the options of `optimize` besides its own. Those are configured for `optimize`, or for each model."""

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self.params[-2:-2] = [  # before --config
            each for each in optimize.params if isinstance(each, click.Option) and each.name not in _OF_ONE_MODEL
        ]

    @property
    def keys(self) -> dict[str, click.Option]:
        """See `ConfiguredCommand`."""
        return {key: option for key, option in super().keys.items() if option not in optimize.params}


@click.command(cls=_BatchCommand, epilog=_EXIT_STATUS)
@click.argument("models", metavar="DIR|LIST|GLOB|MODEL...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="DIR", required=True, help="The folder of results: a path or a URL.")
@click.option(
    "--workers", metavar="N", type=click.IntRange(min=1),
    help="How many models are optimized at a time. [default: as many as cores, and as memory allows]",
)  # fmt: skip
@click.option(
    "--time-limit", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True),
    help="How long one model may take, before it is given up.",
)  # fmt: skip
@click.option("--certificates", is_flag=True, help="Write a certificate beside each result.")
@click.option("--reports", is_flag=True, help="Write a page beside each result that shows all of its run.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="What runs it.")
@click.option(
    "--ray-address", metavar="ADDRESS", default="auto", show_default=True, help="That of the Ray cluster.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite results that are not earlier outputs. Never an input.")
@json_option("what became of each model")
@quiet_option
@click.option("-v", "--verbose", is_flag=True, help="Print warnings too, and the models that earlier runs did.")
@click.pass_context
def batch(
    ctx: click.Context, /, models: Sequence[str], output: str, workers: int | None, time_limit: float | None,
    certificates: bool, reports: bool, engine: str, ray_address: str, force: bool, json_file: Path | None, quiet: bool,
    verbose: bool, **_: Any,
) -> None:  # fmt: skip
    r"""Optimizes many models, each in a process of its own: one that fails, hangs or crashes spoils no other.

    The models are all .onnx files of a folder, those that a quoted pattern matches, those in the lines of a list (.txt,
    or `-` for the standard input), or those that you name. The results keep their folders, below the one of -o. Where a
    run was ended, the same command goes on: it leaves out what is done with these options and versions and still whole.

    All places may be URLs that fsspec reads and writes, such as s3://bucket/models.

    \b
    Examples:
      foldproof batch exports/ -o optimized/
      foldproof batch "exports/**/decoder*.onnx" -o optimized/ --workers 4 --time-limit 600
      foldproof batch models.txt -o optimized/ --certificates --json batch.json
      foldproof batch s3://zoo/vision -o s3://zoo/vision-optimized --engine ray
    """
    from foldproof.batch.cluster import perform_on_ray
    from foldproof.batch.folders import Folder
    from foldproof.batch.local import cores, perform_here
    from foldproof.batch.outcome import document, worst
    from foldproof.batch.plan import Wishes, plan
    from foldproof.batch.selection import select
    from foldproof.memory import usable_memory
    from foldproof.reporting.batch_text import BatchDisplay

    target = Folder.of(output)
    selected = select(models, target)
    _check_result(json_file, selected, target, force)
    processes = workers or cores()
    threads = 1 if engine == "ray" else max(1, cores() // processes)
    wishes = Wishes(certificates, reports, force, time_limit)
    kept, tasks = plan(selected, target, lambda model: _options_of(ctx, model, threads), wishes)
    display = None if quiet or json_file == Path("-") else BatchDisplay(len(selected), verbose=verbose)
    outcomes: list[Outcome] = []
    performed = (
        perform_on_ray(tasks, ray_address) if engine == "ray" else perform_here(tasks, processes, usable_memory())
    )
    with _telling_what_is_left(selected, outcomes), contextlib.closing(performed):
        for outcome in itertools.chain(kept, performed):
            outcomes.append(outcome)
            if display is not None:
                display.show(outcome)
    order = {each.name: number for number, each in enumerate(selected)}
    outcomes.sort(key=lambda outcome: order[outcome.name])
    write_json(document(outcomes), json_file)
    if display is not None:
        display.show_sum(outcomes)
    sys.exit(worst(outcomes))


def _options_of(ctx: click.Context, model: str, threads: int) -> Options:
    """The options for a model. As several are optimized at a time, each gets its share of the cores."""
    options = options_for(ctx, model, leave_out=_OF_ONE_MODEL)
    return options if options.jobs is not None else dataclasses.replace(options, jobs=threads)


def _check_result(json_file: Path | None, models: Sequence[Selected], target: Folder, force: bool) -> None:
    """Refuses, before anything is done, a report's file that may not be written, and results that are in no folder."""
    from foldproof.batch.folders import LocalFolder
    from foldproof.batch.plan import certificate_of, page_of

    if isinstance(target, LocalFolder) and target.path.exists() and not target.path.is_dir():
        raise UsageError(f"{target.text} is no folder", hint="Name one with -o")
    read = [Path(each.folder.at(each.name)) for each in models]
    written = [Path(target.at(each.name)) for each in models]
    others = [path.with_name(name) for path in written for name in (certificate_of(path.name), page_of(path.name))]
    check_json(json_file, read, written, others=others, force=force)


@contextlib.contextmanager
def _telling_what_is_left(models: Sequence[Selected], outcomes: Sequence[Outcome]) -> Iterator[None]:
    """Says how to go on, where a batch is ended."""
    try:
        yield
    except BaseException:
        left = len(models) - len(outcomes)
        click.echo(f"foldproof: {left} of {len(models)} models are left; the same command goes on with them", err=True)
        raise
