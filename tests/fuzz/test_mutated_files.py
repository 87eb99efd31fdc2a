"""Mutated files end as optimized or as an error of ours, and nothing is written but with success.

`FOLDPROOF_FUZZ=nightly` takes 200,000 of them through the program, otherwise it is 2,000; `python -m tests.fuzz` takes
any others.
"""

from __future__ import annotations

import os
import random

import onnx
import pytest

from foldproof.errors import RuleError, VerificationError
from tests.fuzz import campaign
from tests.fuzz.campaign import Seeds, Tally, fuzz, mutant
from tests.fuzz.mutator import Mutator
from tests.fuzz.target import Outcome, Target
from tests.helpers import needs_recent_onnx

NIGHTLY = os.environ.get("FOLDPROOF_FUZZ") == "nightly"
FILES = 200_000 if NIGHTLY else 2_000
PARTS = 40 if NIGHTLY else 2


@needs_recent_onnx
@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_files_end_well(part, record_property):
    size = FILES // PARTS
    tally = fuzz(part * size, size, Seeds())
    record_property("tally", str(tally))
    assert not tally.faults, "\n\n".join(f"file {number}: {text}" for number, text in tally.faults.values())
    good = tally.outcomes["optimized"] + tally.outcomes["verified"]
    assert size * 0.4 < good < size * 0.9, "the mutations are too wild, or too tame"
    assert tally.outcomes["verified"] > size / 100


def test_a_file_depends_on_its_number_alone():
    seeds = Seeds().load()
    first, again = Mutator(seeds), Mutator(seeds)
    assert mutant(7, first, seeds) == mutant(7, again, seeds) != mutant(8, first, seeds)


def test_the_seeds_stay_as_they_are():
    seeds = Seeds().load()
    before = [model.SerializeToString(deterministic=True) for model in seeds]
    mutator = Mutator(seeds)
    for number in range(300):
        mutator.mutated(seeds[number % len(seeds)], random.Random(number))
    assert [model.SerializeToString(deterministic=True) for model in seeds] == before


# What follows breaks the program: the fuzzer must notice it. --------------------------------------------------------------


@pytest.fixture
def data() -> bytes:
    return onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg (x) }'
    ).SerializeToString()


def raising(error: BaseException):
    def run_file(*args, **options):
        raise error

    return run_file


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        RecursionError(),
        MemoryError(),
        RuleError("a rule failed"),
        VerificationError("they differ"),
    ],
)
def test_faults_are_noticed(error, data, monkeypatch):
    with Target() as target:
        assert target.try_file(data, verify=False) == Outcome("optimized")
        monkeypatch.setattr("foldproof.pipeline.Optimizer.run_file", raising(error))
        assert target.try_file(data, verify=False).fault


def test_what_is_written_by_a_failure_is_noticed(data, monkeypatch):
    from foldproof.errors import ModelError
    from foldproof.pipeline import Optimizer

    def run_file(self, source, destination):
        destination.write_bytes(b"half")
        raise ModelError("it is bad")

    monkeypatch.setattr(Optimizer, "run_file", run_file)
    with Target() as target:
        assert "written" in target.try_file(data, verify=False).fault


def test_a_process_that_ends_is_told_from_the_rest(monkeypatch):
    monkeypatch.setattr(campaign, "_optimize_all", _die_at_the_third)
    tally = fuzz(0, 3, Seeds())
    assert tally.outcomes == {"optimized": 2, "crash": 1}
    assert [number for number, _ in tally.faults.values()] == [2]


def _die_at_the_third(connection, start, end, seeds):
    connection.send("ready")
    for number in range(start, end):
        if number == 2:
            os._exit(139)
        connection.send(Outcome("optimized"))


def test_kinds_of_fault_are_counted_once():
    tally = Tally()
    assert tally.add(1, Outcome("KeyError", "KeyError in a.py:f\none"))
    assert not tally.add(2, Outcome("KeyError", "KeyError in a.py:f\nother"))
    assert len(tally.faults) == 1
    assert tally.counts == {"KeyError in a.py:f": 2}
