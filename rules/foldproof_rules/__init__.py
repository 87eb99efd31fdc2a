"""The built-in rules, one file per family. They use only the public API of foldproof.

A new rule is one new function in one file: the modules of this package are found and imported here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

from foldproof.rewriting import Rule


def rules() -> Sequence[Rule]:
    """All rules of the pack: the modules in alphabetical order, their rules in the order in which they stand."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return [each for module in modules for each in vars(module).values() if isinstance(each, Rule)]
