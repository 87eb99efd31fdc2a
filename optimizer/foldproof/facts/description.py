"""Facts in a person's words."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from foldproof.facts.engine import Facts


def known_shapes(values: Iterable[ir.Value | None], facts: Facts) -> tuple[str, ...]:
    """What is known of the shapes of values, and by what: `x has the shape [N, 3] by input contract`."""
    texts = []
    for value in values:
        fact = facts.of(value)
        if value is not None and fact.shape is not None:
            texts.append(f"{value.name} has the shape [{', '.join(map(str, fact.shape))}] by {fact.basis}")
    return tuple(texts)
