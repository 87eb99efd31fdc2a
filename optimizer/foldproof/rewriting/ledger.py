"""The ordered record of all rewrites of a run."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Entry:
    """One rewrite.

    Attributes:
        number: Its position in the run, from 1.
        rule: The rule's name.
        exact: The rule's class.
        place: The name of the root node's first output in the original's terms, or of the initializer.
        graph: The name of the graph in which it happened, with those around it: `main/body`.
        removed: The nodes taken away, as `Size(x) -> s`.
        added: The nodes and constants put in.
        because: The facts that it rests on, as a person reads them.
    """

    number: int
    rule: str
    exact: bool
    place: str
    graph: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    because: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The entry for JSON."""
        return dataclasses.asdict(self)


class Ledger:
    """All rewrites of a run, in order. The same model, rules and options give the same ledger."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def is_exact(self) -> bool:
        """Whether only exact rules fired."""
        return all(entry.exact for entry in self.entries)

    def add(
        self,
        rule: str,
        exact: bool,
        place: str,
        graph: str,
        removed: tuple[str, ...] = (),
        added: tuple[str, ...] = (),
        because: tuple[str, ...] = (),
    ) -> Entry:
        """Writes down one rewrite."""
        entry = Entry(len(self.entries) + 1, rule, exact, place, graph, removed, added, because)
        self.entries.append(entry)
        return entry
