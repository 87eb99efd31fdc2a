"""How much a file may grow by folding.

Of the folds that would fit one by one but not all together, none is done, not even the cheapest: a second run has a
budget of its own, so it would do some more of them, and a third one still more. For a run over its own output to change
nothing, whether something is folded may depend only on what is left when it is not. So that a few large results don't
keep many small ones out, both have a share of their own, and it is all or nothing within a share.
"""

from __future__ import annotations

import enum

import onnx_ir as ir

from foldproof.model_file.adopting import tensors_of

FREE_BYTES = 64 << 10
"""So many bytes may always be added, where no other limit is asked for."""

_AT_LEVEL = {1: (1.0, FREE_BYTES), 2: (1.0, FREE_BYTES), 3: (10.0, 16 * FREE_BYTES)}
"""For each optimization level, the percentage and the least number of bytes."""


SMALL_PART = 64
"""A result is small if it takes no more than this part of the budget."""

SHARE_OF_SMALL = 8
"""The part of the budget that is for small results alone."""


class Share(enum.Enum):
    """What a part of the budget is for."""

    SMALL = "small results"
    LARGE = "other results"


class Budget:
    """The bytes that are left for folding: what it adds minus what it frees for good.

    Args:
        limit: The bytes that may be added in all.

    Attributes:
        left: What is left of them. A fold that frees more than it adds makes it more.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    @classmethod
    def of(cls, model: ir.Model, percent: float | None, level: int) -> Budget:
        """The budget of a run over a model.

        Args:
            model: The model, before it is changed. Its weights are not read.
            percent: How many percent of its tensors' bytes may be added; None leaves it to the level.
            level: The optimization level.
        """
        size = sum(tensor.nbytes for tensor in tensors_of(model))
        if percent is not None:
            return cls(int(size * percent / 100))
        share, least = _AT_LEVEL[level]
        return cls(max(int(size * share / 100), least))

    def share(self, growth: int) -> Share:
        """Which part of the budget pays for a result that adds so many bytes."""
        return Share.SMALL if growth <= self.limit // SMALL_PART else Share.LARGE

    def left_of(self, share: Share) -> int:
        """What is left of a part of the budget."""
        return _part(max(self.left, 0), share)

    def admits(self, growth: int) -> bool:
        """Whether a result that adds so many bytes could be stored if it were the only one."""
        return growth <= _part(self.limit, self.share(growth))

    def fits(self, growth: int) -> bool:
        """Whether so many more bytes may be added."""
        return growth <= 0 or growth <= self.left

    def spend(self, growth: int) -> None:
        """Takes so many bytes (gives them back where they are negative)."""
        self.left -= growth


def _part(whole: int, share: Share) -> int:
    small = whole // SHARE_OF_SMALL
    return small if share is Share.SMALL else whole - small
