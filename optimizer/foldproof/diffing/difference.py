"""What tells two models apart, for a person or a program. `docs/diff.schema.json` has the form of the JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

FORMAT = 1
"""The version of the JSON form. It grows when a field changes its meaning or goes."""


_CONSTANTS = ("removed", "added", "changed", "moved", "merged", "copied")


@dataclasses.dataclass(frozen=True)
class NodeRef:
    """A node.

    Attributes:
        output: The name of its first output.
        name: Its own name, which may be empty.
        operator: Its operator.
        graph: The graph that it stands in, with those around it: `main/body`.
        text: The node as `Mul(x, y) -> z`.
    """

    output: str
    name: str
    operator: str
    graph: str
    text: str


@dataclasses.dataclass(frozen=True)
class Change:
    """Something that both models have, and that is not the same.

    Attributes:
        what: What it is: `attribute axis`, `input 0`, `opset ai.onnx`.
        before: How it is in the first model, None where it is not there.
        after: How it is in the second.
    """

    what: str
    before: str | None
    after: str | None


@dataclasses.dataclass(frozen=True)
class NodeChange:
    """A node that both models have, with other attributes or inputs.

    Attributes:
        before: The node in the first model.
        after: The node in the second.
        changes: What changed.
    """

    before: NodeRef
    after: NodeRef
    changes: tuple[Change, ...]


@dataclasses.dataclass(frozen=True)
class ConstantRef:
    """An initializer or a Constant node.

    Attributes:
        name: Its name.
        kind: Which of the two it is.
        type: Its type and dims, as `float32[3, 4]`.
        graph: The graph that it stands in.
    """

    name: str
    kind: Literal["initializer", "Constant"]
    type: str
    graph: str


@dataclasses.dataclass(frozen=True)
class ConstantChange:
    """A constant with another content, or stored in another way, in the same place.

    Attributes:
        before: The constant in the first model.
        after: The constant in the second.
    """

    before: ConstantRef
    after: ConstantRef


@dataclasses.dataclass(frozen=True)
class Difference:
    """All that tells two models apart.

    Attributes:
        a: The first model.
        b: The second.
        operators_a: How many nodes of each operator the first has, `Constant` not counted.
        operators_b: The same of the second.
        nodes_removed: Nodes that only the first has.
        nodes_added: Nodes that only the second has.
        nodes_changed: Nodes that both have, with other attributes or inputs.
        constants_removed: Constants whose content only the first has.
        constants_added: Constants whose content only the second has.
        constants_changed: Constants with another content in the same place.
        constants_moved: Constants that are an initializer in one and a Constant node in the other.
        constants_merged: Further copies in the first of a content that the second has too.
        constants_copied: Further copies in the second.
        signature: Inputs and outputs of the model: their order, types and shapes.
        outputs: Outputs of graphs that another node makes.
        functions: The model's own functions: those that one of them has not, and their parameters.
        opsets: Operator sets.
        declared: Types and shapes that the models declare of their inner values.
        metadata: Names, versions, doc strings and metadata, of the models and their nodes.
        renamed_values: Inner values with other names, which don't count as a difference.
        renamed_nodes: The same of nodes.
    """

    a: str
    b: str
    operators_a: Mapping[str, int]
    operators_b: Mapping[str, int]
    nodes_removed: tuple[NodeRef, ...] = ()
    nodes_added: tuple[NodeRef, ...] = ()
    nodes_changed: tuple[NodeChange, ...] = ()
    constants_removed: tuple[ConstantRef, ...] = ()
    constants_added: tuple[ConstantRef, ...] = ()
    constants_changed: tuple[ConstantChange, ...] = ()
    constants_moved: tuple[ConstantChange, ...] = ()
    constants_merged: tuple[ConstantRef, ...] = ()
    constants_copied: tuple[ConstantRef, ...] = ()
    signature: tuple[Change, ...] = ()
    outputs: tuple[Change, ...] = ()
    functions: tuple[Change, ...] = ()
    opsets: tuple[Change, ...] = ()
    declared: tuple[Change, ...] = ()
    metadata: tuple[Change, ...] = ()
    renamed_values: tuple[tuple[str, str], ...] = ()
    renamed_nodes: tuple[tuple[str, str], ...] = ()

    @property
    def is_renamed(self) -> bool:
        """Whether any inner name differs."""
        return bool(self.renamed_values or self.renamed_nodes)

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs but inner names."""
        return not any(
            (
                self.nodes_removed,
                self.nodes_added,
                self.nodes_changed,
                self.constants_removed,
                self.constants_added,
                self.constants_changed,
                self.constants_moved,
                self.constants_merged,
                self.constants_copied,
                self.signature,
                self.outputs,
                self.functions,
                self.opsets,
                self.declared,
                self.metadata,
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        from foldproof import __version__

        fields = dataclasses.asdict(self)
        before, after = (dict(sorted(fields.pop(f"operators_{side}").items())) for side in "ab")
        return {
            "format": FORMAT,
            "foldproof": __version__,
            "equal": self.is_equal,
            "a": fields.pop("a"),
            "b": fields.pop("b"),
            "operators": {"a": before, "b": after},
            "nodes": {kind: fields.pop(f"nodes_{kind}") for kind in ("removed", "added", "changed")},
            "constants": {kind: fields.pop(f"constants_{kind}") for kind in _CONSTANTS},
            "renamed": {kind: fields.pop(f"renamed_{kind}") for kind in ("values", "nodes")},
            **fields,
        }
