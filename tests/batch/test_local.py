"""How many processes there are at a time, and what a lack of memory does."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from foldproof.batch import local
from foldproof.batch.estimate import memory_of
from foldproof.batch.folders import LocalFolder
from foldproof.batch.local import perform_here
from foldproof.batch.outcome import Outcome, worst
from foldproof.batch.process import TaskProcess
from foldproof.batch.task import Task
from foldproof.options import Options
from tests.batch.models import RULES, save, save_with_data


def task(name: str, memory: int = 1, source: Path = Path("in"), target: Path = Path("out")) -> Task:
    options = Options(rules_from=[str(RULES)], verify=False)
    return Task(str(source), name, str(target), options, "fingerprint", memory=memory)


class Process:
    """Stands for a process: it takes a few looks until it has ended. A task whose name begins so lacks memory."""

    running: list[Task]
    most: list[tuple[int, int]]

    def __init__(self, task: Task, memory: int | None) -> None:
        self.task = task
        self.looks = 3
        self.running.append(task)
        self.most.append((len(self.running), sum(each.memory for each in self.running)))

    def outcome(self) -> Outcome | None:
        self.looks -= 1
        if self.looks:
            return None
        is_alone = self.running == [self.task]
        self.running.remove(self.task)
        lacks = self.task.name.startswith("lacking") and not (is_alone and self.task.name == "lacking beside others")
        return self.task.ended("memory", "no memory") if lacks else Outcome(self.task.name, "", "done")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> type[Process]:
    monkeypatch.setattr(local, "TaskProcess", Process)
    monkeypatch.setattr(local, "_POLL", 0.0)
    Process.running, Process.most = [], []
    return Process


def test_there_are_no_more_processes_than_workers(processes: type[Process]) -> None:
    outcomes = list(perform_here([task(str(number)) for number in range(7)], 3, None))
    assert sorted(each.name for each in outcomes) == list("0123456")
    assert max(count for count, _ in processes.most) == 3


def test_nor_than_the_memory_allows(processes: type[Process]) -> None:
    tasks = [task("small", 2), task("large", 7), task("too large", 20), task("another", 3), task("third", 6)]
    outcomes = list(perform_here(tasks, 4, 10))
    assert len(outcomes) == 5
    assert [size for _, size in processes.most if size > 10] == [20], "what is too large for the memory runs alone"
    assert max(count for count, _ in processes.most) >= 2


def test_what_lacked_memory_is_tried_once_more_alone(processes: type[Process]) -> None:
    tasks = [task("lacking beside others"), task("lacking"), task("a"), task("b")]
    ended = {each.name: each.status for each in perform_here(tasks, 4, None)}
    assert ended == {"lacking beside others": "done", "lacking": "memory", "a": "done", "b": "done"}
    assert len(processes.most) == 6


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDPROOF_TEST_FILE", str(tmp_path / "never"))
    save(tmp_path, "a.onnx", operator="Softplus")
    endless = dataclasses.replace(task("a.onnx", source=tmp_path, target=tmp_path / "out"), seconds=2.5)
    (outcome,) = perform_here([endless], 1, None)
    assert outcome.status == "time limit"
    assert "2.5 seconds" in str(outcome.error)
    assert outcome.seconds >= 2.5
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux limits the memory of a process")
def test_a_process_takes_no_more_than_its_limit(tmp_path: Path) -> None:
    save(tmp_path, "a.onnx", operator="Selu")
    with TaskProcess(task("a.onnx", source=tmp_path, target=tmp_path / "out"), memory=1 << 30) as process:
        outcome = process.wait()
    assert outcome.status == "memory", outcome
    assert outcome.lacked_memory


def test_a_model_is_expected_to_take_memory_for_its_data_too(tmp_path: Path) -> None:
    save_with_data(tmp_path / "m.onnx")
    folder = LocalFolder(tmp_path)
    before = memory_of(folder, "m.onnx")
    (tmp_path / "weights" / "w.bin").write_bytes(bytes(12 + 1000))
    assert memory_of(folder, "m.onnx") == before + 4 * 1000
    assert memory_of(folder, "not there.onnx") < before


def test_the_exit_status_is_the_worst() -> None:
    outcomes = [Outcome("a", "", "done"), Outcome("b", "", "unverified"), Outcome("c", "", "refused")]
    assert [worst(outcomes[:count]) for count in range(4)] == [0, 0, 4, 2]
    more = [Outcome("d", "", "invalid"), Outcome("e", "", "different"), Outcome("f", "", "died")]
    assert [worst([*outcomes, *more[:count]]) for count in range(1, 4)] == [3, 1, 5]


def test_an_outcome_is_read_as_it_was_written() -> None:
    outcome = Outcome("a", "b", "done", "c", None, (3, 2), (10, 9), 4, ("w",), {"x": 1}, 1.5, kept=True)
    assert Outcome.from_dict(outcome.to_dict()) == outcome
    with pytest.raises(ValueError, match="fine"):
        Outcome.from_dict({**outcome.to_dict(), "status": "fine"})
    assert dataclasses.replace(outcome, status="time limit").exit_status == 5
