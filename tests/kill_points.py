"""Ends a save at each of its steps, and looks at what is there then: the old model or the new one, whole.

`python -m tests.kill_points` ends it at all points, `--points 40` at so many, spread evenly. Each point is a process of
its own, which is killed (SIGKILL), or in which the step fails (`OSError`), or is interrupted (`KeyboardInterrupt`).
A save is also ended in the middle of a write. Steps are the writes, syncs, renames and removals, and the creation of
files.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import errno
import os
import pathlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper

from foldproof import model_file
from foldproof.data_layout import DataLayout
from foldproof.errors import FoldproofError

OLD, NEW = 1.0, 2.0
WAYS = ("kill before", "kill after", "kill within", "OSError", "KeyboardInterrupt")
_SIZE = 3000


@dataclasses.dataclass(frozen=True)
class Scenario:
    """What is saved where.

    Attributes:
        name: What to call it.
        source: How the input's weights lie: `inside`, `one` data file, or `two`.
        before: The same of the model at the destination; None where there is none.
        layout: How to save it.
        output: The name of the destination.
    """

    name: str
    source: str = "one"
    before: str | None = "one"
    layout: DataLayout = DataLayout()  # noqa: RUF009  it is frozen
    output: str = "out.onnx"


SCENARIOS = (
    Scenario("one file", "inside", "inside"),
    Scenario("one file, new", "inside", None),
    Scenario("a data file", "one", "one"),
    Scenario("a data file, new", "one", None),
    Scenario("two data files", "two", "two"),
    Scenario("a data file instead of none", "inside", "inside", DataLayout("always")),
    Scenario("none instead of a data file", "one", "one", DataLayout("never")),
    Scenario("linked", "one", "one", DataLayout(link=True)),
    Scenario("in place", "one", None, DataLayout(in_place=True), "in.onnx"),
    Scenario("text", "one", "one", output="out.textproto"),
)


def build(value: float) -> onnx.ModelProto:
    """A model of two weights, all of whose elements are `value`."""
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "v"], ["y"])]
    weights = [numpy_helper.from_array(np.full(_SIZE, value, np.float32), name) for name in "wv"]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [_SIZE]) for name in "xy")
    graph = helper.make_graph(nodes, "main", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save(value: float, path: pathlib.Path, how: str) -> None:
    """Writes `build(value)` by onnx, with its weights where `how` says."""
    if how == "inside":
        onnx.save(build(value), path)
    else:
        names = {"all_tensors_to_one_file": how == "one", "size_threshold": 10}
        location = f"{path.name}.data" if how == "one" else None
        onnx.save(build(value), path, save_as_external_data=True, location=location, **names)


def value_of(path: pathlib.Path) -> float:
    """The value of all weights of the model in a file.

    Raises:
        ValueError: They are not all the same: it is a mixture.
    """
    weights = [numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer]
    found = {float(value) for weight in weights for value in np.unique(weight)}
    if len(found) != 1 or [len(weight) for weight in weights] != [_SIZE, _SIZE]:
        raise ValueError(f"the weights are {found}")
    return found.pop()


def write_new(scenario: Scenario, folder: pathlib.Path) -> None:
    """Reads the input, makes its weights new ones where they are not linked, and saves it by what is tried here."""
    source = model_file.read(folder / "in.onnx")
    if scenario.name == "in place":
        source.model.graph.initializers["w"].const_value = ir.tensor(np.full(_SIZE, NEW, np.float32), name="w")
        source.model.graph.initializers["v"].const_value = ir.tensor(np.full(_SIZE, NEW, np.float32), name="v")
    model_file.write(source.model, source, folder / scenario.output, scenario.layout)


class Saboteur:
    """Counts the steps of this process, and ends one.

    Args:
        at: The number of that step, from 1 on; 0 ends none.
        way: How, see `WAYS`.
    """

    def __init__(self, at: int, way: str) -> None:
        self.count = 0
        self._at = at
        self._way = way

    def step(self, do: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        """Does a step, or ends the process there."""
        self.count += 1
        if self.count != self._at:
            return do()
        if self._way == "OSError":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            if self._way == "kill within" and half is not None:
                half()
            elif self._way in ("KeyboardInterrupt", "kill after"):
                do()
        finally:
            if self._way == "KeyboardInterrupt":
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Makes all that writes go through `step`."""
        for name in ("fsync", "replace", "rename", "unlink", "mkdir", "link", "symlink"):
            setattr(os, name, self._counted(getattr(os, name)))
        copy = os.copy_file_range

        def copy_file_range(source: int, target: int, count: int, **offsets: int) -> Any:
            half = max(1, count // 2)
            return self.step(
                lambda: copy(source, target, count, **offsets), lambda: copy(source, target, half, **offsets)
            )

        os.copy_file_range = copy_file_range  # type: ignore[assignment]
        opened = pathlib.Path.open

        def open_counted(path: pathlib.Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
            if not set(mode) & set("wxa+"):
                return opened(path, mode, *arguments, **named)
            return File(self.step(lambda: opened(path, mode, *arguments, **named)), self)

        pathlib.Path.open = open_counted  # type: ignore[method-assign]

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **named: self.step(lambda: real(*arguments, **named))


class File:
    """An open file whose writes are steps."""

    def __init__(self, file: Any, saboteur: Saboteur) -> None:
        self._file = file
        self._saboteur = saboteur

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> Any:
        """Writes data; a kill within leaves half of it."""

        def half() -> None:
            self._file.write(data[: len(data) // 2])
            self._file.flush()

        return self._saboteur.step(lambda: self._file.write(data), half)

    def truncate(self, size: int) -> Any:
        """Sets the size."""
        return self._saboteur.step(lambda: self._file.truncate(size))


def prepare(scenario: Scenario, folder: pathlib.Path) -> None:
    """Puts the input there, and an old output, which was written by what is tried here."""
    save(OLD if scenario.layout.in_place else NEW, folder / "in.onnx", scenario.source)
    if scenario.before is not None:
        old = folder / "old" / "in.onnx"
        old.parent.mkdir()
        save(OLD, old, scenario.before)
        source = model_file.read(old)
        model_file.write(source.model, source, folder / scenario.output)
        shutil.rmtree(old.parent)


def in_child(scenario: Scenario, folder: pathlib.Path, at: int, way: str) -> tuple[int, int]:
    """Saves in a process of its own; returns how that ended (as `os.waitpid` says) and how many steps it did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            saboteur = Saboteur(at, way)
            saboteur.install()
            write_new(scenario, folder)
            status = 0
        except FoldproofError:
            status = 3
        except KeyboardInterrupt:
            status = 4
        finally:
            os.write(writing, saboteur.count.to_bytes(4, "little"))
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        count = int.from_bytes(file.read(), "little")
    return os.waitpid(child, 0)[1], count


def problems(scenario: Scenario, at: int, way: str) -> Iterator[str]:
    """Ends a save at one point, and says what is wrong then."""
    with tempfile.TemporaryDirectory(prefix="kill-points-") as name:
        folder = pathlib.Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        prepare(scenario, folder)
        output = folder / scenario.output
        beside = {output, *model_file.data_of(output)}
        inputs = {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and path not in beside}
        before = {path.name for path in folder.iterdir() if path.is_file()}
        existed = output.exists()
        status, _ = in_child(scenario, folder, at, way)
        expected = {"OSError": 3 << 8, "KeyboardInterrupt": 4 << 8}.get(way, int(signal.SIGKILL))
        is_let_go = way == "OSError" and status == 0  # where it only was about to remember that a file is ours
        if status != expected and not is_let_go:
            yield f"it ended with the status {status}"
        if output.exists() or existed:
            try:
                value = value_of(output)
            except Exception as error:  # noqa: BLE001  whatever keeps it from being read
                yield f"the output is not whole: {type(error).__name__}: {error}"
                return
            if value not in (OLD, NEW):
                yield f"the output is neither the old nor the new: {value}"
        if not scenario.layout.in_place and inputs != {path: path.read_bytes() for path in inputs}:
            yield "the input was changed"
        after = {path.name for path in folder.iterdir() if path.is_file()}
        if not way.startswith("kill") and (not output.exists() or value_of(output) == OLD) and after != before:
            yield f"it left {sorted(after - before)}"
        write_new(scenario, folder)  # the next run
        if value_of(output) != NEW:
            yield "the next run did not write the new one"
        named = {path.name for path in model_file.data_of(output)}
        left = {path.name for path in folder.iterdir() if path.is_file()}
        left -= {output.name, *named, *(path.name for path in inputs)}
        if scenario.layout.in_place and way != "KeyboardInterrupt":
            left -= {"in.onnx.data"}  # the person's own, which was not taken away: by no later run either
        if left:
            yield f"the next run left {sorted(left)}"


def points() -> list[tuple[Scenario, int, str]]:
    """All points: each way to end each step of each scenario."""
    found = []
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory(prefix="kill-points-") as name:
            folder = pathlib.Path(name)
            os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
            prepare(scenario, folder)
            status, steps = in_child(scenario, folder, 0, "")
            assert status == 0, scenario
        found += [(scenario, at, way) for at in range(1, steps + 1) for way in WAYS]
    return found


def main() -> None:
    """Runs the points that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, help="so many, spread evenly over all")
    wanted = parser.parse_args().points
    every = points()
    chosen = every if wanted is None else [every[k * len(every) // wanted] for k in range(min(wanted, len(every)))]
    counts: collections.Counter[str] = collections.Counter()
    faults = 0
    for scenario, at, way in chosen:
        counts[way] += 1
        for problem in problems(scenario, at, way):
            faults += 1
            sys.stdout.write(f"{scenario.name}, step {at}, {way}: {problem}\n")
    sys.stdout.write(f"{len(chosen)} of {len(every)} points, {faults} faults; {dict(counts)}\n")
    sys.exit(bool(faults) or not chosen)


if __name__ == "__main__":
    main()
