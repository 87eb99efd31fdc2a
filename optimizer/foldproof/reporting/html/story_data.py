"""A story as the scripts of a page read it: `static/neighbourhood.js` tells its form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldproof.reporting.neighbourhoods import grouped
from foldproof.reporting.story import Drawn, DrawnValue, Story


def story_data(story: Story) -> dict[str, Any]:
    """A story for JSON, each node written down once: most stand in both graphs, and around many rewrites."""
    numbers: dict[Drawn, int] = {}

    def numbered(nodes: Sequence[Drawn]) -> list[int]:
        return [numbers.setdefault(node, len(numbers)) for node in nodes]

    place = {step.number: k for k, step in enumerate(story.steps)}
    found = {
        "before": numbered(story.before),
        "after": numbered(story.after),
        "steps": [
            {
                "n": step.number,
                "removed": numbered(step.removed),
                "added": numbered(step.added),
                "constants": step.constants,
                "aroundBefore": numbered(step.around_before),
                "aroundAfter": numbered(step.around_after),
            }
            for step in story.steps
        ],
        "regions": [[place[step.number] for step in region] for region in grouped(story)],
        "values": [
            [each.name, each.kind, each.type, each.constant, int(each.is_new), int(each.is_output), *_later(each)]
            for each in story.values
        ],
    }
    found["nodes"] = [
        [node.operator, node.name, node.graph, node.inputs, node.outputs, node.attributes] for node in numbers
    ]
    return found


def _later(value: DrawnValue) -> tuple[int, str, int]:
    return value.since, value.later, int(value.is_later_output)
