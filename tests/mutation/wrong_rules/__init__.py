"""Wrong rules by family, each with a model in which it fires and what shows it. All are plausible faults of a rewriter."""

from __future__ import annotations

import importlib
import pkgutil

from tests.mutation.mutant import Mutant


def mutants() -> list[Mutant]:
    """All of them, in the order of the files."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found: list[Mutant] = []
    for module in modules:
        for each in vars(module).values():
            several = each if isinstance(each, list) else [each]
            found += [mutant for mutant in several if isinstance(mutant, Mutant)]
    return found
