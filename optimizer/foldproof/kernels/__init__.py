"""Reference kernels: functions that compute one operator each, as its specification says, on numpy arrays.

One file for each operator family. A new kernel is one function with `@kernel(...)`; nothing else has to
know of it, because all modules of this package are imported here.
"""

from __future__ import annotations

import importlib
import pkgutil

from .registry import Kernel, kernel, lookup
from .shape import CROSS_CHECKED

__all__ = ["CROSS_CHECKED", "Kernel", "kernel", "lookup"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
