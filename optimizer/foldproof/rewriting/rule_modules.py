"""Loads the rules of a module that a person names: one that is installed, or a file of their own."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from foldproof.errors import UsageError
from foldproof.rewriting.rule import Rule


def rules_in(name: str) -> list[Rule]:
    """The rules of a module.

    Args:
        name: Such as `my_pack.rules`, which may stand in the working directory, or the path of a file, such as
            `tools/my_rules.py`.

    Returns:
        What the module's function `rules` gives, as that of an entry point does; without one, all rules in it.

    Raises:
        UsageError: There is no such module, it can't be imported, or it holds no rules.
    """
    module = _from_file(Path(name)) if is_path(name) else _imported(name)
    give = getattr(module, "rules", None)
    try:
        rules = list(give()) if callable(give) else [each for each in vars(module).values() if isinstance(each, Rule)]
    except Exception as error:
        raise UsageError(f"the function `rules` of {name!r} failed: {type(error).__name__}: {error}") from error
    if not rules or not all(isinstance(each, Rule) for each in rules):
        raise UsageError(f"the module {name!r} holds no rules", hint="Make them by `foldproof.rewriting.rule`")
    return rules


def is_there(name: str) -> bool:
    """Whether there is a module of that name, or a file where it is the path of one. A module is not imported."""
    return Path(name).is_file() if is_path(name) else _spec(name) is not None


def files_of(name: str) -> list[Path]:
    """The Python files that a module's rules are from: its own or, where it is in a package, all of that.

    Nothing is imported. There are none where there is no such module.
    """
    if is_path(name):
        return [path for path in (Path(name),) if path.is_file()]
    spec = _spec(name.partition(".")[0])
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [] if spec.origin is None or not spec.has_location else [Path(spec.origin)]
    return sorted(path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*.py"))


def is_path(name: str) -> bool:
    """Whether a name is the path of a file, and not that of a module."""
    return name.endswith(".py") or os.sep in name


def _spec(name: str) -> ModuleSpec | None:
    _admit_working_directory()
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a package above it that is not there; a name that is none
        return None


def _imported(name: str) -> ModuleType:
    _admit_working_directory()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                f"there is no module {name!r}", hint="Name one that can be imported here, or the path of a .py file"
            ) from error
        raise UsageError(f"the module {name!r} can't be imported: {error}") from error
    except (Exception, SystemExit) as error:  # whatever a person's code may raise
        raise UsageError(f"the module {name!r} can't be imported: {type(error).__name__}: {error}") from error


def _from_file(path: Path) -> ModuleType:
    """The module in a file. It is loaded once: to load it again would make other rules of the same names."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}", hint="Name a .py file, or a module that can be imported here")
    path = path.resolve()
    # Its last part is what rules are listed by.
    name = f"rules_from_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}.{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if not isinstance(spec, ModuleSpec) or spec.loader is None:
        raise UsageError(f"{path} is no Python file", hint="Name one that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a person's code may raise
        del sys.modules[name]
        raise UsageError(f"{path} can't be imported: {type(error).__name__}: {error}") from error
    return module


def _admit_working_directory() -> None:
    """Lets modules of the working directory be imported, as `python -m` does."""
    working = str(Path.cwd())
    if working not in sys.path:
        sys.path.insert(0, working)
