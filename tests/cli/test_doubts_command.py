"""Doubts on the command line: `learn`, `run` and `explain`."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from command_line import files_below, needful, succeed
from needful.approaches.base import LearningConfig

WORLDS = Path(__file__).parent.parent / "data" / "worlds"
GRIPPER = WORLDS / "pddl_gripper_coarse_train.jsonl.gz"
CLAIM = (
    "pick predicts carry(?x0, ?x1), which did not hold for some ?x1 in 59 of 66 transitions, for example "
    "demonstration 0, step 2. The controller may choose among several objects, or a predicate is missing."
)


@pytest.fixture(scope="module")
def gripper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of grippers: the controller `pick` does not name the gripper that it uses."""
    folder = tmp_path_factory.mktemp("gripper") / "model"
    succeed("learn", GRIPPER, "--out", folder)
    return folder


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cross-validate even if it takes long, as on a slow machine."""
    monkeypatch.setattr(
        "needful.cli.run_steps.LearningConfig", partial(LearningConfig, validation_limit=600.0)
    )


@pytest.mark.usefixtures("patient")
def test_learn_prints_what_is_doubtful(tmp_path: Path) -> None:
    result = succeed("learn", GRIPPER, "--out", tmp_path / "model")
    assert "\nFalse claims: 118 in 59 of 235 transitions.\n" in result.out
    assert (
        "\nOn left-out demonstrations: 118 in 59 of 235 transitions, and 0 not covered (5 folds"
        in result.out
    )
    assert f"\nDoubts:\n  - {CLAIM}\n" in result.out


@pytest.mark.usefixtures("patient")
def test_learn_as_json(tmp_path: Path) -> None:
    printed = succeed("learn", GRIPPER, "--out", tmp_path / "model", "--json").json
    assert (printed["false_claims"], printed["false_claims_validated"]) == (118, 118)
    assert printed["false_claim_share"] == 59 / 235
    assert (printed["purposeless_steps"], printed["idle_steps"], printed["repaired_atoms"]) == (0, 0, 0)
    assert printed["validation"]["uncovered"] == 0
    assert printed["doubts"] == [{"operator": "pick", "kind": "false_claim", "text": CLAIM}]
    stored = json.loads((tmp_path / "model" / "doubts.json").read_text())
    assert (stored["false_claims"], stored["doubts"][0]["operator"]) == (118, "pick")


def test_validation_that_would_take_too_long_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = partial(LearningConfig, validation_limit=0.0)
    monkeypatch.setattr("needful.cli.run_steps.LearningConfig", impatient)
    result = succeed("learn", GRIPPER, "--out", tmp_path / "text")
    assert "\nSkipped cross-validation: it would take about " in result.out
    printed = succeed("learn", GRIPPER, "--out", tmp_path / "json", "--json").json
    assert printed["false_claims_validated"] is None
    assert list(printed["validation"]) == ["skipped"]


def test_run_summarises_doubts(cluttered: Path) -> None:
    summary = json.loads((cluttered / "summary.json").read_text())
    assert summary["false_claims"] > 0
    assert summary["false_claims_validated"] == summary["validation"]["false_claims"]
    assert [one["kind"] for one in summary["doubts"]] == ["false_claim"]
    assert summary["doubts"][0]["operator"] == "MoveGrasp-2"


def test_explain_lists_the_doubts_of_the_model_and_of_an_operator(gripper: Path) -> None:
    assert succeed("explain", gripper).out.endswith(f"\nDoubts about the model:\n  - {CLAIM}\n")
    assert succeed("explain", gripper, "pick").out.endswith(f"\nDoubts about pick:\n  - {CLAIM}\n")
    assert "Doubts" not in succeed("explain", gripper, "move").out
    printed = succeed("explain", gripper, "--json").json
    assert [one["text"] for one in printed["pick"]["doubts"]] == [CLAIM]
    assert printed["move"]["doubts"] == printed["drop"]["doubts"] == []


def test_explain_lists_ten_doubts_or_all(gripper: Path, tmp_path: Path) -> None:
    shutil.copytree(gripper, tmp_path / "model")
    file = tmp_path / "model" / "doubts.json"
    document = json.loads(file.read_text())
    document["doubts"] *= 12
    file.write_text(json.dumps(document))
    few = succeed("explain", tmp_path / "model").out
    assert (few.count(CLAIM), few.endswith("\n  and 2 more\n")) == (10, True)
    assert succeed("explain", tmp_path / "model", "--all").out.count(CLAIM) == 12


def test_models_without_doubts_are_readable(gripper: Path, tmp_path: Path) -> None:
    shutil.copytree(gripper, tmp_path / "model")
    (tmp_path / "model" / "doubts.json").unlink()
    assert "Doubts" not in succeed("explain", tmp_path / "model").out
    assert succeed("explain", tmp_path / "model", "pick", "--json").json["pick"]["doubts"] == []


def test_damaged_doubts_are_reported(gripper: Path, tmp_path: Path) -> None:
    shutil.copytree(gripper, tmp_path / "model")
    (tmp_path / "model" / "doubts.json").write_text("{}")
    result = needful("explain", tmp_path / "model")
    assert (result.code, result.out) == (1, "")
    assert "doubts.json" in result.err


def test_learning_again_replaces_the_doubts(gripper: Path, tmp_path: Path) -> None:
    shutil.copytree(gripper, tmp_path / "model")
    succeed("learn", GRIPPER, "--out", tmp_path / "model", "--force")
    assert files_below(tmp_path / "model") == files_below(gripper)
