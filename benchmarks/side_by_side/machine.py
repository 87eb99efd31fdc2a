"""What a result depends on and has to be stated with it: the machine, without its name."""

from __future__ import annotations

import os
import pathlib
import platform


def facts() -> dict[str, object]:
    """The processor, its cores, the memory, the system, and how busy the machine was when asked."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def _cpu() -> str:
    info = pathlib.Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip() not in ("", "unknown"):
                return value.strip()
    return platform.processor() or platform.machine()
