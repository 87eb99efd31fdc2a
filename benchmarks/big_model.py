"""What a model of some gigabytes takes: seconds and memory of Foldproof and its peers, each once.

`python -m benchmarks.big_model MODEL.onnx [--peers-bin DIR]` optimizes a model whose weights lie in external data, by
the commands of Foldproof, onnxsim and OnnxSlim. Foldproof is run without verification, without and with
`--link-weights`, and with verification, which runs both models in onnxruntime, in a process beside it. `own` is the
peak of the resident memory of the process alone, `tree` that of it and each process that it started, added up.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.side_by_side import processes

OURS = ("--no-verify", "--no-verify --link-weights", "")
PEERS = ("onnxsim", "onnxslim")


def measured(name: str, command: list[str], timeout: float) -> str:
    """Runs a command; returns a row of the table."""
    ended = processes.run(command, timeout)
    figures = f"{ended.wall:8.1f} {ended.cpu:8.1f} {ended.own_mib:8.0f} {ended.peak_mib:8.0f}"
    return f"{name:40} {figures}  {'' if ended.status == 0 else ended.complaint}\n"


def main() -> None:
    """Measures what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--peers-bin", type=Path, help="the folder with the peers' commands; none are run without it")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds for each")
    arguments = parser.parse_args()
    model = arguments.model.resolve()
    sys.stdout.write(f"{'':40} {'wall s':>8} {'CPU s':>8} {'own MiB':>8} {'tree MiB':>8}\n")
    # The folder above the model's: linked weights can only be referred to from there, or from beside them.
    for options in OURS:
        with tempfile.TemporaryDirectory(dir=model.parent.parent, prefix="big-model-") as folder:
            target = (
                Path(folder).parent / f"{Path(folder).name}.onnx" if "--link" in options else Path(folder) / "o.onnx"
            )
            command = [sys.executable, "-m", "foldproof.cli", "optimize", str(model), "-o", str(target), "-q"]
            row = measured(f"foldproof {options}", [*command, *options.split()], arguments.timeout)
            sys.stdout.write(row)
            for path in target.parent.glob(f"{target.name}*"):
                path.unlink()
    for name in PEERS if arguments.peers_bin is not None else ():
        with tempfile.TemporaryDirectory(dir=model.parent.parent, prefix="big-model-") as folder:
            command = [str(arguments.peers_bin / name), str(model), f"{folder}/o.onnx", "--save-as-external-data"]
            sys.stdout.write(measured(name, command, arguments.timeout))


if __name__ == "__main__":
    main()
