"""The Ray executor on a cluster of two nodes, one of which is stopped while it runs a job."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sweep_work
from needful.errors import InvalidInputError
from needful.sweeps import executors
from needful.sweeps.executors import RayExecutor
from needful.sweeps.jobs import SweepFolder
from needful.sweeps.sweep import sweep
from sweep_work import MARKS, is_alive, marks, toy_jobs, wait_until

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'needful[ray]'"
)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes with one core each; job functions create marks below tmp_path."""
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv(MARKS, str(tmp_path / "marks"))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(Path(sweep_work.__file__).parent))
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        started.add_node(num_cpus=1)
        started.wait_for_nodes()
        yield started
    finally:
        started.shutdown()


def stop_node_when_both_are_busy(cluster: Any, folder: Path) -> None:
    """Stop the second node while it runs a job, then let the other jobs end."""
    wait_until(lambda: len(marks(folder)) == 2, "a job on each node")
    (node,) = cluster.worker_nodes
    (process,) = (int(name.split("-")[2]) for name in marks(folder) if node.node_id in name)
    cluster.remove_node(node, allow_graceful=False)
    wait_until(lambda: not is_alive(process), "the end of the node's job")
    (folder / "go").touch()


@pytest.mark.slow
@needs_ray
@pytest.mark.filterwarnings("default")  # warnings of Ray
def test_a_job_that_dies_with_its_node_is_run_on_another(cluster: Any, tmp_path: Path) -> None:
    folder = tmp_path / "marks"
    stopper = threading.Thread(target=stop_node_when_both_are_busy, args=(cluster, folder))
    stopper.start()
    with SweepFolder.open(tmp_path / "sweep") as opened:
        found = sweep(
            toy_jobs(4), opened, RayExecutor(cluster.address), job_function=sweep_work.wait_for_go
        )
    stopper.join()
    assert [result.error for result in found.results] == [None] * 4
    # The first node produced all results, and ran the job of the stopped node again.
    (survivor,) = {result.summary["node"] for result in found.results}
    started = [name.split("-")[:2] for name in marks(folder) if name != "go"]
    assert [seed for seed, node in started if node == survivor] == ["0", "1", "2", "3"]
    assert len(started) == 5


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_a_cluster_that_is_not_there_is_named(address: str) -> None:
    workers = RayExecutor(address).workers(sweep_work.report_process)
    with pytest.raises(InvalidInputError, match=f"{address}: .*ray start --head"), workers:
        pass


def test_without_ray_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(executors, "import_module", missing)
    workers = RayExecutor().workers(sweep_work.report_process)
    with (
        pytest.raises(InvalidInputError, match=r"pip install 'needful\[ray\]', or use --executor process"),
        workers,
    ):
        pass
