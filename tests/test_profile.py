"""`optimize --profile` tells where the time goes, and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from benchmarks.scaling import MODELS
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.profiling import Stopwatch


def test_the_profile_counts_what_was_done_and_adds_up_to_the_time_of_the_run(tmp_path: Path) -> None:
    source, plain, profiled = (tmp_path / f"{name}.onnx" for name in ("in", "plain", "profiled"))
    onnx.save(MODELS["transformer"](100), source)
    assert Optimizer(Options(verify=False)).run_file(source, plain).profile is None
    report = Optimizer(Options(verify=False, profile=True)).run_file(source, profiled)
    assert profiled.read_bytes() == plain.read_bytes()
    profile = report.profile
    assert profile is not None
    assert list(profile.seconds) == ["load", "facts", "rules", "changes", "folding", "rest", "write"]
    assert abs(sum(profile.seconds.values()) - sum(report.seconds.values())) < 1e-6
    assert sum(rule.applied for rule in profile.rules) == len(report.ledger)
    assert all(rule.asked >= rule.applied for rule in profile.rules if rule.rule != "constant_folding")
    assert profile.inferred >= 100
    assert next(iter(profile.with_import(1.0).seconds)) == "import"


def test_while_something_inner_is_measured_the_outer_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("foldproof.profiling.time.perf_counter", lambda: now[0])
    watch = Stopwatch()
    with watch.running("outer"):
        now[0] += 1
        with watch.running("inner"):
            now[0] += 10
            with watch.running("outer"):
                now[0] += 100
        now[0] += 1000
    watch.stop("outer")  # it does not run any more
    now[0] += 10000
    assert watch.seconds == {"outer": 1101, "inner": 10}
