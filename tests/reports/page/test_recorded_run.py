"""Reading the folders of runs: complete, incomplete and damaged ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lamp_world import LampNames
from needful.errors import ModelError, ResultsError
from needful.reports.page.recorded_run import read_run
from recorded_runs import run_lamps


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_lamps(tmp_path_factory.mktemp("lamps") / "some run", LampNames())


@pytest.fixture
def folder(complete: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(complete, tmp_path / "copy"))


def test_everything_is_read(complete: Path) -> None:
    run = read_run(complete)
    assert (run.name, run.domain, run.learner, run.seed) == ("some run", "lamps", "necessary", 0)
    assert [record.outcome for record in run.records] == ["solved", "subgoal_missed"] * 2
    assert sorted(run.plans) == [0, 1, 2, 3]
    assert run.summary["solved"] == 2
    assert run.learned
    assert run.model is not None
    assert [operator.name for operator in run.model.stored.model.operators] == ["Switch"]
    assert run.model.evidence is not None
    assert len(run.model.evidence["Switch"]) == 8
    assert run.model.climb is not None
    assert [step.objective for step in run.model.climb.steps] == [(0, 1)]


def test_what_older_runs_and_evaluations_lack_may_be_missing(folder: Path) -> None:
    (folder / "plans.jsonl.gz").unlink()
    (folder / "model" / "climb.json").unlink()
    (folder / "model" / "evidence.json").unlink()
    run = read_run(folder)
    assert run.plans == {}
    assert run.model is not None
    assert (run.model.evidence, run.model.climb) == (None, None)
    shutil.rmtree(folder / "model")
    assert read_run(folder).model is None


def test_a_run_that_learned_nothing(folder: Path) -> None:
    shutil.rmtree(folder / "model")
    records = (folder / "records.jsonl").read_text().replace('"subgoal_missed"', '"not_learned"')
    (folder / "records.jsonl").write_text(records)
    assert not read_run(folder).learned


def test_paths_that_are_no_run(tmp_path: Path, complete: Path) -> None:
    for path, facts in (
        (tmp_path / "nowhere", "nowhere.*does not exist.*needful run"),
        (complete / "summary.json", "summary.json.*is a file.*needful run"),
        (tmp_path, "records.jsonl.*No such file or directory.*needful run"),
    ):
        with pytest.raises(ResultsError, match=facts):
            read_run(path)
    (tmp_path / "jobs").mkdir()
    with pytest.raises(ResultsError, match=r"sweep.*`needful reproduce`"):
        read_run(tmp_path)


def test_a_run_that_did_not_end(folder: Path) -> None:
    (folder / "summary.json").unlink()
    with pytest.raises(ResultsError, match=r"summary.json.*did not finish"):
        read_run(folder)


@pytest.mark.parametrize(
    ("file", "text", "facts"),
    [
        ("summary.json", "{", "summary.json.*JSON"),
        ("summary.json", "[]", "summary.json.*object"),
        ("summary.json", '{"domain": "lamps", "seed": 0}', "'learner'.*missing"),
        (
            "summary.json",
            '{"domain": "lamps", "learner": "ci", "seed": "0"}',
            "seed.*whole number",
        ),
        ("records.jsonl", "{}\n", "records.jsonl, line 1.*'domain'"),
        ("records.jsonl", '{"domain": "lamps', "records.jsonl.*last line"),
        ("plans.jsonl.gz", "plain", "plans.jsonl.gz.*gzip"),
    ],
)
def test_damaged_files(folder: Path, file: str, text: str, facts: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(ResultsError, match=facts):
        read_run(folder)


def test_a_damaged_model(folder: Path) -> None:
    description = json.loads((folder / "model" / "model.json").read_text())
    description["operators"][0]["name"] = ""
    (folder / "model" / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelError, match=r"name.*empty"):
        read_run(folder)
