"""The verbs that take a domain take a class of one's own as well: `MODULE:CLASS`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import files_below, needful, succeed

TESTS = Path(__file__).parents[1]
LAMPS = f"{TESTS / 'lamp_world.py'}:Lamps"  # every second task has a broken lamp


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own") / "run"
    succeed("run", LAMPS, "--demos", 5, "--tasks", 3, "--out", folder)
    return folder


def test_run(ran: Path) -> None:
    summary = json.loads((ran / "summary.json").read_text())
    assert (summary["domain"], summary["solved"]) == ("lamps", 2)
    assert "lamps" in (ran / "report.html").read_text()


def test_a_new_folder_is_called_after_the_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    succeed("run", LAMPS, "--demos", 2, "--tasks", 0)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["lamps-necessary-seed0"]


def test_collect_learn_eval_and_plan(ran: Path, tmp_path: Path) -> None:
    demos, model = tmp_path / "demos.jsonl.gz", tmp_path / "model"
    assert succeed("collect", LAMPS, "--demos", 5, "--out", demos, "--json").json["domain"] == "lamps"
    assert demos.read_bytes() == (ran / "demos.jsonl.gz").read_bytes()
    succeed("learn", demos, "--out", model)
    evaluated = succeed("eval", model, LAMPS, "--tasks", 3, "--json").json
    assert (evaluated["domain"], evaluated["solved"]) == ("lamps", 2)
    picture = tmp_path / "plan.png"
    assert succeed("plan", model, LAMPS, "--picture", picture, "--json").json["outcome"] == "solved"
    assert picture.is_file()


def test_export_with_a_problem(ran: Path, tmp_path: Path) -> None:
    succeed("export", ran, "--pddl", tmp_path / "pddl", "--style", "strips", "--problem", f"{LAMPS}:1")
    assert set(files_below(tmp_path / "pddl")) == {"domain.pddl", "problem.pddl"}


@pytest.mark.parametrize(
    ("reference", "code", "complaint"),
    [
        ("lamps", 2, "Unknown domain 'lamps'"),
        ("lamp_wrold:Lamps", 2, "Unknown module 'lamp_wrold'"),
        (f"{TESTS / 'lamp_world.py'}:Lumps", 2, "Did you mean 'Lamps'?"),
        (":Lamps", 2, "expected MODULE:CLASS"),
        ("needful.envs.household.environment:Household", 1, "has no name, which seeds and records need."),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    tmp_path: Path, reference: str, code: int, complaint: str
) -> None:
    said = needful("run", reference, "--out", tmp_path / "run")
    assert said.code == code
    assert complaint in said.complaint
    assert files_below(tmp_path) == {}
