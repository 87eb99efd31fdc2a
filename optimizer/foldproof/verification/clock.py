"""The time that a verification may take."""

from __future__ import annotations

import time

# Until both models ran once, everything may take so many times as long: of a large model one run is worth waiting for.
_FIRST = 5.0
# A run that was begun may take this long (seconds), also where the time limit is nearer.
_GRACE = 2.0


class Clock:
    """Tells how much time is left.

    Args:
        seconds: The time limit, from after the first run of both models.

    Attributes:
        limit: The time limit.
        started: When it was started, by `time.monotonic`.
    """

    def __init__(self, seconds: float) -> None:
        self.limit = seconds
        self._has_run = False
        self.start()

    def start(self) -> None:
        """Start once more, for another candidate. The first runs are over, if there were any."""
        self.started = time.monotonic()
        self._deadline = self.started + self.limit * (1.0 if self._has_run else _FIRST)

    def ran(self) -> None:
        """Take note that both models ran."""
        if not self._has_run:
            self._has_run = True
            self._deadline = time.monotonic() + self.limit

    @property
    def left(self) -> float:
        """The seconds that are left; negative when the time is over."""
        return self._deadline - time.monotonic()

    @property
    def for_a_run(self) -> float:
        """The seconds that a run may take that has to be made."""
        return max(self.left, _GRACE)

    def share(self, part: float) -> float:
        """When a part of the time that is left will be over, by `time.monotonic`. Of the first runs' it is no more."""
        return time.monotonic() + max(min(self.left, self.limit), 0.0) * part

    @property
    def taken(self) -> float:
        """The seconds since it was started."""
        return time.monotonic() - self.started
