"""What verification costs, beside what the original alone costs.

`python -m benchmarks.verification MODEL.onnx ... [--seed N] [--json FILE]` optimizes each model and compares the result
with the original, as `foldproof optimize` does. Then, in another process, onnxruntime loads the original and runs it
once at each of the same feeds. The start of the process is in both times. The ratio over all models is to stay below 3.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import time

import click

from foldproof import Optimizer, Options
from foldproof.engines import EngineError, OnnxRuntime, Worker
from foldproof.protos import load_proto
from foldproof.verification import Settings, Verifier, find_probes


def measure(path: pathlib.Path, seed: int) -> dict[str, object]:
    """The times of one model, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "optimized.onnx"
        report = Optimizer(Options(verify=False)).run_file(path, target)
        exact = all(entry.exact for entry in report.ledger)
        started = time.perf_counter()
        with Verifier(path, Settings(seed=seed)) as verifier:
            verification = verifier.compare(target, exact=exact, evaluate=find_probes(load_proto(target)))
            verify_seconds = time.perf_counter() - started
            feeds = [trial.feed.values for trial in verifier.trials()]
        started = time.perf_counter()
        with Worker() as worker:
            try:
                engine = OnnxRuntime(path, worker=worker)
                for feed in feeds:
                    engine.run(feed)
            except EngineError as error:
                return {"model": str(path), "status": verification.status, "error": str(error)[:100]}
            original_seconds = time.perf_counter() - started
    return {
        "model": str(path),
        "status": verification.status,
        "runs": len(verification.runs),
        "verify": verify_seconds,
        "original": original_seconds,
        "ratio": verify_seconds / original_seconds,
        "differences": [each.detail for each in verification.differences[:2]],
    }


def main() -> None:
    """Measure the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = []
    for path in arguments.models:
        row = measure(path, arguments.seed)
        rows.append(row)
        if "error" in row:
            click.echo(f"{path.stem:32} {row['status']:10} {row['error']}")
        else:
            times = f"verify {row['verify']:6.2f}  original {row['original']:6.2f}  ratio {row['ratio']:5.2f}"
            click.echo(f"{path.stem:32} {row['status']:10} {row['runs']:3} runs  {times}  {row['differences'] or ''}")
    measured = [row for row in rows if "error" not in row]
    verify, original = (sum(float(str(row[name])) for row in measured) for name in ("verify", "original"))
    ratio = verify / original
    click.echo(f"{len(measured)} models: verify {verify:.1f} s, original alone {original:.1f} s, ratio {ratio:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
