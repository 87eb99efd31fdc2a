"""A save that is ended anywhere leaves the old model or the new one; and two saves at once don't mix."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from foldproof import earlier_output
from tests.kill_points import NEW, OLD, save, value_of

ROOT = Path(__file__).parent.parent.parent

SAVE = """
import sys
from foldproof import model_file
for _ in range(6):
    source = model_file.read(sys.argv[1])
    model_file.write(source.model, source, sys.argv[2])
"""


def test_ended_anywhere():
    """A process of its own, as it forks. All points, some 800, take a minute: `python -m tests.kill_points`."""
    command = [sys.executable, "-m", "tests.kill_points", "--points", "40"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 of" in done.stdout


def test_two_at_once(tmp_path):
    out = tmp_path / "out" / "out.onnx"
    out.parent.mkdir()
    runs = []
    for value in (OLD, NEW):
        model = tmp_path / f"{value}.onnx"
        save(value, model, "one")
        runs.append(subprocess.Popen([sys.executable, "-c", SAVE, str(model), str(out)], cwd=ROOT, env=os.environ))
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    assert value_of(out) in (OLD, NEW)
    assert len(list(out.parent.iterdir())) == 2
    assert earlier_output.is_ours(out)  # so that a third run may replace it
