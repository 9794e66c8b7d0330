"""The verbs that take a domain take a class of one's own as well: `MODULE:CLASS`."""

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


OWN = """
from lamp_world import Lamps

print("importing")

class Own(Lamps):
    def __init__(self):
        super().__init__()
        {init}

    def draw(self, state, axes, goal):
        {draw}
"""


def own_file(folder: Path, init: str = "pass", draw: str = "super().draw(state, axes, goal)") -> str:
    file = folder / "own.py"
    file.write_text(OWN.format(init=init, draw=draw))
    return f"{file}:Own"


def test_what_an_environment_prints_is_no_result(tmp_path: Path) -> None:
    reference = own_file(tmp_path, init="print('making')", draw="print('drawing')")
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


def test_a_run_outlives_a_drawing_that_fails(tmp_path: Path) -> None:
    reference = own_file(tmp_path, draw="raise RuntimeError('no ink')")
    said = needful("run", reference, "--demos", 2, "--tasks", 1, "--out", tmp_path / "run")
    assert said.code == 0
    assert "Solved 1/1" in said.out
    assert "warning: no picture of a solved task: RuntimeError: no ink" in said.complaint
    assert "no ink" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("simulate", "complaint"),
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
def test_an_error_in_ones_own_code_is_one_sentence(
    ran: Path, tmp_path: Path, simulate: str, complaint: str
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "from lamp_world import Lamps\n\n\nclass Own(Lamps):\n"
        f"    def simulate(self, state, action):\n        {simulate}\n"
    )
    reference, out = f"{file}:Own", tmp_path / "out"
    for command in (
        ("run", reference, "--demos", 2, "--tasks", 1, "--out", out),
        ("collect", reference, "--demos", 2, "--out", out),
        ("eval", ran, reference, "--tasks", 1, "--out", out),
        ("plan", ran, reference),
    ):
        said = needful(*command)
        assert (said.code, said.out) == (1, "")
        assert said.err == f"error: {reference} raised {complaint}. Run `needful check-env {reference}`.\n"
        assert not out.exists()


def test_wrong_usage_is_not_blamed_on_the_environment(ran: Path) -> None:
    said = needful("eval", ran, LAMPS, "--out", ran)
    assert said.code == 2
    assert "which would be lost" in said.complaint


def test_neighbours_do_not_take_the_place_of_libraries(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("raise ImportError('not the one that was meant')")
    said = needful("run", own_file(tmp_path), "--demos", 2, "--tasks", 1, "--out", tmp_path / "run")
    assert said.code == 0


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("../../escape", "must consist of a-z, 0-9 and -"),
        ("", "must consist of a-z, 0-9 and -"),
        ("a" * 81, "the name has more than 80 characters"),
        ("screws", "the catalogue has another domain 'screws'"),
    ],
)
def test_names_that_cannot_be(tmp_path: Path, name: str, complaint: str) -> None:
    said = needful("run", own_file(tmp_path, init=f"self.name = {name!r}"), "--demos", 2, "--tasks", 1)
    assert said.code == 1
    assert complaint in said.complaint


def test_sweeps_are_of_the_catalogue(tmp_path: Path) -> None:
    said = needful("reproduce", "--domains", LAMPS, "--out", tmp_path / "sweep")
    assert said.code == 2
    assert "use `needful run` for your own" in said.complaint
    assert files_below(tmp_path) == {}


@pytest.mark.parametrize(
    ("reference", "code", "complaint"),
    [
        ("lamps", 2, "Unknown domain 'lamps'"),
        ("lamp_wrold:Lamps", 2, "Unknown module 'lamp_wrold'"),
        (f"{TESTS / 'lamp_world.py'}:Lumps", 2, "Did you mean 'Lamps'?"),
        (":Lamps", 2, "expected MODULE:CLASS"),
        ("needful.envs.household.environment:Household", 1, "has no attribute 'name'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    tmp_path: Path, reference: str, code: int, complaint: str
) -> None:
    said = needful("run", reference, "--out", tmp_path / "run")
    assert said.code == code
    assert complaint in said.complaint
    assert files_below(tmp_path) == {}
