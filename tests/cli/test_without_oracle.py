"""Every verb works for an environment without an oracle model and without a drawing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import files_below, needful, read_lines, succeed

WORLD = Path(__file__).parents[1] / "drawer_world.py"
SCRIPTED, RECORDED = f"{WORLD}:Drawers", f"{WORLD}:RecordedDrawers"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of demonstrations by the scripted policy."""
    file = tmp_path_factory.mktemp("recorded") / "demos.jsonl"
    succeed("collect", SCRIPTED, "--demos", 8, "--out", file)
    return file


@pytest.fixture(scope="module")
def finished(recorded: Path) -> Path:
    """Return the folder of a run that learned from the recorded demonstrations."""
    out = recorded.parent / "run"
    result = succeed("run", RECORDED, "--demonstrations", recorded, "--tasks", 4, "--out", out)
    assert f"Read 8 demonstrations from {recorded}." in result.out
    return out


def changed(file: Path, to: Path, **header: object) -> Path:
    """Copy a file of demonstrations with another header."""
    first, *rest = read_lines(file)
    to.write_text("".join(json.dumps(line) + "\n" for line in ({**first, **header}, *rest)))
    return to


def test_recorded_demonstrations_replace_collected_ones(recorded: Path, finished: Path) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    assert (summary["demos"], summary["solved"], summary["operators"]) == (8, 4, 2)
    collected = recorded.parent / "collected"
    succeed("run", SCRIPTED, "--demos", 8, "--tasks", 4, "--out", collected)
    same = ("demos.jsonl.gz", "model/domain.pddl")
    assert [files_below(finished)[name] for name in same] == [files_below(collected)[name] for name in same]
    hashes = [read_lines(folder / "records.jsonl")[0]["config_hash"] for folder in (finished, collected)]
    assert hashes[0] != hashes[1]


def test_learned_models_are_evaluated_planned_with_and_reported(finished: Path, tmp_path: Path) -> None:
    assert succeed("eval", finished, RECORDED, "--tasks", 3, "--json").json["solved"] == 3
    succeed("plan", finished, RECORDED, "--picture", tmp_path / "plan.png", "--gif", tmp_path / "plan.gif")
    succeed("report", finished, "--environment", RECORDED, "--out", tmp_path / "report.html")
    assert "drawer0:drawer" in (finished / "report.html").read_text()


def test_learning_from_the_file_gives_a_model_for_the_environment(recorded: Path, tmp_path: Path) -> None:
    succeed("learn", recorded, "--out", tmp_path / "model")
    assert succeed("eval", tmp_path / "model", RECORDED, "--tasks", 2, "--json").json["solved"] == 2


def test_check_env_runs_the_scripted_policy() -> None:
    assert "no findings" in succeed("check-env", SCRIPTED, "--tasks", 1).out


def test_check_env_replays_a_file(recorded: Path) -> None:
    result = succeed("check-env", RECORDED, "--tasks", 1, "--demonstrations", recorded)
    assert "Replayed 8 demonstrations: equal to the recording." in result.out
    assert "no findings" in result.out
    result = succeed("check-env", RECORDED, "--tasks", 1, "--demonstrations", recorded, "--json")
    assert result.json["findings"] == []
    assert "Replayed 8 demonstrations: equal to the recording." in result.json["notes"]


def test_check_env_names_the_step_that_differs(recorded: Path, tmp_path: Path) -> None:
    header, first, *rest = read_lines(recorded)
    first["states"][1]["hand"][0] += 0.125
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(line) + "\n" for line in (header, first, *rest)))
    result = needful("check-env", RECORDED, "--tasks", 1, "--demonstrations", other)
    assert result.code == 1
    assert "1. demonstration 0, step 1" in result.out
    assert "most in hand.x by 0.125; the tolerance is 0 (1 of 8 demonstrations" in result.out


