"""Verbs that take a domain also accept a user's class, as `MODULE:CLASS`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import files_below, needful, succeed

TESTS = Path(__file__).parents[1]
LAMPS = f"{TESTS / 'lamp_world.py'}:Lamps"  # every second task has a broken lamp


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("custom") / "run"
    succeed("run", LAMPS, "--demos", 5, "--tasks", 3, "--out", folder)
    return folder


def test_run(ran: Path) -> None:
    summary = json.loads((ran / "summary.json").read_text())
    assert (summary["domain"], summary["solved"]) == ("lamps", 2)
    assert "lamps" in (ran / "report.html").read_text()


def test_default_folder_is_named_after_the_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


CUSTOM = """
from lamp_world import Lamps

print("importing")

class Custom(Lamps):
    def __init__(self):
        super().__init__()
        {init}

    def draw(self, state, axes, goal):
        {draw}
"""


def custom_file(folder: Path, init: str = "pass", draw: str = "super().draw(state, axes, goal)") -> str:
    file = folder / "custom.py"
    file.write_text(CUSTOM.format(init=init, draw=draw))
    return f"{file}:Custom"


def test_output_of_an_environment_goes_to_stderr(tmp_path: Path) -> None:
    reference = custom_file(tmp_path, init="print('making')", draw="print('drawing')")
    done = subprocess.run(
        [sys.executable, "-m", "needful", "run", reference, "--demos", "2", "--tasks", "1", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["domain"] == "lamps"
    assert {"importing", "making", "drawing"} <= set(done.stderr.splitlines())


def test_run_succeeds_if_drawing_fails(tmp_path: Path) -> None:
    reference = custom_file(tmp_path, draw="raise RuntimeError('no ink')")
    result = needful("run", reference, "--demos", 2, "--tasks", 1, "--out", tmp_path / "run")
    assert result.code == 0
    assert "Solved 1/1" in result.out
    assert "warning: the page has no pictures of lamps. " in result.error_text
    assert "RuntimeError: no ink" in result.error_text
    assert "no ink" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("simulate", "expected"),
    [
        ("raise ValueError('the arm broke')", "ValueError: the arm broke (broken.py, line 6)"),
        ("raise KeyError", "KeyError (broken.py, line 6)"),
        (
            "return state.replace({state.objects[0]: {'lit': float('nan')}})",
            "InvalidInputError: lamp0.lit must be finite, got nan (broken.py, line 6)",
        ),
        (
            "return None",
            "AttributeError: 'NoneType' object has no attribute 'get' (lamp_world.py, line 70)",
        ),
    ],
)
def test_error_in_user_code_is_reported_in_one_line(
    ran: Path, tmp_path: Path, simulate: str, expected: str
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "from lamp_world import Lamps\n\n\nclass Custom(Lamps):\n"
        f"    def simulate(self, state, action):\n        {simulate}\n"
    )
    reference, out = f"{file}:Custom", tmp_path / "out"
    for command in (
        ("run", reference, "--demos", 2, "--tasks", 1, "--out", out),
        ("collect", reference, "--demos", 2, "--out", out),
        ("eval", ran, reference, "--tasks", 1, "--out", out),
        ("plan", ran, reference),
    ):
        result = needful(*command)
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith(f"error: {reference} raised {expected}")
        assert f"'needful check-env {reference}'" in result.err
        assert result.err.count("\n") == 1
        assert not out.exists()


def test_wrong_usage_is_not_attributed_to_the_environment(ran: Path) -> None:
    result = needful("eval", ran, LAMPS, "--out", ran)
    assert result.code == 2
    assert "which would be lost" in result.error_text


def test_local_modules_do_not_hide_libraries(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("raise ImportError('a local module hides the library')")
    result = needful("run", custom_file(tmp_path), "--demos", 2, "--tasks", 1, "--out", tmp_path / "run")
    assert result.code == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../escape", "must consist of a-z, 0-9 and -"),
        ("", "must consist of a-z, 0-9 and -"),
        ("a" * 81, "the name has more than 80 characters"),
        ("screws", "the catalogue has another domain 'screws'"),
    ],
)
def test_invalid_environment_names(tmp_path: Path, name: str, expected: str) -> None:
    result = needful("run", custom_file(tmp_path, init=f"self.name = {name!r}"), "--demos", 2, "--tasks", 1)
    assert result.code == 1
    assert expected in result.error_text


def test_goals_that_hold_from_the_start_are_an_error(tmp_path: Path) -> None:
    """A string is true, so a predicate that returns "no" holds everywhere."""
    init = "object.__setattr__(self.lit, 'classifier', lambda state, objects: 'no')"
    result = needful(
        "run", custom_file(tmp_path, init=init), "--demos", 2, "--tasks", 1, "--out", tmp_path / "r"
    )
    assert result.code == 1
    assert "hold before the first action" in result.error_text
    assert not (tmp_path / "r").exists()


def test_reproduce_accepts_only_catalogue_domains(tmp_path: Path) -> None:
    result = needful("reproduce", "--domains", LAMPS, "--out", tmp_path / "sweep")
    assert result.code == 2
    assert "'needful run'" in result.error_text
    assert LAMPS.rpartition("/")[2] in result.error_text.replace(" ", "")
    assert files_below(tmp_path) == {}


@pytest.mark.parametrize(
    ("reference", "code", "expected"),
    [
        ("lamps", 2, "Unknown domain 'lamps'"),
        ("lamps", 2, "an environment of your own as FILE:CLASS"),
        ("lamp_wrold:Lamps", 2, "Unknown module 'lamp_wrold'"),
        (f"{TESTS / 'lamp_world.py'}:Lumps", 2, "Did you mean 'Lamps'?"),
        (":Lamps", 2, "expected MODULE:CLASS"),
        ("needful.envs.household.environment:Household", 1, "has no attribute 'name'"),
    ],
)
def test_invalid_references_fail_before_writing(
    tmp_path: Path, reference: str, code: int, expected: str
) -> None:
    result = needful("run", reference, "--out", tmp_path / "run")
    assert result.code == code
    assert expected in result.error_text
    assert files_below(tmp_path) == {}


def test_a_file_without_a_class_gets_a_hint() -> None:
    refused = needful("run", "my_env.py")
    assert refused.code == 2
    assert "my_env.py:MyEnv" in refused.error_text
