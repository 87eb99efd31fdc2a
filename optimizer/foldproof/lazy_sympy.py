"""Imports onnx_ir without sympy, half of the time of that: onnx_ir needs it for arithmetic on symbolic dims only."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from typing import Any


class _Sympy(types.ModuleType):
    """What onnx_ir has for sympy. Whatever is asked of it, sympy itself answers, which is imported then."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:  # onnx_ir is being imported: it names functions that it may call
            return functools.partial(_call, name)
        return getattr(importlib.import_module(self.__name__), name)


def _call(name: str, *arguments: Any, **options: Any) -> Any:
    return getattr(importlib.import_module("sympy"), name)(*arguments, **options)


def import_onnx_ir() -> None:
    """Imports onnx_ir, where neither it nor sympy is there yet. For all others `import sympy` is sympy."""
    if "sympy" in sys.modules or "onnx_ir" in sys.modules:
        return
    stand_in = sys.modules["sympy"] = _Sympy("sympy")
    try:
        importlib.import_module("onnx_ir")
    except Exception:  # noqa: BLE001  a version that asks for more of sympy: it is imported again, with sympy
        for name in [each for each in sys.modules if each.partition(".")[0] == "onnx_ir"]:
            del sys.modules[name]
    finally:
        if sys.modules.get("sympy") is stand_in:
            del sys.modules["sympy"]


import_onnx_ir()
