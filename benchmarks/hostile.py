"""What files take that are made to do harm, and how each ends.

`python -m benchmarks.hostile [--only WORDS]` writes each file of `hostile_files.py` to a folder of its own and runs
`foldproof optimize` on it, with verification and without. Printed are the seconds, those of the CPU, the memory of the
process and of all that it started, the exit status and the last words. The exit status of this command is 1 where a
file was neither optimized nor refused (statuses 0, 3 and 4), something was written by a failure, or more than 10
seconds or 1 GiB were taken.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.hostile_files import FILES
from benchmarks.side_by_side import processes

SECONDS = 10.0
MEMORY_MIB = 1024
_STATUSES = {0, 3, 4}
_WORDS = 150


def main() -> int:
    """Measures what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="the files with these words in their names")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each")
    arguments = parser.parse_args()
    sys.stdout.write(f"{'':56} {'wall s':>7} {'CPU s':>7} {'MiB':>6} {'status':>6}\n")
    chosen = {name: write for name, write in FILES.items() if arguments.only in name}
    missed = [
        _label(name, options)
        for name, write in chosen.items()
        for options in _OPTIONS
        if not _measured(name, write, arguments.timeout, options)
    ]
    sys.stdout.write(
        f"{len(chosen)} files twice, {len(missed)} beyond the limits{': ' if missed else ''}{'; '.join(missed)}\n"
    )
    return 1 if missed else 0


_OPTIONS: tuple[Sequence[str], ...] = (("--no-verify",), ())


def _measured(name: str, write: Callable[[Path], None], timeout: float, options: Sequence[str]) -> bool:
    """Runs one file and prints its row; whether it ended as it must."""
    with tempfile.TemporaryDirectory(prefix="foldproof-hostile-") as folder:
        path, target = Path(folder, "model", f"model{Path(name).suffix or '.onnx'}"), Path(folder, "out.onnx")
        path.parent.mkdir()
        write(path)
        command = [sys.executable, "-m", "foldproof.cli", "optimize", str(path), "-o", str(target), "-q", *options]
        ended = processes.run(command, timeout, {**os.environ, "XDG_CACHE_HOME": folder})
        is_good = (
            ended.status in _STATUSES
            and target.exists() == (ended.status == 0)
            and ended.wall < SECONDS
            and ended.peak_mib < MEMORY_MIB
        )
        words = "" if ended.status == 0 else ended.complaint.replace(folder, "")[:_WORDS]
        mark = "" if is_good else "  <- beyond the limits"
        figures = f"{ended.wall:7.1f} {ended.cpu:7.1f} {ended.peak_mib:6.0f} {ended.status:6}"
        sys.stdout.write(f"{_label(name, options):56} {figures}  {words}{mark}\n")
        sys.stdout.flush()
        return is_good


def _label(name: str, options: Sequence[str]) -> str:
    return f"{name}, not verified" if options else name


if __name__ == "__main__":
    sys.exit(main())
