"""What libraries say of a model is not for the terminal: it may be full of the model's own names."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

_LOGGERS = ("onnx_ir", "onnxscript")


@contextlib.contextmanager
def silent_libraries() -> Iterator[None]:
    """Lets no warning and no log record of libraries through. What matters of that, we check and tell ourselves."""
    nothing = logging.NullHandler()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [each.propagate for each in loggers]
    for each in loggers:
        each.addHandler(nothing)
        each.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, propagate in zip(loggers, before, strict=True):
            each.removeHandler(nothing)
            each.propagate = propagate
