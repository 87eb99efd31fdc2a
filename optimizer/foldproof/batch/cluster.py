"""The tasks of a batch on a Ray cluster that is there already.

Ray places them by their memory, and does those again whose node has died. What it runs is a task's process, as on one
machine, so that a model that takes its process with it costs no worker of Ray.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from foldproof.batch.outcome import Outcome
from foldproof.batch.process import perform_apart
from foldproof.batch.task import Task
from foldproof.errors import UsageError

_RETRIES = 3
"""How often a task is done again whose node, or whose worker, has died."""


def perform_on_ray(tasks: Sequence[Task], address: str) -> Generator[Outcome, None, None]:
    """Does tasks on a cluster. Where the caller stops asking, those that go on are ended.

    The models and the folder of results have to be the same for all nodes: in a shared folder, or at URLs. Foldproof,
    and the rule packs that are asked for, have to be installed there in the versions that are here.

    Args:
        tasks: The tasks.
        address: That of the cluster, or `auto`.

    Yields:
        What became of each task, when it has ended.

    Raises:
        UsageError: Ray is not installed, or there is no such cluster.
    """
    if not tasks:
        return
    ray = _ray()
    was_there = ray.is_initialized()
    if not was_there:
        _connect(ray, address)
    try:
        yield from _streamed(ray, tasks)
    finally:
        if not was_there:
            ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError("Ray is not installed", hint="Install it: pip install 'foldproof[ray]'") from error
    return ray


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        hint = "Start one by `ray start --head`, or give its address with --ray-address"
        raise UsageError(f"no Ray cluster can be reached at {address!r}: {reason}", hint=hint) from error


def _streamed(ray: Any, tasks: Sequence[Task]) -> Iterator[Outcome]:
    """The outcomes, in the order in which they come."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    most = {kind: max((int(node.get(kind, 0)) for node in nodes), default=0) for kind in ("CPU", "memory")}
    remote = ray.remote(max_retries=_RETRIES, retry_exceptions=False)(perform_apart)
    running = {}
    for task in sorted(tasks, key=lambda task: -task.memory):
        # What wants more than any node has gets one for itself, rather than none.
        wanted = {"num_cpus": min(task.options.jobs or 1, most["CPU"]), "memory": min(task.memory, most["memory"])}
        running[remote.options(**wanted).remote(task)] = task
    try:
        while running:
            (ended,), _ = ray.wait(list(running), num_returns=1)
            task = running.pop(ended)
            try:
                yield ray.get(ended)
            except ray.exceptions.RayError as error:
                reason = " ".join(str(error).split())
                yield task.ended("died", f"Ray could not do it: {reason}")
    finally:
        for each in running:
            ray.cancel(each, force=True)
