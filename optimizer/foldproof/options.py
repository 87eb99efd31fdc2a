"""What a person may ask of a run. The command's options and the API's keyword arguments have these names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from foldproof.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a run.

    Attributes:
        verify: Run the original and the optimized model and compare.
        allow_unverified: Write a model that nothing here can run, so that it couldn't be verified.
        set_dim: Integers for symbolic dims of the graph inputs, by name, or as `input:axis` for an unnamed one.
        rules: The names of the only rules to apply; None means all.
        skip_rules: The names of rules not to apply.
        level: 1 folds shapes and cleans up, 2 applies all rules but those of level 3, which may make the file grow.
        exact: Apply only rules that keep each bit of the outputs.
        keep_node: The names of nodes that no rule may take away or change.
        max_growth: By how many percent of its tensors' bytes folding may let the model grow. None stands for 1 % or 64 KiB,
            whichever is more, and at level 3 for 10 % or 1 MiB.
        fold_quantized_weights: Fold QuantizeLinear and DequantizeLinear of weights too, which stay by default.
        ir3_initializers_are_constants: Take the initializers of a model of IR version 3 for weights, although that
            version lists each of them as an input.
        feeds: A folder with the person's own inputs (`.npz`, `.npy`), run besides the generated ones.
        seed: The seed of the generated inputs.
    """

    verify: bool = True
    allow_unverified: bool = False
    set_dim: Mapping[str, int] = dataclasses.field(default_factory=dict)
    rules: Sequence[str] | None = None
    skip_rules: Sequence[str] = ()
    keep_node: Sequence[str] = ()
    level: int = 2
    exact: bool = False
    max_growth: float | None = None
    fold_quantized_weights: bool = False
    ir3_initializers_are_constants: bool = True
    feeds: Path | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, size in self.set_dim.items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise UsageError(f"the dim {name!r} can't be set to {size!r}", hint="Give a whole number of at least 0")
        for field in ("rules", "skip_rules", "keep_node"):
            if isinstance(getattr(self, field), str):
                raise UsageError(f"{field} is one string", hint="Give a list of names")
        if self.level not in (1, 2, 3):
            raise UsageError(f"there is no optimization level {self.level!r}", hint="Give 1, 2 or 3")
        if self.max_growth is not None and not self.max_growth >= 0:
            raise UsageError(f"the model can't be let grow by {self.max_growth} %", hint="Give a percentage of at least 0")
        if self.feeds is not None:
            object.__setattr__(self, "feeds", Path(self.feeds))
