"""Parameters of other tools that have no counterpart here: what is said of each."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

from foldproof.errors import UsageError


@dataclasses.dataclass(frozen=True)
class WithoutCounterpart:
    """A parameter that can't be followed.

    Attributes:
        why: What is so instead, as a sentence without its full stop.
        default: The value that means nothing, in the other tool.
        refused: To go on without it would give another model than was asked for, so that it is an error.
    """

    why: str
    default: Any = None
    refused: bool = False


def check(function: str, given: Mapping[str, Any], known: Mapping[str, WithoutCounterpart]) -> None:
    """Warns of parameters that change nothing, and refuses those that would have to.

    Args:
        function: The name of the function that was called so.
        given: The parameters that it does not follow.
        known: What is known of such parameters.

    Raises:
        UsageError: One of them is refused.
        TypeError: The other tool has no such parameter either.
    """
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        parameter = known[name]
        if value is None or value is parameter.default or value == parameter.default:
            continue
        if parameter.refused:
            raise UsageError(f"{function} has no {name}", hint=parameter.why)
        warnings.warn(f"{name} changes nothing: {parameter.why}", UserWarning, stacklevel=3)
