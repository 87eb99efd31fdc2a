"""`torch.onnx.ONNXProgram`, which torch's exporter gives. It is known without an import of torch."""

from __future__ import annotations

import sys
from typing import Any, Protocol, TypeGuard

import onnx_ir as ir


class Program(Protocol):
    """What is needed of an `ONNXProgram`.

    Attributes:
        model: The model.
        exported_program: What it was made of, which knows how to arrange arguments for it.
    """

    model: ir.Model
    exported_program: Any

    def __init__(self, model: ir.Model, exported_program: Any) -> None: ...


def is_program(model: object) -> TypeGuard[Program]:
    """Whether it is an `ONNXProgram`. Who has one has imported its module."""
    known = getattr(sys.modules.get("torch.onnx"), "ONNXProgram", None)
    return known is not None and isinstance(model, known)


def with_model(program: Program, model: ir.Model) -> Program:
    """A new program of another model, which takes the same arguments and has a session of its own.

    Args:
        program: The program, which is not changed.
        model: A model with the same inputs and outputs.
    """
    return type(program)(model, program.exported_program)
