"""The folder of a run, and the description of the run in it."""

from __future__ import annotations

import getpass
import json
import os
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import needful
from needful.approaches.base import SilentProgress
from needful.approaches.catalogue import find_approach
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.errors import OutputExistsError, ResultsError
from needful.evaluation import run_folder
from needful.evaluation.pipeline import RunConfig, collect
from needful.evaluation.records import RunRecord, make_record, run_identity, task_digest
from needful.evaluation.run_folder import (
    RecordedProgress,
    RunDescription,
    RunFolder,
    command_text,
    differing_results,
    flat_settings,
    read_run_description,
    settings_as_json,
)
from needful.planning.bilevel import PlanningConfig
from needful.planning.engines.external_programs import FastDownward
from needful.planning.engines.python_planner import PythonPlanner
from needful.planning.planners import make_planner

IDENTITY = run_identity("screws", "necessary", 3)
SCREWS = needful.make_environment("screws")


def one_record() -> RunRecord:
    return make_record(IDENTITY, 0, PlanningResult(Outcome.TIMEOUT), Outcome.TIMEOUT, 0.0)


def fail_in(
    path: Path, error: BaseException, force: bool = False, records: int = 0, more: str = ""
) -> None:
    """Start a run that writes records and optionally another file, then raises."""
    with suppress(type(error)), RunFolder.replacing(path, force) as folder:
        for _ in range(records):
            folder.add_record(one_record())
        if more:
            (folder.path / more).write_text("")
        raise error


def test_a_run_folder_grows_record_by_record(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    file = tmp_path / "run" / "records.jsonl"
    assert file.read_text() == ""
    lines = []
    for task in range(3):
        one = make_record(IDENTITY, task, PlanningResult(Outcome.TIMEOUT), Outcome.TIMEOUT, 0.0)
        folder.add_record(one)
        lines.append(one.to_json() + "\n")
        assert file.read_text() == "".join(lines)
    with pytest.raises(OutputExistsError):
        RunFolder.create(tmp_path / "run")
    assert file.read_text() == "".join(lines)
    RunFolder.create(tmp_path / "run", force=True)
    assert file.read_text() == ""


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt()])
def test_failed_run_leaves_the_earlier_one(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "run"
    with RunFolder.replacing(path) as folder:
        assert folder.path == path
        folder.save_summary({"which": "earlier"})
    fail_in(path, error, force=True, records=1, more="plans.jsonl.gz")
    assert sorted(os.listdir(path)) == ["records.jsonl", "summary.json"]
    assert os.listdir(tmp_path) == ["run"]
    with pytest.raises(OutputExistsError, match="--force"), RunFolder.replacing(path):
        pytest.fail("the block must not run")
    with RunFolder.replacing(path, force=True) as folder:
        folder.add_record(one_record())
        assert os.listdir(path) != []
    assert (path / "records.jsonl").read_text() == one_record().to_json() + "\n"
    assert os.listdir(path) == ["records.jsonl"]
    assert os.listdir(tmp_path) == ["run"]


def test_interrupt_notes_name_the_remaining_results(tmp_path: Path) -> None:
    path = tmp_path / "run"
    first, second = KeyboardInterrupt(), KeyboardInterrupt()
    fail_in(path, first, records=1)
    fail_in(path, second, force=True)
    (first_note,), (second_note,) = first.__notes__, second.__notes__
    assert f"in {path}." in first_note
    assert f"{path} is unchanged" in second_note


def test_files_written_meanwhile_and_the_new_run_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunFolder.create(path)

    def run_with_concurrent_write() -> None:
        with RunFolder.replacing(path, force=True) as folder:
            folder.add_record(one_record())
            (path / "notes.txt").write_text("user data")

    with pytest.raises(OutputExistsError, match=r"notes\.txt") as caught:
        run_with_concurrent_write()
    assert (path / "notes.txt").read_text() == "user data"
    (kept,) = (one for one in tmp_path.iterdir() if one != path)
    (note,) = caught.value.__notes__
    assert str(kept) in note
    assert (kept / "records.jsonl").read_text() == one_record().to_json() + "\n"


@pytest.mark.parametrize(
    ("error", "records", "more", "left"),
    [
        (ValueError(), 0, "", []),
        (ValueError(), 0, "demos.jsonl.gz", []),
        (ValueError(), 1, "", ["records.jsonl"]),
        (KeyboardInterrupt(), 0, "", []),
        (KeyboardInterrupt(), 0, "demos.jsonl.gz", ["demos.jsonl.gz", "records.jsonl"]),
        (KeyboardInterrupt(), 1, "", ["records.jsonl"]),
    ],
)
def test_files_left_by_a_failed_run(
    tmp_path: Path, error: BaseException, records: int, more: str, left: list[str]
) -> None:
    path = tmp_path / "run"
    fail_in(path, error, records=records, more=more)
    assert (sorted(os.listdir(path)) if path.exists() else []) == left


def test_progress_file_has_the_stage_and_the_hill_climb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "PROGRESS_SECONDS", 0.0)
    folder = RunFolder.create(tmp_path / "run")
    progress = RecordedProgress(SilentProgress(), folder)
    report = progress.stage("Solving", 3)
    report(2)

    def written() -> dict[str, object]:
        content: dict[str, object] = json.loads((folder.path / "progress.json").read_text())
        return content

    assert written() == {"stage": "Solving", "done": 2, "total": 3}
    for uncovered, operators in ((7, 1), (5, 2), (5, 2), (0, 3)):
        progress.observe_hypothesis(uncovered, operators, 9)
    climb = written()["climb"]
    assert isinstance(climb, dict)
    assert [(step["uncovered"], step["operators"]) for step in climb["steps"]] == [(7, 1), (5, 2), (0, 3)]
    progress.observe_hypothesis(8, 1, 9)  # hill climbing begins again
    assert json.dumps(written()).count("uncovered") == 1
    folder.save_summary({})
    assert not (folder.path / "progress.json").exists()


def test_the_climb_is_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Hill climbing may end within a second, and training samplers takes long after it.
    monkeypatch.setattr(run_folder, "PROGRESS_SECONDS", 1e9)
    folder = RunFolder.create(tmp_path / "run")
    progress = RecordedProgress(SilentProgress(), folder)
    progress.stage("Learning")
    progress.observe_hypothesis(7, 1, 9)
    assert "uncovered" in (folder.path / "progress.json").read_text()


def test_observed_learning_learns_the_same_operators(tmp_path: Path) -> None:
    environment, config = make_environment("cluttered-1d"), RunConfig(demos=4, tasks=0)
    seen: list[tuple[int, int, int]] = []

    class Observer(SilentProgress):
        def observe_hypothesis(self, uncovered: int, operators: int, transitions: int) -> None:
            seen.append((uncovered, operators, transitions))

    demonstrations = collect(environment, config, SilentProgress()).demonstrations
    learned = [
        find_approach("necessary").learn(
            environment.vocabulary, demonstrations, config.learning((), environment.execute, progress)
        )
        for progress in (SilentProgress(), Observer())
    ]
    for number, one in enumerate(learned):
        one.save(tmp_path / str(number))
    for name in ("model.json", "climb.json", "evidence.json"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()
    assert seen
    assert seen[-1][0] == 0


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
