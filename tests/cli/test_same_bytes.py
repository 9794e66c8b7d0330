"""Equal seeds give equal files, even in processes with different hash seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import files_below, finish, start


@pytest.mark.parametrize(
    ("domain", "trained"),
    [
        ("screws", False),
        ("cluttered-1d", False),
        pytest.param("satellites", True, marks=pytest.mark.slow),
    ],
)
def test_models_do_not_depend_on_the_hash_seed(domain: str, trained: bool, tmp_path: Path) -> None:
    processes = [
        start(
            *("run", domain, "--demos", 10, "--tasks", 0, "--out", tmp_path / hash_seed),
            folder=tmp_path,
            PYTHONHASHSEED=hash_seed,
        )
        for hash_seed in ("0", "1")
    ]
    for result in map(finish, processes):
        assert (result.code, result.err) == (0, "")
    one, other = (files_below(tmp_path / hash_seed) for hash_seed in ("0", "1"))
    for run in (one, other):
        del run["summary.json"], run["run.json"], run["report.html"]  # they contain measured times
    assert sorted(one) == [
        "demos.jsonl.gz",
        "model/climb.json",
        "model/domain.pddl",
        "model/doubts.json",
        "model/evidence.json",
        "model/model.json",
        "model/samplers.safetensors",
        "records.jsonl",
    ]
    assert one == other
    assert (b'"kind": "neural"' in one["model/model.json"]) == trained
