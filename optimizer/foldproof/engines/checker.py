"""onnx's own checker, in a process of its own: its inference never comes back from some models."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import onnx

SECONDS = 6.0
"""The checker is ended when that and what came before it took this time."""

_LEAST = 1.0


def checker_complaint(proto: onnx.ModelProto, spent: float = 0.0) -> str | None:
    """What onnx's checker, with its inference, finds wrong with a model.

    Args:
        proto: The model.
        spent: The seconds that were spent before to find out whether it is valid.

    Returns:
        Its words; None where it finds nothing, or does not come to an end.
    """
    seconds = max(SECONDS - spent, _LEAST)
    try:
        content = proto.SerializeToString()
        done = subprocess.run(
            # A script, not `-c`: that would import what the working folder holds, which may be anybody's.
            [sys.executable, str(pathlib.Path(__file__).resolve())],
            input=content,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):  # ValueError: it is larger than protobuf admits
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 3 else None


def main() -> None:
    """Check the model that comes in, and end with 3 and the checker's words where it finds something wrong."""
    try:
        onnx.checker.check_model(onnx.ModelProto.FromString(sys.stdin.buffer.read()), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        sys.stdout.buffer.write(str(error).strip().encode(errors="replace"))
        sys.exit(3)


if __name__ == "__main__":
    main()
