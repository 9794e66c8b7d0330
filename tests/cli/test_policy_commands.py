"""Verbs applied to policies; export and explain need operators."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from command_line import needful, read_lines, succeed
from needful.approaches.base import LearningConfig
from needful.evaluation.pipeline import RunConfig
from needful.policies.graph_policy import PolicyConfig

SHORT = PolicyConfig(epochs=300)


@pytest.fixture(autouse=True)
def _short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("needful.cli.run.RunConfig", partial(RunConfig, policy=SHORT))
    monkeypatch.setattr("needful.cli.run_steps.LearningConfig", partial(LearningConfig, policy=SHORT))


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a policy for Screws."""
    folder = tmp_path_factory.mktemp("policy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("needful.cli.run.RunConfig", partial(RunConfig, policy=SHORT))
        result = succeed(
            *("run", "screws", "--learner", "gnn-shooting", "--demos", 10),
            *("--tasks", 2, "--out", folder / "run"),
        )
    assert "Trained a policy of " in result.out
    assert "weights on" in result.out
    return folder / "run"


def outcomes(folder: Path) -> list[str]:
    return [record["outcome"] for record in read_lines(folder / "records.jsonl")]


def test_policy_run_writes_the_usual_files(policy: Path) -> None:
    names = {path.name for path in policy.iterdir()}
    assert {"summary.json", "records.jsonl", "demos.jsonl.gz", "model", "report.html"} <= names
    assert "solved" in outcomes(policy)


def test_a_stored_policy_solves_tasks(policy: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation"
    summary = succeed("eval", policy, "screws", "--tasks", 2, "--out", out, "--json").json
    assert (summary["learner"], summary["operators"]) == ("gnn-shooting", 0)
    assert summary["solved"] == outcomes(policy).count("solved")
    assert outcomes(out) == outcomes(policy)


def test_plan_of_a_policy_is_printed_and_drawn(policy: Path, tmp_path: Path) -> None:
    task = outcomes(policy).index("solved")
    picture, gif = tmp_path / "plan.png", tmp_path / "plan.gif"
    result = succeed(
        *("plan", policy, "screws", "--task", task),
        *("--picture", picture, "--gif", gif),
    )
    assert "1. MoveToScrew" in result.out
    assert "Solved." in result.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert gif.read_bytes().startswith(b"GIF")
    shown = succeed("plan", policy, "screws", "--task", task, "--json").json
    assert (shown["outcome"], shown["plan"], shown["subgoals"]) == ("solved", [], [])
    assert len(shown["actions"]) >= 1


def test_a_policy_is_learned_from_a_file(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demonstrations = policy / "demos.jsonl.gz"
    result = succeed("learn", demonstrations, "--learner", "gnn-shooting", "--out", tmp_path / "again")
    assert "Trained a policy" in result.out
    weights = (tmp_path / "again" / "policy.safetensors").read_bytes()
    assert weights == (policy / "model" / "policy.safetensors").read_bytes()
    shorter = partial(LearningConfig, policy=PolicyConfig(epochs=2))
    monkeypatch.setattr("needful.cli.run_steps.LearningConfig", shorter)
    summary = succeed(
        *("learn", demonstrations, "--learner", "gnn-model-free", "--force"),
        *("--out", tmp_path / "again", "--json"),
    ).json
    assert (summary["operators"], summary["coverage"]) == (0, 0.0)
    assert summary["seconds"]["policy"] > 0.0


@pytest.mark.parametrize("verb", ["export", "explain"])
def test_export_and_explain_reject_a_policy(policy: Path, verb: str, tmp_path: Path) -> None:
    options = ("--pddl", tmp_path / "pddl") if verb == "export" else ()
    result = needful(verb, policy, *options)
    assert result.code == 1
    assert "holds a policy, which has no operators" in result.error_text
    assert not (tmp_path / "pddl").exists()


def test_learning_timeout_ends_training(policy: Path, tmp_path: Path) -> None:
    result = needful(
        *("learn", policy / "demos.jsonl.gz", "--learner", "gnn-shooting"),
        *("--learning-timeout", 0.01, "--out", tmp_path / "none"),
    )
    assert result.code == 1
    assert "time limit of 0.01 s" in result.error_text
    assert not (tmp_path / "none").exists()


def test_unknown_learner_gets_a_suggestion() -> None:
    result = needful("run", "screws", "--learner", "gnn-shooter")
    assert result.code == 2
    assert "Did you mean 'gnn-shooting'?" in result.error_text
