"""What a verification found: plain, frozen data that a report can show and `json` can write."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

Status = Literal["same", "different", "unverified"]
DifferenceKind = Literal["value", "shape", "dtype", "raised", "missing"]


@dataclasses.dataclass(frozen=True)
class Run:
    """One feed at one binding, run through both models.

    Attributes:
        binding: Concrete integers for the symbolic dims; an unnamed dim is called `input:axis`.
        feeds: Where the inputs came from, such as `generated` or a file's name.
        seed: The seed of generated inputs.
        number: Its number among all feeds, from 0: `Verifier.compare` runs it again by that.
        original_engine: What ran the original, such as `onnxruntime 1.32.0` or `onnx reference 1.23.2`.
        optimized_engine: What ran the optimized model.
        outputs: How many outputs were compared by value. The others were compared by shape and dtype only.
        max_absolute_error: The largest difference of two floats that were compared; 0.0 where all are equal.
        max_relative_error: The same, relative to the original's value.
        max_ulps: The same, in units in the last place of the original's value; 0.0 for types that numpy lacks.
    """

    binding: dict[str, int]
    feeds: str
    seed: int
    original_engine: str
    optimized_engine: str
    outputs: int
    max_absolute_error: float
    max_relative_error: float
    number: int = 0
    max_ulps: float = 0.0


@dataclasses.dataclass(frozen=True)
class Difference:
    """One output at which the optimized model differs from the original.

    Attributes:
        output: The output's name; `output[2]` or `output['key']` for an element of a sequence or map. `""`
            where the model as a whole is meant.
        kind: `value`, `shape`, `dtype`, `raised` (the optimized model failed where the original ran) or
            `missing` (an output or input that only one of the two has).
        detail: What differs, as a sentence.
        binding: The binding at which it showed.
        index: The first index that differs, where `kind` is `value`.
        original: The original's value there, its shape, its dtype.
        optimized: The optimized model's.
        max_error: The largest absolute difference in that output; None where there is no number.
        feeds: Where the inputs came from.
        run: The number of the feed at which it showed, see `Run`; None where no feed was needed.
    """

    output: str
    kind: DifferenceKind
    detail: str
    binding: dict[str, int] = dataclasses.field(default_factory=dict)
    index: tuple[int, ...] | None = None
    original: Any = None
    optimized: Any = None
    max_error: float | None = None
    feeds: str = ""
    run: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries, lists, strings and numbers that `json` can write."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True)
class NotAdmitted:
    """A binding at which the original itself fails: the contract does not admit it.

    Attributes:
        binding: The binding that was tried.
        error: The original's error, on one line.
        feeds: Where the inputs came from.
    """

    binding: dict[str, int]
    error: str
    feeds: str = "generated"


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """A `Size` or `Shape` left in the optimized model, computed by the reference kernel at one binding.

    Attributes:
        output: The name of the node's output.
        op_type: `Size` or `Shape`.
        place: Where the node is, from the outside in, such as `If_3/then_branch`; `""` in the main graph.
        binding: The binding.
        expected: What the kernel computed; a list where the node ran several times (in a loop, in a
            function), None where it did not run.
        got: What the runtime handed out, in the same form.
        agrees: Whether both are equal.
        executed: Whether the node ran at all (the branch was taken, the loop had an iteration).
    """

    output: str
    op_type: str
    place: str
    binding: dict[str, int]
    expected: Any
    got: Any
    agrees: bool
    executed: bool


@dataclasses.dataclass(frozen=True)
class Verification:
    """The result of comparing an optimized model with its original.

    Attributes:
        status: `same`: no difference at any binding; `different`; `unverified`: nothing could run the
            original.
        runs: The feeds that both models ran.
        differences: What differs, in the order in which it was found.
        not_admitted: Bindings at which the original fails.
        notes: What a person should know to judge the result.
        reason: Why nothing ran, where `status` is `unverified`.
        evaluations: The values of nodes that could not be folded.
        seconds: How long it took.
    """

    status: Status
    runs: tuple[Run, ...] = ()
    differences: tuple[Difference, ...] = ()
    not_admitted: tuple[NotAdmitted, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    evaluations: tuple[Evaluation, ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries, lists, strings and numbers that `json` can write."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)  # JSON has no NaN and no infinity.
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
