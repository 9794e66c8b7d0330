"""Results on disk: one file per job, equal results give equal bytes, and errors locate damage."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from needful.core.plans import Outcome, PlanningResult, SearchStatistics
from needful.errors import OutputError, ResultsError
from needful.evaluation.records import RunRecord, make_record, run_identity
from needful.storage.json_fields import Source, parse_json
from needful.sweeps.jobs import Job, JobResult, read_result, read_results, results_path, write_result

JOB = Job("screws", "necessary", 0, 5, 2)
IDENTITY = run_identity("screws", "necessary", 0)
TIMEOUT = PlanningResult(Outcome.TIMEOUT, statistics=SearchStatistics(7, 6))
RECORDS = tuple(
    replace(make_record(IDENTITY, task, TIMEOUT, TIMEOUT.outcome, 2.5), objects=9) for task in range(2)
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
    reordered = dict(reversed(RESULT.summary.items()))
    other = write_result(tmp_path / "other", replace(RESULT, summary=reordered)).read_bytes()
    assert one == other
    assert one[4:8] == bytes(4)  # no timestamp
    write_result(tmp_path / "one", read_results(tmp_path / "one").results[0])
    assert results_path(tmp_path / "one", JOB).read_bytes() == one


def test_a_folder_without_results_holds_none(tmp_path: Path) -> None:
    assert read_results(tmp_path).results == ()
    assert read_results(tmp_path / "nowhere").results == ()


def test_a_record_without_a_number_of_objects_can_be_read() -> None:
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
    ("change", "facts"),
    [
        (lambda lines: [], "empty"),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], "last line"),
        (lambda lines: [*lines, b"{\n"], "line 4.*JSON"),
        (lambda lines: [b"\xff\n"], "line 1.*UTF-8"),
        (lambda lines: change_header(lines, format="x"), "format.*needful-results"),
        (lambda lines: change_header(lines, version=0), "version 0.*needful-results"),
        (lambda lines: change_header(lines, version=2), "version 2.*needful-results"),
        (lambda lines: change_header(lines, error=3), "line 1, error.*string.*3"),
        (lambda lines: change_header(lines, summary=[]), "summary.*object"),
        (lambda lines: change_header(lines, job={**JOB.to_json(), "seed": 7}), "screws/necessary-seed7"),
        (lambda lines: change_record(lines, outcome="solvd"), "line 2, outcome.*'solvd'.*'solved'"),
        (lambda lines: change_record(lines, seconds={"total": "1"}), r"seconds\.total.*number"),
        (lambda lines: change_record(lines, missing=[1]), r"missing\[0\].*string"),
        (lambda lines: change_record(lines, node=1), "line 2.*'node'"),
        (lambda lines: change_record(lines, seconds={"search": 1.0}), "line 2, seconds.*'total'"),
        (lambda lines: change_record(lines, task=1), "line 2.*belongs to"),
        (lambda lines: change_record(lines, seed=3), "line 2.*belongs to"),
        (lambda lines: [*lines, lines[-1]], "line 4.*belongs to"),
    ],
)
def test_errors_name_the_location(tmp_path: Path, change: Any, facts: str) -> None:
    path = write_result(tmp_path, RESULT)
    write_lines(path, change(lines_of(path)))
    before = path.read_bytes()
    with pytest.raises(ResultsError) as caught:
        read_result(path)
    assert str(caught.value).startswith(str(path))
    assert re.search(facts, str(caught.value))
    assert [damaged.reason for damaged in read_results(tmp_path).damaged] == [str(caught.value)]
    assert path.read_bytes() == before


def test_a_copy_under_another_name_does_not_count_twice(tmp_path: Path) -> None:
    path = write_result(tmp_path, RESULT)
    copy = path.with_name("copy.jsonl.gz")
    copy.write_bytes(path.read_bytes())
    found = read_results(tmp_path)
    assert found.results == (RESULT,)
    assert [damaged.path for damaged in found.damaged] == [copy]


def test_a_folder_instead_of_a_file_is_damaged(tmp_path: Path) -> None:
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
        with pytest.raises(OutputError, match=r"No space left on device.*space"):
            write_result(tmp_path, result)
    assert [path for path in (tmp_path / "jobs").rglob("*") if path.is_file()] == [first]
    assert first.read_bytes() == before
