"""`python -m tests.fuzz.guided --files 100000`: mutations guided by coverage. It takes the extra `fuzz`.

atheris keeps the files that reach code which none before them reached, and chooses what to mutate next. The mutator for
models makes most of the changes, so that a change of one part leaves the rest of the file as it is.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

import atheris
import onnx
from google.protobuf.message import DecodeError

with atheris.instrument_imports(include=["foldproof", "foldproof_rules"]):
    from tests.fuzz.campaign import VERIFIED_SHARE, Seeds, Tally
    from tests.fuzz.mutator import Mutator
    from tests.fuzz.target import Target

LARGEST = 1 << 20
"""Files of more bytes are not made."""


def main() -> int:
    """Takes files through the program until so many were tried. atheris ends the process itself."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("--files", type=int, default=2000, help="how many files")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the random numbers")
    parser.add_argument("--node-tests", action="store_true", help="mutate the published node tests of onnx too")
    parser.add_argument("--models", type=Path, action="append", default=[], help="mutate the small models there too")
    parser.add_argument("--save", type=Path, help="write a file of each kind of fault to this folder")
    arguments = parser.parse_args()
    files, save = arguments.files, arguments.save
    seeds = Seeds(arguments.node_tests, tuple(arguments.models))
    models = seeds.load()
    mutator, tally = Mutator(models), Tally()
    with tempfile.TemporaryDirectory(prefix="foldproof-fuzz-") as folder, Target() as target:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        os.environ["XDG_CACHE_HOME"] = folder
        for number, model in enumerate(models):
            (corpus / f"{number}.onnx").write_bytes(model.SerializeToString())

        def mutate(data: bytes, largest: int, number: int) -> bytes:
            try:
                mutated = mutator.mutated(onnx.ModelProto.FromString(data), random.Random(number))
            except (DecodeError, ValueError):
                mutated = atheris.Mutate(data, largest)
            return mutated[:largest]

        def try_one(data: bytes) -> None:
            number = sum(tally.outcomes.values())
            outcome = target.try_file(data, verify=number % VERIFIED_SHARE == 0)
            if tally.add(number, outcome):
                sys.stdout.write(f"{outcome.fault}\n\n")
                if save is not None:
                    save.mkdir(parents=True, exist_ok=True)
                    (save / f"guided_{number}.onnx").write_bytes(data)
            if (number + 1) % 1000 == 0 or number + 1 == files:
                sys.stdout.write(f"{tally}\n")
                sys.stdout.flush()

        flags = [f"-runs={files}", f"-seed={arguments.seed + 1}", f"-max_len={LARGEST}", "-timeout=120"]
        atheris.Setup([sys.argv[0], *flags, str(corpus)], try_one, custom_mutator=mutate)
        atheris.Fuzz()
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
