"""The time that a verification may take."""

from __future__ import annotations

import time

from foldproof.engines import Allowance, EngineError, OutOfMemory

# Until both models ran once, everything may take so many times as long: of a large model one run is worth waiting for.
_FIRST = 5.0
# A run that was begun may take this long (seconds), also where the time limit is nearer.
_GRACE = 2.0
# Of a model that may never end, nothing is run any more when so many times the time of a run was lost; and of one whose
# memory is limited, when that did not suffice so many times.
_LOSSES = 2.0
_SHORTAGES = 3


class Clock:
    """Tells how much time is left.

    Args:
        seconds: The time limit, from after the first run of both models.
        loading: How long a model may take to be loaded, in seconds; None for as long as there is time.

    Attributes:
        limit: The time limit.
        allowance: What a run may take.
        started: When it was started, by `time.monotonic`.
    """

    def __init__(self, seconds: float, loading: float | None = None) -> None:
        self.limit = seconds
        self._loading = loading
        self.allowance = Allowance()
        self._lost = 0.0
        self._shortages = 0
        self._has_run = False
        self.start()

    def start(self) -> None:
        """Start once more, for another candidate. The first runs are over, if there were any."""
        self.started = time.monotonic()
        self._lost = 0.0
        self._shortages = 0
        self._deadline = self.started + self.limit * (1.0 if self._has_run else _FIRST)

    def ran(self) -> None:
        """Take note that both models ran."""
        if not self._has_run:
            self._has_run = True
            self._deadline = time.monotonic() + self.limit

    def lost(self, seconds: float, error: EngineError) -> None:
        """Take note of a run that came to nothing after so many seconds."""
        self._lost += seconds
        self._shortages += isinstance(error, OutOfMemory)

    @property
    def left(self) -> float:
        """The seconds that are left; negative when the time is over."""
        return -1.0 if self.is_out_of_patience else self._deadline - time.monotonic()

    @property
    def is_out_of_patience(self) -> bool:
        """Whether so many runs of a model that is not trusted came to nothing that it is run no more."""
        seconds, memory = self.allowance.seconds, self.allowance.memory
        is_short = memory is not None and self._shortages >= _SHORTAGES
        return is_short or (seconds is not None and self._lost >= _LOSSES * seconds)

    @property
    def for_loading(self) -> float:
        """The seconds that loading a model may take."""
        most = max(self.left, _GRACE)
        return most if self._loading is None else min(most, self._loading)

    @property
    def for_a_run(self) -> float:
        """The seconds that a run may take that has to be made."""
        most = max(self.left, _GRACE)
        return most if self.allowance.seconds is None else min(most, self.allowance.seconds)

    def share(self, part: float) -> float:
        """When a part of the time that is left will be over, by `time.monotonic`. Of the first runs' it is no more."""
        return time.monotonic() + max(min(self.left, self.limit), 0.0) * part

    @property
    def taken(self) -> float:
        """The seconds since it was started."""
        return time.monotonic() - self.started
