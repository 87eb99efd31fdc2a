"""How much a file may grow by folding."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.model_file.adopting import tensors_of

FREE_BYTES = 64 << 10
"""So many bytes may always be added, where no other limit is asked for."""

_AT_LEVEL = {1: (1.0, FREE_BYTES), 2: (1.0, FREE_BYTES), 3: (10.0, 16 * FREE_BYTES)}
"""For each optimization level, the percentage and the least number of bytes."""


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

    def fits(self, growth: int) -> bool:
        """Whether so many more bytes may be added."""
        return growth <= 0 or growth <= self.left

    def spend(self, growth: int) -> None:
        """Takes so many bytes (gives them back where they are negative)."""
        self.left -= growth
