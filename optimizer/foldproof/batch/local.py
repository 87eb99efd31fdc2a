"""The tasks of a batch on this machine: as many processes at a time as its cores and its memory allow."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence

from foldproof.batch.outcome import Outcome
from foldproof.batch.process import TaskProcess
from foldproof.batch.task import Task

_POLL = 0.02


def perform_here(tasks: Sequence[Task], workers: int, memory: int | None) -> Generator[Outcome, None, None]:
    """Does tasks, each in a process of its own, the ones that take the most memory first.

    A task whose memory is not enough, or which is killed as if by the system for a lack of it, is tried once more when
    it has all of the memory to itself. Where the caller stops asking, all processes are ended.

    Args:
        tasks: The tasks.
        workers: How many processes there are at a time.
        memory: The bytes that they may have together, by what they are expected to take; None for any.

    Yields:
        What became of each task, when it has ended.
    """
    waiting = sorted(tasks, key=lambda task: -task.memory)
    again: list[Task] = []
    running: list[TaskProcess] = []
    try:
        while waiting or again or running:
            if not waiting and not running:
                waiting, again, workers = again, [], 1
            taken = sum(each.task.memory for each in running)
            for task in waiting if len(running) < workers else ():
                if not running or memory is None or taken + task.memory <= memory:
                    waiting.remove(task)
                    running.append(TaskProcess(task, memory))
                    break
            else:
                time.sleep(_POLL)
            for each in list(running):
                outcome = each.outcome()
                if outcome is None:
                    continue
                running.remove(each)
                if outcome.lacked_memory and workers > 1:
                    again.append(each.task)
                else:
                    yield outcome
    finally:
        for each in running:
            each.terminate()
        for each in running:
            each.close()


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
