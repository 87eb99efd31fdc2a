"""Which rewrites of a story belong together, so that one picture shows them."""

from __future__ import annotations

from foldproof.reporting.story import Step, Story


def grouped(story: Story, limit: int = 40) -> list[list[Step]]:
    """The steps, those of one neighbourhood together.

    Two steps belong together where one takes away what the other put in, or where what they took away or put in stands
    side by side.

    Args:
        story: The story.
        limit: Neighbours that have more nodes together than this stay apart: they would make no picture.
    """
    leader = list(range(len(story.steps)))
    sizes = [len(step.removed) + len(step.added) for step in story.steps]

    def find(k: int) -> int:
        while leader[k] != k:
            leader[k] = leader[leader[k]]
            k = leader[k]
        return k

    def join(a: int, b: int) -> None:
        a, b = sorted((find(a), find(b)))
        if a != b and sizes[a] + sizes[b] <= limit:
            leader[b] = a
            sizes[a] += sizes[b]

    maker: dict[int, int] = {}
    for k, step in enumerate(story.steps):
        for node in (*step.removed, *step.added):
            for output in node.outputs:
                join(maker.setdefault(output, k), k)
    original = {output: node for node in story.before for output in node.outputs}
    for k, step in enumerate(story.steps):
        for node in (*step.removed, *step.added):
            # What it read at first tells too: an earlier rewrite may have let it read something farther away.
            first = [original[output] for output in node.outputs if output in original]
            for value in (value for each in (node, *first) for value in each.inputs):
                if value in maker:
                    join(maker[value], k)
    groups: dict[int, list[Step]] = {}
    for k, step in enumerate(story.steps):
        groups.setdefault(find(k), []).append(step)
    return list(groups.values())
