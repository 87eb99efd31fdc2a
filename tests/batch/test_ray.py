"""A batch on a Ray cluster of this machine: two nodes, one of which is killed in the middle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foldproof.cli import main
from tests.batch.models import RULES, contents, optimized, save
from tests.batch.test_batch import is_alive, until

ray = pytest.importorskip("ray", reason="ray is not installed: foldproof[ray] has it")

NODE = {
    "node_ip_address": "127.0.0.1",
    "num_cpus": 1,
    "memory": 1 << 30,
    "object_store_memory": 100 << 20,
    "include_dashboard": False,
}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without cores, which listens on the loopback address only, as the nodes do that are added to it."""
    from ray._private import ray_constants
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("FOLDPROOF_TEST_FILE", str(tmp_path / "gate"))
    # As on macOS and Windows: else the driver takes the loopback address for that of another interface.
    monkeypatch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", False)
    found = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "memory": 0})
    try:
        yield found
    finally:
        ray.shutdown()
        found.shutdown()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks for processes in /proc")
def test_a_node_that_dies_costs_nothing_but_time(cluster: Any, tmp_path: Path) -> None:
    nodes = [cluster.add_node(**NODE) for _ in range(2)]
    cluster.wait_for_nodes()
    save(tmp_path / "in", "a.onnx", "b.onnx", operator="Softplus")
    save(tmp_path / "in", "c.onnx")
    save(tmp_path / "in", "killing.onnx", operator="Softsign")
    command = ["batch", tmp_path / "in", "-o", tmp_path / "out", "--rules-from", RULES, "--json", tmp_path / "b.json"]
    with ThreadPoolExecutor(1) as thread:
        middle = thread.submit(_kill_in_the_middle, cluster, nodes[0], tmp_path)
        result = CliRunner().invoke(main, [*map(str, command), "--engine", "ray", "--ray-address", cluster.address])
        middle.result()
    assert result.exit_code == 5, result.output
    assert len(list(tmp_path.glob("gate.*"))) == 3, "what the dead node had begun was begun again"
    models = json.loads((tmp_path / "b.json").read_text())["models"]
    assert [each["status"] for each in models] == ["done", "done", "done", "died"]
    names = ["a.onnx", "b.onnx", "c.onnx"]
    assert contents(tmp_path / "out") == optimized(tmp_path / "in", names, tmp_path / "scratch")


def _kill_in_the_middle(cluster: Any, node: Any, folder: Path) -> None:
    """Kills a node when both have a model that waits. Then the models may go on."""
    until(lambda: len(list(folder.glob("gate.*"))) == 2)
    processes = [int(path.suffix[1:]) for path in folder.glob("gate.*")]
    cluster.remove_node(node, allow_graceful=False)
    until(lambda: sum(map(is_alive, processes)) == 1)  # that of a model goes with its node
    (folder / "gate").touch()


def test_where_there_is_no_cluster_that_is_told(tmp_path: Path) -> None:
    save(tmp_path / "in", "a.onnx")
    command = ["batch", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--engine", "ray"]
    result = CliRunner().invoke(main, [*command, "--ray-address", "not an address"])
    assert result.exit_code == 2
    assert "no Ray cluster can be reached at 'not an address'" in result.stderr
