"""What tests of batches share."""

from __future__ import annotations

from typing import Any

import pytest

from foldproof.batch import local
from foldproof.batch.outcome import Outcome
from foldproof.batch.task import Task, perform


class _AtOnce:
    """Does a task in this process, when it is asked for the outcome."""

    def __init__(self, task: Task, memory: int | None) -> None:
        self.task = task

    def outcome(self) -> Outcome:
        return perform(self.task)

    def terminate(self) -> None:
        """Nothing goes on."""

    close = terminate


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a batch do its tasks in this process: to start one takes longer than they do."""
    monkeypatch.setattr(local, "TaskProcess", _AtOnce)
    return _AtOnce
