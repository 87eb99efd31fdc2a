"""What a check of a rule found: plain data, for a person or for JSON."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

Kind = Literal[
    "does not fire",
    "raises",
    "no outcome",
    "invalid result",
    "differs",
    "not deterministic",
    "not finished",
    "raises a cost",
]
"""What a rule can be guilty of.

- `does not fire`: its own example is left as it is.
- `raises`: it fails where it should give a reason, or nothing.
- `no outcome`: it gives something else than an action, a `Reason` or None.
- `invalid result`: what it makes is no valid model.
- `differs`: what it makes computes something else.
- `not deterministic`: it makes something else of the same model the second time.
- `not finished`: of what it has made, it makes something else again.
- `raises a cost`: a rewrite does not lower the cost that the rule declares, or raises one that stands before it.
"""


@dataclasses.dataclass(frozen=True)
class Finding:
    """A fault of a rule, in the smallest model that shows it.

    Attributes:
        kind: What kind of fault it is.
        detail: What is wrong, as a sentence.
        variations: How the model differs from the rule's example, in words.
        model: The model, in ONNX's text form.
        result: What the rule makes of it; empty where that is nothing.
        feed: Inputs at which it shows, as text, by name; empty where none are needed.
    """

    kind: Kind
    detail: str
    variations: tuple[str, ...]
    model: str
    result: str = ""
    feed: dict[str, str] = dataclasses.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return dataclasses.asdict(self)
