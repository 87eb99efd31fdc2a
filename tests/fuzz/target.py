"""One file through load, optimize and save, and what may come of it."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from foldproof import model_file
from foldproof.engines import Worker
from foldproof.errors import FoldproofError, RuleError, VerificationError
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from tests.fuzz.seeds import DATA

SECONDS = 30
"""A file that takes longer is a fault."""


class TooSlowError(BaseException):
    """A file took too long. No handler for errors may take it for one."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a file ended.

    Attributes:
        kind: `verified`, `optimized` (not asked to verify), `unverified`, or the class of the error.
        fault: What is wrong with that; `""` where nothing is. Its first line is the same for the same kind of fault.
    """

    kind: str
    fault: str = ""


class Target:
    """Takes files through the program, one after the other, in a folder of its own, as long as the `with` lasts."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._plain = Optimizer(Options(verify=False, inline_functions=False))
        self._verifying = Optimizer(Options(allow_unverified=True, verify_seconds=5.0))

    def __enter__(self) -> Target:
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="foldproof-fuzz-")))
        (self._folder / "weights.bin").write_bytes(DATA)
        self._stack.enter_context(self._stack.enter_context(Worker(memory=2 << 30)).lent())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def try_file(self, data: bytes, *, verify: bool) -> Outcome:
        """Optimizes a model's file."""
        source, output = self._folder / "model.onnx", self._folder / "out.onnx"
        source.write_bytes(data)
        try:
            with _alarm():
                outcome = self._optimize(source, output, verify)
        except FoldproofError as error:
            # What differs without a guilty rewrite was written wrong, or is a false alarm.
            fault = _told(error) if isinstance(error, (RuleError, VerificationError)) or error.exit_status == 5 else ""
            outcome = Outcome(type(error).__name__, fault)
            if output.exists():
                outcome = Outcome(outcome.kind, f"a file was written in spite of {error}")
        except (Exception, TooSlowError) as error:  # noqa: BLE001  whatever it is, it is a fault
            outcome = Outcome(type(error).__name__, _told(error))
        if source.read_bytes() != data or (self._folder / "weights.bin").read_bytes() != DATA:
            outcome = Outcome(outcome.kind, "the input was changed")
        self._clear(outcome)
        return outcome

    def _optimize(self, source: Path, output: Path, verify: bool) -> Outcome:
        report = (self._verifying if verify else self._plain).run_file(source, output)
        for warning in report.warnings:
            if "fault of Foldproof" in warning:
                return Outcome("warning", f"{warning}\n{warning}")
        if report.taken_back:
            return Outcome("taken back")  # as where onnxruntime is stricter with the constants of an invalid model
        model_file.read(output)  # what was written has to be a model
        return Outcome("optimized" if report.verdict == "not asked" else report.verdict)

    def _clear(self, outcome: Outcome) -> None:
        for path in self._folder.iterdir():
            if path.name not in ("model.onnx", "weights.bin"):
                path.unlink()


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def ring(signum: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"it takes longer than {SECONDS} s")

    before: Any = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _told(error: BaseException) -> str:
    """A fault's text: where it came up (of its first cause), then all that Python tells."""
    first = error
    while first.__cause__ is not None:
        first = first.__cause__
    frames = traceback.extract_tb(first.__traceback__)
    ours = [frame for frame in frames if "foldproof" in frame.filename]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else "?"
    text = "".join(traceback.format_exception(error))
    return f"{type(first).__name__} in {where}\n{text}"
