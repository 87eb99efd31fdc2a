"""Transfer functions: an operator's specification, applied to facts. One file per operator family.

A new one is one function in one file: the modules of this package are found and imported here.
"""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
