"""What a model's metadata says of its provenance: `docs/explaining.md` has the form."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.graphs import paths_of
from foldproof.rewriting.description import place_of

FROM = "foldproof.from"
"""The key of a node's metadata under which the nodes that it was made of stand, as a JSON list of names."""

RULES = "foldproof.rules"
"""The key of a node's metadata under which the rules that made it stand, as a JSON list of names."""

RECORD = "foldproof.provenance"
"""The key of a model's metadata under which all the rest stands, as a JSON object."""

VERSION = 1
"""The version of that object. It grows when a field changes its meaning or goes."""

NODE_METADATA_FROM_IR = 10
"""The IR version in which nodes got metadata. In an older model, what nodes would tell is part of the record."""


@dataclasses.dataclass(frozen=True)
class Origin:
    """What a node or a constant was made of.

    Attributes:
        nodes: The nodes of the original, each by the name of its first output.
        rules: The rules that made it, in their order.
    """

    nodes: tuple[str, ...]
    rules: tuple[str, ...]

    @classmethod
    def of(cls, origins: Iterable[Origin], rule: str | None = None) -> Origin:
        """What is made of several things, by a rule."""
        nodes: dict[str, None] = {}
        rules: dict[str, None] = {}
        for origin in origins:
            nodes.update(dict.fromkeys(origin.nodes))
            rules.update(dict.fromkeys(origin.rules))
        if rule is not None:
            rules[rule] = None
        return cls(tuple(nodes), tuple(rules))


@dataclasses.dataclass(frozen=True)
class Gone:
    """A node of the original that is no more.

    Attributes:
        output: The name of its first output.
        name: Its own name, which may be empty.
        operator: Its operator.
        graph: The graph that it stood in, with those around it: `main/body`.
        rules: The rules by which it went, in their order.
        now: For each of its outputs, the value of this model that is read in its place; empty for none.
        into: Where no value has its place: the values that what read it became.
    """

    output: str
    name: str
    operator: str
    graph: str
    rules: tuple[str, ...] = ()
    now: tuple[str, ...] = ()
    into: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Record:
    """The provenance of all that an optimized model has and has not.

    Attributes:
        nodes: What the nodes of the model were made of. One that is not here is as the original has it.
        constants: The same of initializers, by their names.
        gone: The nodes of the original that are no more.
    """

    nodes: Mapping[ir.Node, Origin] = dataclasses.field(default_factory=dict)
    constants: Mapping[str, Origin] = dataclasses.field(default_factory=dict)
    gone: tuple[Gone, ...] = ()

    @classmethod
    def read(cls, model: ir.Model) -> Record | None:
        """The provenance that a model's metadata tells, None where it tells nothing.

        Raises:
            ModelError: It is not of this form, or of a version that is not known here.
        """
        text = model.metadata_props.get(RECORD)
        if text is None:
            return None
        try:
            content = json.loads(text)
            if content["version"] != VERSION:
                raise _unreadable(f"it has the version {content['version']!r}")
            listed = {key: _origin(each) for key, each in content["nodes"].items()}
            nodes = {}
            for path, graph in paths_of(model):
                for node in graph:
                    told = node.metadata_props
                    if FROM in told:
                        nodes[node] = _origin({"from": json.loads(told[FROM]), "rules": json.loads(told[RULES])})
                    elif listed and (key := _key(path, node)) in listed:
                        nodes[node] = listed[key]
            constants = {name: _origin(each) for name, each in content["constants"].items()}
            gone = tuple(_gone(each) for each in content["gone"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unreadable(f"{type(error).__name__}: {error}") from error
        return cls(nodes, constants, gone)

    def write(self, model: ir.Model) -> None:
        """Puts the provenance into a model's metadata. What it told before is replaced."""
        listed: dict[str, Origin] = {}
        for path, graph in paths_of(model):
            for node in graph:
                node.metadata_props.pop(FROM, None)  # it may come from a node that this one replaces
                node.metadata_props.pop(RULES, None)
                origin = self.nodes.get(node)
                if origin is None:
                    continue
                if has_node_metadata(model):
                    node.metadata_props[FROM] = _compact(origin.nodes)
                    node.metadata_props[RULES] = _compact(origin.rules)
                else:
                    listed.setdefault(_key(path, node), origin)
        content = {
            "version": VERSION,
            "nodes": _origins(listed),
            "constants": _origins(self.constants),
            "gone": [
                {key: value for key, value in dataclasses.asdict(gone).items() if value or key in _ALWAYS}
                for gone in self.gone
            ],
        }
        model.metadata_props[RECORD] = _compact(content)

    def whereabouts(self, name: str) -> list[Gone]:
        """The nodes that are gone and had a name, as their own or as that of their first output."""
        return [gone for gone in self.gone if name and name in (gone.output, gone.name)]


def has_node_metadata(model: ir.Model) -> bool:
    """Whether nodes of a model can have metadata."""
    return (model.ir_version or 0) >= NODE_METADATA_FROM_IR


def _key(path: str, node: ir.Node) -> str:
    return f"{path}:{place_of(node)}"


_ALWAYS = frozenset({"output", "operator", "graph"})


def _origins(origins: Mapping[str, Origin]) -> dict[str, dict[str, tuple[str, ...]]]:
    return {name: {"from": origin.nodes, "rules": origin.rules} for name, origin in origins.items()}


def _origin(content: Mapping[str, Any]) -> Origin:
    return Origin(tuple(map(str, content["from"])), tuple(map(str, content["rules"])))


def _gone(content: Mapping[str, Any]) -> Gone:
    return Gone(
        str(content["output"]),
        str(content.get("name", "")),
        str(content["operator"]),
        str(content["graph"]),
        *(tuple(content.get(field, ())) for field in ("rules", "now", "into")),
    )


def _compact(content: object) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _unreadable(why: str) -> ModelError:
    return ModelError(
        f"the model's metadata {RECORD!r} can't be read: {why}",
        hint="Take it out of the model, or use the version of Foldproof that wrote it",
    )
