"""The examples that rules give in their docstrings, as models."""

from __future__ import annotations

import onnx

from foldproof.errors import UsageError
from foldproof.rewriting.rule import Rule

OPSET = 21
"""The version of `ai.onnx` where an example names no operator sets."""

IR_VERSION = 10
"""The IR version where an example names none."""


def example_of(rule: Rule) -> onnx.ModelProto | None:
    """The model that a rule gives as its example; None where it gives none.

    Args:
        rule: The rule. Its example is a graph in ONNX's text form, such as `g (float[N] x) => (float[N] y) { y = Neg
            (x) }`, with a header before it where it needs another opset than the default, and functions behind it.

    Raises:
        UsageError: It is no model.
    """
    if not rule.example:
        return None
    try:
        model = onnx.parser.parse_model(rule.example)
    except onnx.parser.ParseError as error:
        raise UsageError(
            f"the example of the rule {rule.name!r} can't be parsed: {str(error).strip()}",
            hint="Correct the section `Example:` of its docstring",
        ) from error
    model.ir_version = model.ir_version or IR_VERSION
    if not model.opset_import:
        model.opset_import.append(onnx.helper.make_opsetid("", OPSET))
    return model
