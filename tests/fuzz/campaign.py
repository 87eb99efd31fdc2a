"""Many files, in child processes: what takes its process with it is told from the rest, and named."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import multiprocessing
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import onnx

from tests.fuzz.mutator import Mutator
from tests.fuzz.seeds import files, node_tests, small_seeds
from tests.fuzz.target import SECONDS, Outcome, Target

VERIFIED_SHARE = 16
"""One file of so many is verified too: that takes ten times as long."""

MEMORY = 1 << 30
"""The bytes of its own that the process may have that optimizes the files."""

BATCH = 5000
"""So many files are optimized in one process."""


@dataclasses.dataclass(frozen=True)
class Seeds:
    """Which models are mutated.

    Attributes:
        node_tests: Whether the published node tests are, besides the small ones.
        folders: Folders with more models.
    """

    node_tests: bool = False
    folders: tuple[Path, ...] = ()

    @functools.lru_cache(maxsize=1)  # noqa: B019  two or three are made
    def load(self) -> Sequence[onnx.ModelProto]:
        """The models."""
        return [*small_seeds(), *(node_tests() if self.node_tests else ()), *files(self.folders)]


@dataclasses.dataclass
class Tally:
    """What came of the files.

    Attributes:
        outcomes: How many ended in which way.
        faults: Of each kind of fault the first file's number, with what is told of it.
        counts: How many files had each kind of fault.
    """

    outcomes: Counter[str] = dataclasses.field(default_factory=Counter)
    faults: dict[str, tuple[int, str]] = dataclasses.field(default_factory=dict)
    counts: Counter[str] = dataclasses.field(default_factory=Counter)

    def add(self, number: int, outcome: Outcome) -> bool:
        """Counts one; whether it is the first of its kind of fault."""
        self.outcomes[outcome.kind] += 1
        if not outcome.fault:
            return False
        kind = outcome.fault.partition("\n")[0]
        self.counts[kind] += 1
        return self.faults.setdefault(kind, (number, outcome.fault)) == (number, outcome.fault)

    def __str__(self) -> str:
        ways = ", ".join(f"{count} {kind}" for kind, count in self.outcomes.most_common())
        return f"{sum(self.outcomes.values())} files: {ways}; {len(self.faults)} kinds of fault"


def mutant(number: int, mutator: Mutator, seeds: Sequence[onnx.ModelProto]) -> bytes:
    """The file of a number."""
    rng = random.Random(number)
    return mutator.mutated(rng.choice(seeds), rng)


def fuzz(first: int, count: int, seeds: Seeds, tell: Callable[[Tally, int], None] | None = None) -> Tally:
    """Takes the files of some numbers through the program.

    Args:
        first: The first number.
        count: How many.
        seeds: What they are made of.
        tell: Is told after each file what came of all, and the number of the file.
    """
    tally = Tally()
    number, end = first, first + count
    while number < end:
        number = _batch(number, min(end, number + BATCH), seeds, tally, tell)
    return tally


def _batch(start: int, end: int, seeds: Seeds, tally: Tally, tell: Callable[[Tally, int], None] | None) -> int:
    """Optimizes files in one child process; returns the number of the first one that it did not come to."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_optimize_all, args=(theirs, start, end, seeds), daemon=True)
    child.start()
    theirs.close()
    number = start
    try:
        ours.poll(None) and ours.recv()  # it has read the seeds
        while number < end:
            # Its own alarm comes first, unless native code hangs.
            if ours.poll(SECONDS * 2):
                outcome = ours.recv()
            else:
                child.kill()
                outcome = Outcome("hang", "native code hangs")
            tally.add(number, outcome)
            number += 1
            if tell is not None:
                tell(tally, number - 1)
            if outcome.kind == "hang":
                break
    except EOFError:
        child.join()
        tally.add(number, Outcome("crash", f"the process ended with {child.exitcode}"))
        number += 1
    finally:
        child.kill()
        child.join()
    return number


def _optimize_all(connection: Connection, start: int, end: int, seeds: Seeds) -> None:
    """What the child does."""
    with tempfile.TemporaryDirectory(prefix="foldproof-fuzz-") as cache, Target() as target:
        os.environ["XDG_CACHE_HOME"] = cache
        models = seeds.load()
        mutator = Mutator(models)
        _limit_memory()
        connection.send("ready")
        for number in range(start, end):
            verify = number % VERIFIED_SHARE == 0
            connection.send(target.try_file(mutant(number, mutator, models), verify=verify))


def _limit_memory() -> None:
    """Makes what takes too much memory an error. Only for this process: the one that runs models has its own limit."""
    with contextlib.suppress(ImportError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))
