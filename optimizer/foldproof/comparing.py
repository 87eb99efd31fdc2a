"""Compares two models that a person has: the same inputs through both."""

from __future__ import annotations

import foldproof.lazy_sympy  # noqa: F401  before all that imports onnx_ir

# isort: split
import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from foldproof import model_file
from foldproof.any_model import AnyModel, source_of
from foldproof.facts import Facts
from foldproof.model_file import Source
from foldproof.optimization import overridable_names
from foldproof.options import Options

if TYPE_CHECKING:
    from foldproof.verification import Progress, Runnable, Verification


def verify(
    a: AnyModel,
    b: AnyModel,
    *,
    exact: bool = False,
    seed: int = 0,
    feeds: str | os.PathLike[str] | None = None,
    bind: Mapping[str, Sequence[int]] | None = None,
    verify_seconds: float = 60.0,
    trust_model: bool = False,
    provider: str | None = None,
    reference: bool = False,
    progress: Progress | None = None,
) -> Verification:
    """Compares two models: the same inputs through both, at several bindings of the symbolic dims.

    Args:
        a: The original.
        b: The model that should do the same.
        exact: Compare floats bit for bit.
        seed: The seed of the generated inputs.
        feeds: A folder with the person's own inputs (`.npz`, `.npy`, or ONNX test data).
        bind: Sizes of symbolic dims to run at, by name: all combinations, and no other sizes of these dims.
        verify_seconds: The time limit, from after the first run of both models.
        trust_model: Run them without the limits that keep models from harm that are made to do some.
        provider: The execution provider that onnxruntime has to use, such as `CUDAExecutionProvider`.
        reference: Run both models by the ONNX reference, which is slow, and not by onnxruntime.
        progress: Is told what is done next, and how many of how many steps were done.

    Returns:
        The verification. Its status is `same`, `different`, or `unverified` where nothing can run `a`.

    Raises:
        ModelError: A model can't be read, or is invalid.
        UsageError: The feeds or the sizes don't fit the models.
        UnverifiedError: onnxruntime is not installed.
    """
    from foldproof.verification import Verification
    from foldproof.verification import verify as compare
    from foldproof.verification.limits import Limits, limits_of

    options = Options(
        seed=seed, feeds=None if feeds is None else Path(feeds), bind=bind or {}, verify_seconds=verify_seconds
    )
    with contextlib.ExitStack() as temporary:
        sources = [source_of(a), source_of(b)]
        limits = Limits()
        if not trust_model:
            for each in sources:
                limits |= limits_of(each.model, Facts(each.model, overridable_names(each.model, options)))
        if limits.reason is not None:
            return Verification("unverified", reason=limits.reason)
        return compare(
            *(_runnable(each, temporary) for each in sources),
            exact=exact,
            seed=options.seed,
            feeds=options.feeds,
            bindings=options.bind,
            seconds=options.verify_seconds,
            provider=provider,
            reference=reference,
            progress=progress,
            allowance=limits.allowance,
            loading=limits.loading,
        )


def _runnable(source: Source, temporary: contextlib.ExitStack) -> Runnable:
    """A model as verification takes it.

    Args:
        source: The model.
        temporary: Removes what has to be written for it.
    """
    if source.data_files and source.path is not None:
        if source.file is not None:
            return source.file
        path = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="foldproof-"))) / "model.onnx"
        model_file.write(source.model, source, path, is_output=False)
        return path
    return source.proto if source.proto is not None else model_file.to_proto(source.model, source)
