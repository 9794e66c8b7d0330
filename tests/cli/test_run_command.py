"""`needful run`: its files and output, and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import files_below, needful, read_lines, succeed
from needful.core.plans import Outcome
from needful.envs.catalogue import make_environment
from needful.storage.demonstrations import read_demonstrations
from needful.storage.model_directory import load_model

# The documented fields of summary.json, and the types of their values.
SUMMARY = {
    "domain": str,
    "learner": str,
    "seed": int,
    "demos": int,
    "transitions": int,
    "operators": int,
    "coverage": float,
    "false_claims": int,
    "false_claim_share": float,
    "false_claims_validated": int,
    "purposeless_steps": int,
    "idle_steps": int,
    "repaired_atoms": int,
    "validation": dict,
    "doubts": list,
    "seconds": dict,
    "tasks": int,
    "solved": int,
    "success_rate": float,
    "nodes_created_mean": float,
    "nodes_expanded_mean": float,
    "failures": dict,
}
SECONDS = {"collect", "operators", "samplers", "validation", "planning_mean", "planning_p90"}
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
    "task_digest": str,
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
        assert set(record["versions"]) - {"torch"} == {"python", "needful", "numpy", "sources"}
        assert record["plan_length"] >= 2
        assert record["abstract_plans"] == 1
    assert len({record["config_hash"] for record in records}) == 1
    samples = [record["samples"] for record in records]
    assert all(samples) if domain == "cluttered-1d" else not any(samples)


@pytest.mark.parametrize("domain", ["screws", "cluttered-1d"])
def test_demonstrations_and_model_can_be_read_back(runs: dict[str, Path], domain: str) -> None:
    summary = json.loads((runs[domain] / "summary.json").read_text())
    recorded = read_demonstrations(runs[domain] / "demos.jsonl.gz")
    assert recorded.vocabulary == make_environment(domain).vocabulary
    assert len(recorded.demonstrations) == summary["demos"]
    assert sum(map(len, recorded.demonstrations)) == summary["transitions"]
    stored = load_model(runs[domain] / "model")
    assert len(stored.model.operators) == summary["operators"]
    assert stored.model.missing_samplers() == ()
    assert (stored.provenance["domain"], stored.provenance["learner"]) == (domain, "necessary")


def test_files_of_a_run_folder(screws: Path) -> None:
    assert sorted(files_below(screws)) == [
        "demos.jsonl.gz",
        "model/climb.json",
        "model/domain.pddl",
        "model/doubts.json",
        "model/evidence.json",
        "model/model.json",
        "model/samplers.safetensors",
        "plans.jsonl.gz",
        "records.jsonl",
        "report.html",
        "run.json",
        "summary.json",
    ]


def test_it_prints_operators_and_results(tmp_path: Path) -> None:
    result = succeed(*QUICK, "--out", tmp_path / "run")
    assert "MoveToScrew(?x0:gripper, ?x1:screw)" in result.out
    assert "coverage 1.0 (8 of 8 transitions)" in result.out
    assert "Solved 1/1 unseen task (100.0%)" in result.out
    assert str(tmp_path / "run") in result.out


@pytest.mark.slow
def test_experiments_are_reported_and_saved(tmp_path: Path) -> None:
    """Ten demonstrations of Satellites leave accidental preconditions; see docs/learning.md."""
    arguments = ["satellites", "--demos", 10, "--tasks", 2]
    plain = succeed("run", *arguments, "--out", tmp_path / "plain")
    tested = succeed("run", *arguments, "--experiments", "--out", tmp_path / "tested")
    assert "does not need" not in plain.out
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
    explained = succeed("explain", tmp_path / "tested", "ShootChemX")
    assert "does not need ShootsChemY(?x0)" in explained.out
    as_json = succeed("explain", tmp_path / "tested", "ShootChemX", "--json").json
    assert as_json["ShootChemX"]["dropped_by_experiment"]["ShootsChemY(?x0)"] > 0


def test_json_is_the_summary_with_the_path(tmp_path: Path) -> None:
    result = succeed(*QUICK, "--json", "--out", tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert result.json == {**summary, "out": str(tmp_path / "run")}


def test_no_tasks_give_an_empty_list_of_records(tmp_path: Path) -> None:
    result = succeed("run", "screws", "--demos", 2, "--tasks", 0, "--json", "--out", tmp_path / "run")
    assert (result.json["tasks"], result.json["success_rate"], result.json["failures"]) == (
        0,
        0.0,
        {"timeout": 0},
    )
    assert read_lines(tmp_path / "run" / "records.jsonl") == []


def test_default_folder_is_new_for_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        succeed(*QUICK)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "screws-necessary-seed0",
        "screws-necessary-seed0-2",
        "screws-necessary-seed0-3",
    ]


def test_failures_are_counted_and_explained(tmp_path: Path) -> None:
    result = succeed(
        "run", "screws", "--demos", 2, "--tasks", 2, "--timeout", 1e-9, "--out", tmp_path / "run"
    )
    assert "Solved 0/2" in result.out
    assert "2 failed: timeout" in result.out
    for record in read_lines(tmp_path / "run" / "records.jsonl"):
        assert (record["outcome"], record["failure"], record["plan_length"]) == ("timeout", "timeout", 0)


def test_only_a_run_is_replaced_and_only_with_force(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "mine.txt").write_text("user data")
    for force in ([], ["--force"]):
        result = needful(*QUICK, "--out", out, *force)
        assert result.code == 2
        assert f"error: {out} holds 'mine.txt'" in result.err
        assert files_below(out) == {"mine.txt": b"user data"}
    (out / "mine.txt").unlink()
    succeed(*QUICK, "--out", out, "--force")
    (out / "ANALYSIS.md").write_text("user data")
    before = files_below(out)
    result = needful(*QUICK, "--out", out, "--force")
    assert f"error: {out} holds 'ANALYSIS.md'" in result.err
    assert files_below(out) == before
    (out / "ANALYSIS.md").unlink()
    result = needful(*QUICK, "--out", out)
    assert result.code == 2
    assert result.err.startswith(f"error: {out} exists")
    assert "--force" in result.err
    succeed(*QUICK, "--out", out, "--force")
    assert (out / "summary.json").exists()


def test_replaced_folder_is_printed_with_its_final_name(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = succeed(*QUICK, "--out", out)
    again = succeed(*QUICK, "--out", out, "--force")
    assert f"Results: {out}/ (" in again.out
    assert f"{out}/report.html\n" in again.out
    assert again.out.splitlines()[-3:] == result.out.splitlines()[-3:]
    assert b".needful-" not in (out / "report.html").read_bytes()


@pytest.mark.parametrize("path", ["file/run", "/proc/needful-run", "/dev/null/run", "x" * 300])
def test_folders_that_cannot_be_written(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("user data")
    result = needful(*QUICK, "--out", tmp_path / path)
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith(f"error: {tmp_path / path} cannot be written")
    assert "Choose another path" in result.err
    assert files_below(tmp_path) == {"file": b"user data"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["scrows"], "error: Unknown domain 'scrows'. Did you mean 'screws'?"),
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
def test_wrong_usage(arguments: list[object], expected: str, tmp_path: Path) -> None:
    result = needful("run", *arguments, "--out", tmp_path / "run")
    assert result.code == 2
    assert result.out == ""
    assert expected in result.error_text
    assert list(tmp_path.iterdir()) == []


def test_unknown_sampler_source_gets_a_suggestion(tmp_path: Path) -> None:
    result = needful(*QUICK, "--samplers", "orakle", "--out", tmp_path / "run")
    assert (result.code, result.out) == (2, "")
    assert "'orakle'. Did you mean 'oracle'? Known: learned, oracle." in result.err
    assert files_below(tmp_path) == {}


def test_a_preset_sets_the_options_that_are_not_given(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ("run", "screws", "--preset", "paper", "--demos", "5", "--tasks", "2", "--seed", "1")
    summary = json.loads(succeed(*arguments, "--out", out, "--json").out)
    assert summary["learner"] == "necessary-paper"
    assert (summary["demos"], summary["tasks"], summary["seed"]) == (5, 2, 1)
    assert summary["preset"] == "paper, except demos"
    records = read_lines(out / "records.jsonl")
    assert [record["preset"] for record in records] == ["paper, except demos"] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("screws", "--preset", "papers"), "Unknown preset 'papers'. Did you mean 'paper'?"),
        (("toy.py:Toy", "--preset", "paper"), "Unknown domain of the paper 'toy.py:Toy'"),
        (("screws", "--preset", "paper", "--demonstrations", "d.jsonl.gz"), "Leave one of them out"),
    ],
)
def test_a_preset_that_cannot_be_used_is_explained(arguments: tuple[str, ...], message: str) -> None:
    result = needful("run", *arguments)
    assert result.code == 2
    assert message in result.err
