"""Runs the exam of the ONNX backend node tests on a part of its cases, and fails on any fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

PARTS = (
    "_shape",
    "size",
    "constant",
    "reshape",
    "cast_",
    "identity",
    "if_",
    "loop",
    "sequence",
    "optional",
    "reduce_sum",
)
FAULTS = {"wrong", "broken", "raised", "crash", "outputs renamed", "timeout"}


def main() -> int:
    """Runs the parts; the exit status is 1 where a case is faulty."""
    exam = sys.argv[1]
    faults = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NODEEXAM_CACHE": str(Path(folder) / "cases.pkl")}
        for part in PARTS:
            out = Path(folder) / f"{part}.json"
            command = [sys.executable, exam, "run", "--peer", "foldproof", "--only", part, "--out", str(out)]
            subprocess.run(command, check=True, env=environment)
            for record in json.loads(out.read_text()):
                if record["status"] in FAULTS:
                    faults[record["status"]] += 1
                    sys.stdout.write(
                        f"{record['status']}: {record['case']} ({record['form']}) {record.get('error', '')}\n"
                    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
