"""`python -m tests.fuzz --files 200000 --seed 0` optimizes as many mutated files, from that number on.

`python -m tests.fuzz.guided` does the same with mutations that are guided by coverage.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.campaign import Seeds, Tally, fuzz, mutant
from tests.fuzz.mutator import Mutator


def main() -> int:
    """Runs it; the exit status is 1 where there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=2000, help="how many files")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first; the others follow")
    parser.add_argument("--node-tests", action="store_true", help="mutate the published node tests of onnx too")
    parser.add_argument("--models", type=Path, action="append", default=[], help="mutate the small models there too")
    parser.add_argument("--save", type=Path, help="write a file of each kind of fault to this folder")
    arguments = parser.parse_args()
    seeds = Seeds(arguments.node_tests, tuple(arguments.models))
    start, told = time.monotonic(), 0

    def tell(tally: Tally, number: int) -> None:
        nonlocal told
        for fault, text in list(tally.faults.values())[told:]:
            sys.stdout.write(f"file {fault}: {text}\n\n")
            if arguments.save is not None:
                _save(fault, text, seeds, arguments.save)
        told = len(tally.faults)
        if (number + 1 - arguments.seed) % 1000 == 0:
            sys.stdout.write(f"up to {number}, {time.monotonic() - start:.0f} s: {tally}\n")
        sys.stdout.flush()

    tally = fuzz(arguments.seed, arguments.files, seeds, tell)
    sys.stdout.write(f"{time.monotonic() - start:.0f} s, {tally}\n")
    for kind, count in tally.counts.most_common():
        sys.stdout.write(f"{count:6} from file {tally.faults[kind][0]}: {kind}\n")
    return 1 if tally.faults else 0


def _save(number: int, text: str, seeds: Seeds, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    models = seeds.load()
    (folder / f"{number}.onnx").write_bytes(mutant(number, Mutator(models), models))
    (folder / f"{number}.txt").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
