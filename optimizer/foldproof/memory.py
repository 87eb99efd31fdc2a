"""How much memory there is."""

from __future__ import annotations

import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """The bytes that a new process may take without harm to others; None where nothing is known of the memory.

    In a container that is what its limit leaves, of which the pages of files that may be dropped are no part.
    """
    found = [each for each in (_of_the_machine(), _of_the_container()) if each is not None]
    return min(found) if found else None


def usable_memory() -> int | None:
    """The bytes of that which leave the machine usable; None where nothing is known of the memory."""
    available = available_memory()
    return None if available is None else available * 3 // 4


def _of_the_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass  # another platform
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 2 // 3
    except (AttributeError, ValueError, OSError):
        return None


def _of_the_container() -> int | None:
    """What the control group (version 2) leaves; None where there is no limit."""
    try:
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))  # or "max"
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
        stated = (line.split() for line in (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines())
        droppable = {name: int(value) for name, value in stated}.get("inactive_file", 0)
        return max(limit - used + droppable, 0)
    except (OSError, ValueError):
        return None
