"""What a person may ask of a run. The command's options and the API's keyword arguments have these names."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foldproof.data_layout import DataLayout, External
from foldproof.errors import UsageError

MAX_BINDINGS = 64
"""How many combinations of sizes a person may ask verification for."""

MAX_SECONDS = 10**8
"""The longest time limit: clocks of operating systems take no infinite one."""

FILE_OPTIONS = ("certificate", "report", "save_repro", "link_weights", "in_place")
"""The options that say which files are written, or where: not for who decides on that in the person's place."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a run.

    Attributes:
        verify: Run the original and the optimized model and compare.
        allow_unverified: Write a model that nothing here can run, so that it couldn't be verified.
        set_dim: Integers for symbolic dims of the graph inputs, by name, or as `input:axis` for an unnamed one.
        rules: The names of the only rules to apply; None means all.
        skip_rules: The names of rules not to apply.
        rules_from: Modules whose rules are there besides those of the installed packs, by their names or files.
        level: 1 folds shapes and cleans up, 2 applies all rules but those of level 3, which may make the file grow.
        exact: Apply only rules that keep each bit of the outputs.
        keep_node: The names of nodes that no rule may take away or change.
        max_growth: By how many percent of its tensors' bytes folding may let the model grow. None stands for 1 % or
            64 KiB, whichever is more, and at level 3 for 10 % or 1 MiB.
        fold_quantized_weights: Fold QuantizeLinear and DequantizeLinear of weights too, which stay by default.
        inline_functions: Put the bodies of the model's own functions where they are called, and take those functions
            out of the model that nothing calls any more.
        ir3_initializers_are_constants: Take the initializers of a model of IR version 3 for weights, although that
            version lists each of them as an input.
        strict: Fail where verification finds a difference, instead of taking back the guilty rewrite.
        save_repro: A new folder for the smallest models that show what a guilty rewrite does.
        stop_after: After how many rewrites to stop: a prefix of the ledger. None does all.
        feeds: A folder with the person's own inputs (`.npz`, `.npy`, ONNX test data), run besides the generated ones.
        bind: Sizes of symbolic dims to verify at, by name: all combinations, and no other sizes of these dims.
        verify_seconds: The time limit of verification, from after the first run of both models. At least one binding is
            run.
        trust_model: Verify without the limits of memory and time that keep a model from harm that is made to do some.
        seed: The seed of the generated inputs.
        certificate: The file to write a certificate to, which others can check.
        report: The file to write a page to, in HTML, that shows all of the run.
        measure: Measure how long both models take to load and to run.
        profile: Report where the time goes, rule by rule.
        jobs: With how many threads onnxruntime computes what is folded and verified; None for as many as there are
            cores.
        provenance: Write into the metadata of the result which nodes of the original and which rules made each node.
        external_data: Where tensors shall lie: `auto`: outside the model where they did; `always`: all that are not
            small in one file beside it; `never`: in the model itself.
        link_weights: Refer to external data that did not change where it is, and don't copy it.
        in_place: Write over the input, once all is verified.
    """

    verify: bool = True
    allow_unverified: bool = False
    set_dim: Mapping[str, int] = dataclasses.field(default_factory=dict)
    rules: Sequence[str] | None = None
    skip_rules: Sequence[str] = ()
    rules_from: Sequence[str] = ()
    keep_node: Sequence[str] = ()
    level: int = 2
    exact: bool = False
    max_growth: float | None = None
    fold_quantized_weights: bool = False
    inline_functions: bool = False
    ir3_initializers_are_constants: bool = True
    strict: bool = False
    save_repro: Path | None = None
    stop_after: int | None = None
    feeds: Path | None = None
    bind: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)
    verify_seconds: float = 60.0
    trust_model: bool = False
    seed: int = 0
    certificate: Path | None = None
    report: Path | None = None
    measure: bool = False
    profile: bool = False
    jobs: int | None = None
    provenance: bool = False
    external_data: External = "auto"
    link_weights: bool = False
    in_place: bool = False

    @property
    def layout(self) -> DataLayout:
        """Where the elements of tensors shall lie."""
        return DataLayout(self.external_data, self.link_weights, self.in_place)

    @property
    def requests(self) -> frozenset[str]:
        """The names of the rules that are applied only where the person asks for them, and that are asked for."""
        asked = ["inline_functions"] if self.inline_functions else []
        return frozenset([*asked, *(self.rules or ())])

    def __post_init__(self) -> None:
        if not isinstance(self.set_dim, Mapping):
            raise UsageError(f"set_dim is {self.set_dim!r}", hint='Give a mapping, such as {"batch": 1}')
        object.__setattr__(self, "set_dim", {name: _size(name, size) for name, size in self.set_dim.items()})
        for field in ("rules", "skip_rules", "rules_from", "keep_node"):
            given = getattr(self, field)
            if given is None and field == "rules":
                continue
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise UsageError(f"{field} is {given!r}", hint="Give a list of names")
            object.__setattr__(self, field, tuple(given))
        object.__setattr__(self, "bind", _bindings(self.bind))
        _ = self.layout  # it refuses what makes no sense
        if self.in_place and self.certificate is not None:
            raise UsageError(
                "a certificate is about two files, and one of them would be gone",
                hint="Leave out --in-place or --certificate",
            )
        is_number = isinstance(self.verify_seconds, (int, float)) and not isinstance(self.verify_seconds, bool)
        if not (is_number and 0 < self.verify_seconds <= MAX_SECONDS):
            raise UsageError(
                f"verify_seconds is {self.verify_seconds!r}", hint=f"Give seconds above 0, and at most {MAX_SECONDS}"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise UsageError(f"the seed is {self.seed!r}", hint="Give a whole number of at least 0")
        is_count = isinstance(self.stop_after, int) and not isinstance(self.stop_after, bool) and self.stop_after >= 0
        if self.stop_after is not None and not is_count:
            raise UsageError(f"it can't stop after {self.stop_after!r} rewrites", hint="Give a whole number")
        if self.jobs is not None and (isinstance(self.jobs, bool) or not isinstance(self.jobs, int) or self.jobs < 1):
            raise UsageError(f"jobs is {self.jobs!r}", hint="Give a number of at least 1")
        if self.measure and not self.verify:
            raise UsageError("only a verified model is measured", hint="Leave out --no-verify or --measure")
        if self.level not in (1, 2, 3):
            raise UsageError(f"there is no optimization level {self.level!r}", hint="Give 1, 2 or 3")
        is_number = isinstance(self.max_growth, (int, float)) and not isinstance(self.max_growth, bool)
        if self.max_growth is not None and not (is_number and 0 <= self.max_growth < math.inf):
            raise UsageError(
                f"the model can't be let grow by {self.max_growth} %", hint="Give a finite percentage of at least 0"
            )
        for field in ("feeds", "certificate", "report", "save_repro"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, Path(getattr(self, field)))


def _bindings(bind: object) -> dict[str, tuple[int, ...]]:
    """The sizes to verify at, by the dim.

    Raises:
        UsageError: It is no such mapping, or has too many combinations.
    """
    hint = 'Give a mapping to sizes, such as {"batch": [1, 8]}'
    if not isinstance(bind, Mapping):
        raise UsageError(f"bind is {bind!r}", hint=hint)
    found = {}
    for name, sizes in bind.items():
        if isinstance(sizes, str) or not isinstance(sizes, Iterable):
            raise UsageError(f"bind has {sizes!r} for {name!r}", hint=hint)
        found[str(name)] = tuple(_size(name, size) for size in sizes)
        if not found[str(name)]:
            raise UsageError(f"bind has no size for {name!r}", hint=hint)
    if math.prod(map(len, found.values())) > MAX_BINDINGS:
        raise UsageError(f"bind has more than {MAX_BINDINGS} combinations", hint="Name fewer sizes")
    return found


def _size(name: str, size: object) -> int:
    """The integer for a dim.

    Raises:
        UsageError: It is none, or no tensor can have such a dim.
    """
    try:
        number = -1 if isinstance(size, bool) else operator.index(size)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number < 2**63:
        raise UsageError(f"the dim {name!r} can't be set to {size!r}", hint="Give a whole number of at least 0")
    return number


def options_of(named: Mapping[str, Any]) -> Options:
    """The options that a person gave by name.

    Raises:
        UsageError: There is no such option, or it can't have that value.
    """
    known = {field.name for field in dataclasses.fields(Options)}
    for name in named:
        if name not in known:
            raise UsageError(f"there is no option {name!r}", hint=f"There are: {', '.join(sorted(known))}")
    return Options(**named)
