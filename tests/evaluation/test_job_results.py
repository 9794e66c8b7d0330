"""Results on disk: one file a job, the same bytes for the same result, damage is named."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from needful.core.plans import Outcome, PlanningResult, SearchStatistics
from needful.errors import OutputError, ResultsError
from needful.evaluation.records import RunRecord, record, run_identity
from needful.storage.json_fields import Source, parse_json
from needful.sweeps.jobs import Job
from needful.sweeps.results import JobResult, read_result, read_results, results_path, write_result

JOB = Job("screws", "necessary", 0, 5, 2)
IDENTITY = run_identity("screws", "necessary", 0)
RECORDS = tuple(
    record(
        IDENTITY,
        task,
        PlanningResult(Outcome.TIMEOUT, statistics=SearchStatistics(7, 6)),
        Outcome.TIMEOUT,
        2.5,
        9,
    )
    for task in range(2)
)
RESULT = JobResult(JOB, {"operators": 4, "seconds": {"collect": 0.5}}, RECORDS)
FAILED = JobResult(replace(JOB, seed=1), {}, (), "Traceback:\n  ValueError: ä\n")


def lines_of(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def write_lines(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(gzip.compress(b"".join(lines)))


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    paths = [write_result(tmp_path, result) for result in (RESULT, FAILED)]
    assert paths == [results_path(tmp_path, JOB), results_path(tmp_path, FAILED.job)]
    assert paths[0] == tmp_path / "jobs" / "screws" / f"necessary-seed0-demos5-{JOB.key}.jsonl.gz"
    found = read_results(tmp_path)
    assert found.results == (RESULT, FAILED)
    assert found.damaged == ()
    assert [record.objects for record in found.results[0].records] == [9, 9]


def test_the_file_is_as_documented(tmp_path: Path) -> None:
    header, *records = map(json.loads, lines_of(write_result(tmp_path, RESULT)))
    assert header == {
        "format": "needful-results",
        "version": 1,
        "job": JOB.to_json(),
        "summary": RESULT.summary,
        "error": None,
    }
    assert records == [json.loads(one.to_json()) for one in RECORDS]


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    one = write_result(tmp_path / "one", RESULT).read_bytes()
    turned = dict(reversed(RESULT.summary.items()))
    other = write_result(tmp_path / "other", replace(RESULT, summary=turned)).read_bytes()
    assert one == other
    assert one[4:8] == bytes(4)  # no time of writing
    write_result(tmp_path / "one", read_results(tmp_path / "one").results[0])
    assert results_path(tmp_path / "one", JOB).read_bytes() == one


def test_a_folder_without_results_holds_none(tmp_path: Path) -> None:
    assert read_results(tmp_path).results == ()
    assert read_results(tmp_path / "nowhere").results == ()


def test_a_record_of_before_objects_were_counted_can_be_read() -> None:
    content = json.loads(RECORDS[0].to_json())
    del content["objects"]
    line = parse_json(json.dumps(content).encode(), Source("old", ResultsError))
    assert RunRecord.from_json(line) == replace(RECORDS[0], objects=0)


@pytest.mark.parametrize("cut", [0, 1, 30, -9, -1])
def test_a_file_that_is_cut_is_named_and_the_others_count(tmp_path: Path, cut: int) -> None:
    path = write_result(tmp_path, RESULT)
    write_result(tmp_path, FAILED)
    path.write_bytes(path.read_bytes()[:cut])
    found = read_results(tmp_path)
    assert found.results == (FAILED,)
    assert [damaged.path for damaged in found.damaged] == [path]
    assert str(path) in found.damaged[0].reason
    assert "Delete the file" in found.damaged[0].reason


def change_header(lines: list[bytes], **changes: Any) -> list[bytes]:
    header = {**json.loads(lines[0]), **changes}
    return [json.dumps(header).encode() + b"\n", *lines[1:]]


def change_record(lines: list[bytes], **changes: Any) -> list[bytes]:
    record = {**json.loads(lines[1]), **changes}
    return [lines[0], json.dumps(record).encode() + b"\n", *lines[2:]]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda lines: [], "the file is empty"),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], "the last line is cut off"),
        (lambda lines: [*lines, b"{\n"], "line 4: not JSON"),
        (lambda lines: [b"\xff\n"], "line 1: byte 0 is not UTF-8"),
        (lambda lines: change_header(lines, format="x"), '"format" is not "needful-results"'),
        (lambda lines: change_header(lines, version=0), "version 0 of 'needful-results' is not known"),
        (lambda lines: change_header(lines, version=2), "version 2 of 'needful-results' is not known"),
        (lambda lines: change_header(lines, error=3), "line 1, error: expected a string, got 3"),
        (lambda lines: change_header(lines, summary=[]), "summary: expected an object"),
        (lambda lines: change_header(lines, job={**JOB.to_json(), "seed": 7}), "Give it back its name"),
        (lambda lines: change_record(lines, outcome="solvd"), "line 2, outcome: Unknown outcome 'solvd'"),
        (lambda lines: change_record(lines, outcome="solvd"), "Did you mean 'solved'?"),
        (lambda lines: change_record(lines, seconds={"total": "1"}), "seconds.total: expected a number"),
        (lambda lines: change_record(lines, missing=[1]), "missing[0]: expected a string"),
        (lambda lines: change_record(lines, node=1), "line 2: unknown field 'node'"),
        (
            lambda lines: change_record(lines, seconds={"search": 1.0}),
            "line 2, seconds: there is no 'total'",
        ),
        (lambda lines: change_record(lines, task=1), "line 2: this record belongs to"),
        (lambda lines: change_record(lines, seed=3), "line 2: this record belongs to"),
        (lambda lines: [*lines, lines[-1]], "line 4: this record belongs to"),
    ],
)
def test_whatever_is_wrong_is_said_with_its_place(tmp_path: Path, change: Any, complaint: str) -> None:
    path = write_result(tmp_path, RESULT)
    write_lines(path, change(lines_of(path)))
    before = path.read_bytes()
    with pytest.raises(ResultsError) as caught:
        read_result(path)
    assert str(caught.value).startswith(str(path))
    assert complaint in str(caught.value)
    assert [damaged.reason for damaged in read_results(tmp_path).damaged] == [str(caught.value)]
    assert path.read_bytes() == before


def test_a_copy_under_another_name_does_not_count_twice(tmp_path: Path) -> None:
    path = write_result(tmp_path, RESULT)
    copy = path.with_name("copy.jsonl.gz")
    copy.write_bytes(path.read_bytes())
    found = read_results(tmp_path)
    assert found.results == (RESULT,)
    assert [damaged.path for damaged in found.damaged] == [copy]


def test_something_that_is_no_file_is_named(tmp_path: Path) -> None:
    path = results_path(tmp_path, JOB)
    path.mkdir(parents=True)
    assert [damaged.path for damaged in read_results(tmp_path).damaged] == [path]


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_result(tmp_path, RESULT)
    before = first.read_bytes()

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    for result in (replace(RESULT, summary={}), FAILED):
        with pytest.raises(OutputError, match=r"No space left on device\. Free some space and repeat"):
            write_result(tmp_path, result)
    assert [path for path in (tmp_path / "jobs").rglob("*") if path.is_file()] == [first]
    assert first.read_bytes() == before
