"""run.json: what it contains, and what it must not contain."""

from __future__ import annotations

import getpass
import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

import needful
from needful.core.tasks import Task
from needful.envs.contract import Split
from needful.errors import ResultsError
from needful.evaluation.records import task_digest
from needful.evaluation.run_description import (
    RunDescription,
    command_text,
    flat_settings,
    read_run_description,
    settings_as_json,
)
from needful.evaluation.run_folder import RunFolder, differing_results
from needful.planning.bilevel import PlanningConfig
from needful.planning.engines.external_programs import FastDownward
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.planners import make_planner

SCREWS = needful.make_environment("screws")


def run_twice(folder: Path, **changes: int) -> tuple[Path, Path]:
    for name in ("one", "other"):
        config = replace(needful.RunConfig(demos=2, tasks=2), **(changes if name == "other" else {}))
        needful.run(SCREWS, config, RunFolder.create(folder / name, command="needful run screws"))
    return folder / "one", folder / "other"


def test_a_finished_run_describes_itself(tmp_path: Path) -> None:
    folder, _ = run_twice(tmp_path)
    content = json.loads((folder / "run.json").read_text())
    assert (content.pop("format"), content.pop("version")) == ("needful-run", 1)
    assert set(content) == {"command", "settings", "versions", "started", "seconds"}
    found = read_run_description(folder)
    assert found == RunDescription(**content)
    assert found.command == "needful run screws"
    assert found.seconds is not None
    assert {"needful", "python", "platform", "engine", "sources"} <= set(found.versions)
    settings = flat_settings(found.settings)
    assert (settings["domain"], settings["demos"], settings["planning.timeout"]) == ("screws", "2", "10")
    assert settings["planning.planner"] == "anytime"
    text = (folder / "run.json").read_text()
    assert socket.gethostname() not in text
    assert str(Path.home()) not in text
    assert str(tmp_path) not in text
    assert f"/{getpass.getuser()}/" not in text


def test_only_run_json_and_measured_times_differ_between_equal_runs(tmp_path: Path) -> None:
    one, other = run_twice(tmp_path)
    assert differing_results(one, other) == ()
    names = {path.relative_to(one).as_posix() for path in one.rglob("*") if path.is_file()}
    same = {name for name in names if (one / name).read_bytes() == (other / name).read_bytes()}
    assert names - same <= {"run.json", "records.jsonl", "summary.json"}


def test_differences_between_results_are_listed(tmp_path: Path) -> None:
    one, other = run_twice(tmp_path, tasks=1)
    assert "1 records, before 2" in differing_results(one, other)
    (other / "records.jsonl").write_text(
        (one / "records.jsonl").read_text().replace('"outcome": "solved"', '"outcome": "timeout"', 1)
    )
    (other / "model" / "extra").write_text("")
    (other / "demos.jsonl.gz").unlink()
    assert differing_results(one, other)[:1] == ("demos.jsonl.gz differs",)
    assert "model/extra is new" in differing_results(one, other)
    assert differing_results(one, other)[-1] == "task 0: outcome 'timeout', before 'solved'"


@pytest.mark.parametrize(
    ("argument", "kept"),
    [
        ("screws", "screws"),
        ("runs/screws", "runs/screws"),
        ("/home/alice/runs/screws", "screws"),
        ("~/screws", "screws"),
        ("../alice/screws", "screws"),
        ("--out=/home/alice/screws", "--out=screws"),
        ("/home/alice/my_env.py:MyEnv", "my_env.py:MyEnv"),
    ],
)
def test_folders_of_the_user_are_not_recorded(argument: str, kept: str) -> None:
    assert command_text("needful run", [argument]) == f"needful run {kept}"


def test_paths_in_settings_are_shortened_and_planners_named() -> None:
    custom = PythonPlanner(FastDownward("astar(lmcut())", program="/bin/sh"))
    text = json.dumps(settings_as_json(planning=PlanningConfig(planner=custom)))
    assert "/bin" not in text
    assert '"program": "sh"' in text
    named = settings_as_json(planning=PlanningConfig(planner=make_planner("greedy")))
    assert flat_settings(named)["planning.planner"] == "greedy"


def test_damaged_and_missing_descriptions(tmp_path: Path) -> None:
    assert read_run_description(tmp_path) is None
    (tmp_path / "run.json").write_text('{"format": "needful-run", "version": 2}')
    with pytest.raises(ResultsError, match="version 2"):
        read_run_description(tmp_path)
    (tmp_path / "run.json").write_text('{"format": "needful-ru')
    with pytest.raises(ResultsError, match="not JSON"):
        read_run_description(tmp_path)


def test_the_digest_of_a_task_is_its_initial_state_and_goal() -> None:
    first, second = SCREWS.tasks(Split.TEST, 2, seed=0)
    assert task_digest(first) == task_digest(Task(first.initial_state, first.goal))
    assert len({task_digest(first), task_digest(second)}) == 2
    assert task_digest(Task(second.initial_state, second.goal)) != task_digest(first)
    assert task_digest(first) != task_digest(SCREWS.task(Split.TEST, 0, seed=1))
    moved = first.initial_state.replace({first.objects[0]: {first.objects[0].type.features[0]: 0.123}})
    assert task_digest(Task(moved, first.goal)) != task_digest(first)
