"""Annotations: what GitHub shows beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foldproof.configuration.place import shown
from foldproof.gating.outcome import Gated

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
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
            line = f"::error {listed}::{_escaped(f'{shown(gated.model)}: {outcome.text}{nodes}', _DATA)}"
            yield line.encode(errors="backslashreplace").decode()  # a name of a file may be no UTF-8


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(character, character) for character in text)
