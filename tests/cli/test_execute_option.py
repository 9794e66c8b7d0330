"""`--execute` and the options for failing skills and noise."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import needful, read_lines, succeed


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("execute") / "run"
    arguments = ("--execute", "closed-loop", "--skill-failures", 0.2)
    result = succeed("run", "screws", "--demos", 6, "--tasks", 5, *arguments, "--out", folder)
    assert "Solved 5/5 unseen tasks" in result.out
    assert "Executed closed loop (skill failures 0.2)" in result.out
    return folder


def test_open_loop_and_closed_loop(model: Path, tmp_path: Path) -> None:
    disturbances = ("--skill-failures", 0.2, "--observation-noise", 0.005, "--parameter-noise", 0.01)
    solved = {}
    for mode in ("open-loop", "closed-loop"):
        out = tmp_path / mode
        summary = succeed(
            *("eval", model, "screws", "--tasks", 10, "--execute", mode, *disturbances),
            *("--out", out, "--json"),
        ).json
        solved[mode] = summary["solved"]
        assert summary["execution"]["mode"] == mode
        records = read_lines(out / "records.jsonl")
        assert all(record["execution"]["parameter_noise"] == 0.01 for record in records)
    assert solved["open-loop"] < solved["closed-loop"] == 10


def test_the_default_is_open_loop_in_an_exact_world(model: Path) -> None:
    usual = succeed("eval", model, "screws", "--tasks", 3, "--json").json
    same = succeed(
        *("eval", model, "screws", "--tasks", 3, "--json", "--execute", "open-loop"),
        *("--skill-failures", 0, "--observation-noise", 0),
    ).json
    for summary in (usual, same):
        assert "execution" not in summary
        for record in summary["records"]:
            assert "execution" not in record
    hashes = {record["config_hash"] for summary in (usual, same) for record in summary["records"]}
    assert len(hashes) == 1
    closed = succeed("eval", model, "screws", "--tasks", 1, "--json", "--execute", "closed-loop").json
    assert closed["records"][0]["config_hash"] not in hashes


def test_wrong_values(model: Path) -> None:
    result = needful("eval", model, "screws", "--execute", "close-loop")
    assert result.code != 0
    assert "closed-loop" in result.err
    assert needful("eval", model, "screws", "--skill-failures", 1.5).code == 2
