"""Two processes run all models of the mutation test: to start one takes longer than all the rest of a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foldproof.engines import Worker
from foldproof.verification import repetition


class _Lasting(Worker):
    """A process that outlives the verification for which it was started."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


@pytest.fixture(scope="session")
def poisoned_worker() -> Iterator[Worker]:
    """The process in which fresh memory has other content."""
    worker = _Lasting(poison=0xA5)
    yield worker
    Worker.close(worker)


@pytest.fixture(autouse=True)
def _lasting_workers(worker: Worker, poisoned_worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(repetition, "Worker", lambda poison: poisoned_worker)
    with worker.lent():
        yield
