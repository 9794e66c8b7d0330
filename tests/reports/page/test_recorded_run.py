"""Folders of runs: everything in them is read, and damage is named."""

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
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_lamps(tmp_path_factory.mktemp("lamps") / "some run", LampNames())


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def test_everything_is_read(whole: Path) -> None:
    run = read_run(whole)
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


def test_places_that_are_no_run(tmp_path: Path, whole: Path) -> None:
    remedy = "Give a folder as written by `needful run` or `needful eval --out`."
    for path, complaint in (
        (tmp_path / "nowhere", f"nowhere does not exist. {remedy}"),
        (whole / "summary.json", f"summary.json is a file. {remedy}"),
        (tmp_path, f"records.jsonl cannot be read: No such file or directory. {remedy}"),
    ):
        with pytest.raises(ResultsError) as error:
            read_run(path)
        assert str(error.value).endswith(complaint)
    (tmp_path / "jobs").mkdir()
    with pytest.raises(ResultsError, match=r"results of a sweep\. `needful reproduce` writes"):
        read_run(tmp_path)


def test_a_run_that_did_not_end(folder: Path) -> None:
    (folder / "summary.json").unlink()
    with pytest.raises(ResultsError, match=r"summary.json cannot be read: .* The run did not end; repeat"):
        read_run(folder)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("summary.json", "{", "summary.json: not JSON"),
        ("summary.json", "[]", "summary.json: expected an object"),
        ("summary.json", '{"domain": "lamps", "seed": 0}', "the field 'learner' is missing"),
        (
            "summary.json",
            '{"domain": "lamps", "learner": "ci", "seed": "0"}',
            "seed: expected a whole number",
        ),
        ("records.jsonl", "{}\n", "records.jsonl, line 1: the field 'domain' is missing"),
        ("records.jsonl", '{"domain": "lamps', "records.jsonl: the last line is cut off"),
        ("plans.jsonl.gz", "plain", "plans.jsonl.gz: the gzip data is broken"),
    ],
)
def test_damaged_files(folder: Path, file: str, text: str, complaint: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(ResultsError) as error:
        read_run(folder)
    assert complaint in str(error.value)


def test_a_damaged_model(folder: Path) -> None:
    description = json.loads((folder / "model" / "model.json").read_text())
    description["operators"][0]["name"] = ""
    (folder / "model" / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelError, match="a name must not be empty"):
        read_run(folder)
