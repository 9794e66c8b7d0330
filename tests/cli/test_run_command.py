"""`needful run`: what it leaves behind, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import files_below, needful, read_lines, succeed
from needful.core.plans import Outcome
from needful.envs.catalogue import make_environment
from needful.storage.demonstrations import read_demonstrations
from needful.storage.model_directory import load_model

# As documented; the types are those of the values.
SUMMARY = {
    "domain": str,
    "learner": str,
    "seed": int,
    "demos": int,
    "transitions": int,
    "operators": int,
    "coverage": float,
    "seconds": dict,
    "tasks": int,
    "solved": int,
    "success_rate": float,
    "nodes_created_mean": float,
    "nodes_expanded_mean": float,
    "failures": dict,
}
SECONDS = {"collect", "operators", "samplers", "planning_mean", "planning_p90"}
RECORD = {
    "domain": str,
    "learner": str,
    "seed": int,
    "task": int,
    "outcome": str,
    "seconds": dict,
    "nodes_created": int,
    "nodes_expanded": int,
    "nodes_evaluated": int,
    "abstract_plans": int,
    "samples": int,
    "plan_length": int,
    "failure": type(None),
    "missing": list,
    "versions": dict,
    "config_hash": str,
    "objects": int,
}
QUICK = ("run", "screws", "--demos", 2, "--tasks", 1)


@pytest.mark.parametrize("domain", ["screws", "cluttered-1d"])
def test_the_summary_is_as_documented(runs: dict[str, Path], domain: str) -> None:
    summary = json.loads((runs[domain] / "summary.json").read_text())
    assert {name: type(value) for name, value in summary.items()} == SUMMARY
    assert set(summary["seconds"]) == SECONDS
    assert all(type(value) is float and value >= 0 for value in summary["seconds"].values())
    assert summary["seconds"]["planning_p90"] > 0
    assert (summary["domain"], summary["learner"], summary["seed"]) == (domain, "necessary", 0)
    assert (summary["demos"], summary["tasks"], summary["solved"]) == (6, 3, 3)
    assert (summary["coverage"], summary["success_rate"]) == (1.0, 1.0)
    assert summary["operators"] == {"screws": 4, "cluttered-1d": 2}[domain]
    assert summary["failures"] == {"timeout": 0}
    assert summary["nodes_created_mean"] >= summary["nodes_expanded_mean"] >= 1


@pytest.mark.parametrize("domain", ["screws", "cluttered-1d"])
def test_there_is_a_record_for_each_task(runs: dict[str, Path], domain: str) -> None:
    records = read_lines(runs[domain] / "records.jsonl")
    assert [record["task"] for record in records] == [0, 1, 2]
    for record in records:
        assert {name: type(value) for name, value in record.items()} == RECORD
        assert (record["domain"], record["learner"], record["seed"]) == (domain, "necessary", 0)
        assert record["outcome"] == Outcome.SOLVED.value
        assert set(record["seconds"]) == {"grounding", "search", "refinement", "total"}
        assert record["seconds"]["total"] >= record["seconds"]["search"] > 0
        assert set(record["versions"]) == {"python", "needful", "numpy", "torch"}
        assert record["plan_length"] >= 2
        assert record["abstract_plans"] == 1
    assert len({record["config_hash"] for record in records}) == 1
    samples = [record["samples"] for record in records]
    assert all(samples) if domain == "cluttered-1d" else not any(samples)


@pytest.mark.parametrize("domain", ["screws", "cluttered-1d"])
def test_the_demonstrations_and_the_model_can_be_read_again(runs: dict[str, Path], domain: str) -> None:
    summary = json.loads((runs[domain] / "summary.json").read_text())
    recorded = read_demonstrations(runs[domain] / "demos.jsonl.gz")
    assert recorded.vocabulary == make_environment(domain).vocabulary
    assert len(recorded.demonstrations) == summary["demos"]
    assert sum(map(len, recorded.demonstrations)) == summary["transitions"]
    stored = load_model(runs[domain] / "model")
    assert len(stored.model.operators) == summary["operators"]
    assert stored.model.missing_samplers() == ()
    assert (stored.provenance["domain"], stored.provenance["learner"]) == (domain, "necessary")


def test_the_folder_holds_this_and_nothing_else(screws: Path) -> None:
    assert sorted(files_below(screws)) == [
        "demos.jsonl.gz",
        "model/climb.json",
        "model/domain.pddl",
        "model/evidence.json",
        "model/model.json",
        "model/samplers.safetensors",
        "pictures/solved_task.png",
        "plans.jsonl.gz",
        "records.jsonl",
        "report.html",
        "summary.json",
    ]
    assert (screws / "pictures" / "solved_task.png").read_bytes().startswith(b"\x89PNG")


def test_it_prints_operators_and_results(tmp_path: Path) -> None:
    said = succeed(*QUICK, "--out", tmp_path / "run")
    assert "MoveToScrew(?x0:gripper, ?x1:screw)" in said.out
    assert "coverage 1.0 (8 of 8 transitions)" in said.out
    assert "Solved 1/1 unseen tasks (100.0%)" in said.out
    assert str(tmp_path / "run") in said.out


def test_experiments_are_told_and_saved(tmp_path: Path) -> None:
    """Ten demonstrations of Satellites leave accidental preconditions; see docs/learning.md."""
    arguments = ["satellites", "--demos", 10, "--tasks", 2]
    plain = succeed("run", *arguments, "--out", tmp_path / "plain")
    tested = succeed("run", *arguments, "--experiments", "--out", tmp_path / "tested")
    assert "accidental" not in plain.out
    assert "ShootChemX does not need ShootsChemY(?x0)" in tested.out
    needs = {
        name: {
            operator["name"]: operator["preconditions"]
            for operator in json.loads((tmp_path / name / "model" / "model.json").read_text())["operators"]
        }
        for name in ("plain", "tested")
    }
    accidental = ["ShootsChemY", "?x0"]
    assert accidental in needs["plain"]["ShootChemX"]
    assert accidental not in needs["tested"]["ShootChemX"]
    assert "experiments" in json.loads((tmp_path / "tested" / "summary.json").read_text())["seconds"]
    told = succeed("explain", tmp_path / "tested", "ShootChemX")
    assert "does not need ShootsChemY(?x0): it always held, but" in told.out
    as_json = succeed("explain", tmp_path / "tested", "ShootChemX", "--json").json
    assert as_json["ShootChemX"]["dropped_by_experiment"]["ShootsChemY(?x0)"] > 0


def test_json_is_the_summary_and_where_it_is(tmp_path: Path) -> None:
    said = succeed(*QUICK, "--json", "--out", tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert said.json == {**summary, "out": str(tmp_path / "run")}


def test_no_tasks_give_an_empty_list_of_records(tmp_path: Path) -> None:
    said = succeed("run", "screws", "--demos", 2, "--tasks", 0, "--json", "--out", tmp_path / "run")
    assert (said.json["tasks"], said.json["success_rate"], said.json["failures"]) == (
        0,
        0.0,
        {"timeout": 0},
    )
    assert read_lines(tmp_path / "run" / "records.jsonl") == []
    assert not (tmp_path / "run" / "pictures").exists()


def test_without_a_path_each_run_gets_a_fresh_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        succeed(*QUICK)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "screws-necessary-seed0",
        "screws-necessary-seed0-2",
        "screws-necessary-seed0-3",
    ]


def test_failures_are_counted_and_explained(tmp_path: Path) -> None:
    said = succeed(
        "run", "screws", "--demos", 2, "--tasks", 2, "--timeout", 1e-9, "--out", tmp_path / "run"
    )
    assert "Solved 0/2" in said.out
    assert "2 failed: timeout" in said.out
    for record in read_lines(tmp_path / "run" / "records.jsonl"):
        assert (record["outcome"], record["failure"], record["plan_length"]) == ("timeout", "timeout", 0)


def test_what_is_there_is_only_replaced_with_force(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "mine.txt").write_text("precious")
    for force in ([], ["--force"]):
        said = needful(*QUICK, "--out", out, *force)
        assert said.code == 2
        assert f"error: {out} holds 'mine.txt', which is not part of the folder of a run" in said.err
        assert files_below(out) == {"mine.txt": b"precious"}
    (out / "mine.txt").unlink()
    succeed(*QUICK, "--out", out, "--force")
    (out / "ANALYSIS.md").write_text("precious")
    before = files_below(out)
    said = needful(*QUICK, "--out", out, "--force")
    assert f"error: {out} holds 'ANALYSIS.md', which is not part" in said.err
    assert files_below(out) == before
    (out / "ANALYSIS.md").unlink()
    said = needful(*QUICK, "--out", out)
    assert said.code == 2
    assert said.err == f"error: {out} exists already. Choose another path, or use --force to replace it.\n"
    succeed(*QUICK, "--out", out, "--force")
    assert (out / "summary.json").exists()


def test_a_folder_that_replaces_another_is_called_by_its_name(tmp_path: Path) -> None:
    out = tmp_path / "run"
    said = succeed(*QUICK, "--out", out)
    again = succeed(*QUICK, "--out", out, "--force")
    assert f"Results: {out}/ (" in again.out
    assert f"Page to look at: {out}/report.html\n" in again.out
    assert again.out.splitlines()[-3:] == said.out.splitlines()[-3:]
    assert b".needful-" not in (out / "report.html").read_bytes()


@pytest.mark.parametrize("path", ["file/run", "/proc/needful-run", "/dev/null/run", "x" * 300])
def test_folders_that_cannot_be_written(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    said = needful(*QUICK, "--out", tmp_path / path)
    assert said.code == 1
    assert said.out == ""
    assert said.err.startswith(f"error: {tmp_path / path} cannot be written: ")
    assert "Choose another path" in said.err
    assert files_below(tmp_path) == {"file": b"precious"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["scrows"], "error: Unknown domain 'scrows'. Did you mean 'screws'? Known: cluttered-1d, "),
        (["screws", "--learner", "necesary"], "Unknown learner 'necesary'. Did you mean 'necessary'?"),
        (["screws", "--demos", 0], "'--demos'"),
        (["screws", "--demos", "many"], "'--demos'"),
        (["screws", "--tasks", -1], "'--tasks'"),
        (["screws", "--seed", -1], "'--seed'"),
        (["screws", "--timeout", 0], "'--timeout': must be more than 0 seconds, got 0.0"),
        (["screws", "--timeout", "-inf"], "'--timeout': must be more than 0 seconds"),
        (["screws", "--timeout", "nan"], "'--timeout'"),
        (["screws", "--abstract-plans", 0], "'--abstract-plans'"),
        (["screws", "--dmos", 1], "--dmos"),
        ([], "'DOMAIN'"),
    ],
)
def test_wrong_usage(arguments: list[object], complaint: str, tmp_path: Path) -> None:
    said = needful("run", *arguments, "--out", tmp_path / "run")
    assert said.code == 2
    assert said.out == ""
    assert complaint in said.complaint
    assert list(tmp_path.iterdir()) == []


def test_a_kind_of_samplers_that_is_nearly_right(tmp_path: Path) -> None:
    said = needful(*QUICK, "--samplers", "orakle", "--out", tmp_path / "run")
    assert (said.code, said.out) == (2, "")
    expected = "Unknown kind of samplers 'orakle'. Did you mean 'oracle'? Known: learned, oracle."
    assert said.err == f"error: {expected}\n"
    assert files_below(tmp_path) == {}
