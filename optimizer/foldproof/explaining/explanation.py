"""What there is to say of a node, a value, a rule: for a person or a program."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal

from foldproof.explaining.derivation import Derivation
from foldproof.provenance import Gone, Origin
from foldproof.rewriting import Entry

FORMAT = 1
"""The version of the JSON form. It grows when a field changes its meaning or goes."""

Outcome = Literal["folded", "removed", "replaced", "stays", "no node"]


def binding_arguments(sizes: Mapping[str, int]) -> list[str]:
    """The options that bind dims."""
    return [text for name, size in sizes.items() for text in ("--set-dim", f"{name}={size}")]


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """What would make a node go. It was tried: the model was optimized so, in memory.

    Attributes:
        set_dim: The dims to bind, each with an example of a size.
        inline_functions: Whether the model's functions have to be inlined, because the node stands in one.
        value: What the node's first output would be.
        model_runs: Whether the model ran at these sizes too.
    """

    set_dim: Mapping[str, int]
    inline_functions: bool
    value: str
    model_runs: bool = False

    @property
    def arguments(self) -> list[str]:
        """The options of `foldproof optimize`."""
        return [*binding_arguments(self.set_dim), *(["--inline-functions"] if self.inline_functions else [])]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What there is to say of a node, or of a value that no node makes.

    Attributes:
        value: The name of the value: the first output of the node.
        name: The node's own name, which may be empty.
        operator: The node's operator, empty where there is none.
        source: Where the value comes from: `Mul(x, y)`, `an input of the model`.
        graph: The graph that it stands in, with those around it: `main/body`.
        known: What is known of each of its outputs, by name.
        derivation: Why that is known of the first.
        calls: Where it stands in a function: what is known of the first output in each call.
        outcome: What `optimize` does with the node.
        entry: The rewrite by which it goes.
        reasons: Where it stays: why the rules did not apply, by their names.
        silent: How many further rules are tried at its operator, and look for something else.
        suggestion: What would make it go.
        static_shape: Dims that would have to be bound so that its shape is static, each with an example of a size;
            None where it is static, or no dims would do.
        why_not: Why nothing would make it go.
        origin: Which nodes of the original it was made of, where the model tells.
    """

    value: str
    name: str
    operator: str
    source: str
    graph: str
    known: Mapping[str, str]
    derivation: Derivation
    calls: Mapping[str, str] = dataclasses.field(default_factory=dict)
    outcome: Outcome = "no node"
    entry: Entry | None = None
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    silent: int = 0
    suggestion: Suggestion | None = None
    static_shape: Mapping[str, int] | None = None
    why_not: str | None = None
    origin: Origin | None = None

    def to_dict(self) -> dict[str, Any]:
        """The explanation for JSON."""
        fields = dataclasses.asdict(self)
        if self.suggestion is not None:
            fields["suggestion"]["arguments"] = self.suggestion.arguments
        return fields


@dataclasses.dataclass(frozen=True)
class Explanations:
    """What there is to say of all that was asked about.

    Attributes:
        model: The model's file.
        set_dim: The dims that were bound.
        dims: The dims that can be bound.
        found: What is in the model.
        gone: What was in the model that this one was made of, and is no more.
        given: The options of `foldproof optimize` under which all of it holds, suggestions too.
    """

    model: str
    set_dim: Mapping[str, int]
    dims: tuple[str, ...]
    found: tuple[Explanation, ...]
    gone: tuple[Gone, ...] = ()
    given: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "format": FORMAT,
            "model": self.model,
            "set_dim": dict(self.set_dim),
            "given": list(self.given),
            "dims": list(self.dims),
            "found": [each.to_dict() for each in self.found],
            "gone": [dataclasses.asdict(each) for each in self.gone],
        }


@dataclasses.dataclass(frozen=True)
class RuleExplanation:
    """What a rule did in a model, and where it did not apply.

    Attributes:
        model: The model's file.
        rule: The rule's name.
        equation: What it says.
        note: Why it was not tried at all, empty where it was.
        applied: Its rewrites.
        refused: The nodes at which it did not apply, by the reason.
        silent: How many further nodes of its operators are left, at which it found nothing of its concern.
    """

    model: str
    rule: str
    equation: str
    note: str
    applied: tuple[Entry, ...]
    refused: Mapping[str, tuple[str, ...]]
    silent: int

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        content: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return {"format": FORMAT, **content}
