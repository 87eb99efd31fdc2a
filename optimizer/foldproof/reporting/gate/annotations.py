"""Annotations: what GitHub shows beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foldproof.configuration.place import shown
from foldproof.gating.outcome import Gated
from foldproof.reporting.visible import visible

_DATA = {"%": "%25"}  # there are no line ends in what is visible
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def annotation_lines(models: Sequence[Gated]) -> Iterator[str]:
    """A workflow command of GitHub Actions for each failure."""
    for gated in models:
        for outcome in gated.failures:
            properties = {
                "file": shown(outcome.place.path),
                **({} if outcome.place.line is None else {"line": str(outcome.place.line)}),
                "title": f"foldproof: {outcome.check}",
            }
            listed = ",".join(f"{name}={_escaped(value, _PROPERTY)}" for name, value in properties.items())
            nodes = f" (node {outcome.nodes[0]!r})" if outcome.nodes else ""
            yield f"::error {listed}::{_escaped(f'{shown(gated.model)}: {outcome.text}{nodes}', _DATA)}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(character, character) for character in visible(text))
