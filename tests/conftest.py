"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from foldproof.engines import Worker

# How fast a machine is at the moment decides on no test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what runs remember out of the person's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True, scope="session")
def _one_process() -> Iterator[None]:
    """Runs all models of all tests in one child process: to start one takes longer than most tests."""
    with Worker() as worker, worker.lent():
        yield


@pytest.fixture
def models() -> Path:
    """The folder of sample models."""
    return Path(__file__).parent.parent / "models"