def test_without_a_demonstrator_the_error_names_the_ways_to_get_one(tmp_path: Path) -> None:
    for verb in ("run", "collect"):
        result = needful(verb, RECORDED, "--demos", 2, "--out", tmp_path / "out.jsonl")
        assert (result.code, result.out, files_below(tmp_path)) == (1, "", {})
        assert "Write 'oracle_model' or a scripted policy 'demonstrate', or pass recorded" in result.err


def test_two_sources_of_demonstrations_are_refused(recorded: Path, tmp_path: Path) -> None:
    result = needful("run", RECORDED, "--demos", 3, "--demonstrations", recorded, "--out", tmp_path / "out")
    assert result.code == 2
    assert "Leave one of them out" in result.error_text


def test_learners_and_samplers_that_need_an_oracle_are_refused(recorded: Path, tmp_path: Path) -> None:
    common = ("run", RECORDED, "--demonstrations", recorded, "--tasks", 1, "--out", tmp_path / "out")
    result = needful(*common, "--learner", "loft-replay")
    assert result.code == 1
    assert "Use a learner that needs no replays" in result.err
    result = needful(*common, "--samplers", "oracle")
    assert result.code == 1
    assert "has no oracle model" in result.err


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (
            {"predicates": [{"name": "Near", "types": ["hand", "drawer"]}, {"name": "Open", "types": []}]},
            "goal[0]",
        ),
        (
            {"controllers": [{"name": "Pull", "types": ["hand", "drawer"], "low": [], "high": []}]},
            "Unknown controller 'ReachFor'",
        ),
        ({"types": [{"name": "hand", "parent": None, "features": ["x"]}]}, "Unknown type 'drawer'"),
    ],
)
def test_a_damaged_file_is_refused(
    recorded: Path, tmp_path: Path, header: dict[str, object], problem: str
) -> None:
    file = changed(recorded, tmp_path / "other.jsonl", **header)
    for verb in ("run", "check-env"):
        result = needful(verb, RECORDED, "--demonstrations", file)
        assert result.code == 1
        assert problem in result.error_text


def test_a_file_of_another_domain_is_refused(recorded: Path, tmp_path: Path) -> None:
    result = needful("run", "screws", "--demonstrations", recorded, "--out", tmp_path / "out")
    assert result.code == 1
    assert "does not fit the domain 'screws'. Unknown type in the demonstrations 'hand'." in result.err


@pytest.mark.parametrize("verb", ["run", "eval", "plan", "collect"])
def test_the_horizon_of_the_environment_can_be_replaced(verb: str, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    arguments = {
        "run": (
            RECORDED,
            "--demonstrations",
            finished / "demos.jsonl.gz",
            "--tasks",
            2,
            "--json",
            "--out",
            out,
        ),
        "eval": (finished, RECORDED, "--tasks", 2, "--json"),
        "plan": (finished, RECORDED, "--json"),
        "collect": (SCRIPTED, "--demos", 2, "--out", out),
    }[verb]
    result = needful(verb, *arguments, "--horizon", 5)
    if verb in {"run", "eval"}:
        assert result.json["failures"] == {"horizon_exceeded": 2, "timeout": 0}
    elif verb == "plan":
        assert (result.code, result.json["outcome"]) == (1, "horizon_exceeded")
    else:
        assert result.code == 1
        assert "horizon exceeded" in result.err


@pytest.mark.parametrize("verb", ["run", "eval", "plan", "collect"])
@pytest.mark.parametrize("option", ["--horizon", "--samples-per-step", "--abstract-plans"])
def test_limits_must_be_positive(verb: str, option: str) -> None:
    result = needful(verb, "anything", "screws", option, 0)
    assert result.code == 2
    assert f"'{option}'" in result.error_text


def test_samples_per_step_limits_the_samples(finished: Path) -> None:
    common = ("eval", finished, RECORDED, "--tasks", 4, "--abstract-plans", 1, "--json")
    few, many = (succeed(*common, "--samples-per-step", count).json["records"] for count in (1, 10))
    assert all(record["samples"] <= 2 for record in few)
    assert few[0]["config_hash"] != many[0]["config_hash"]
