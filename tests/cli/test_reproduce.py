"""`needful reproduce`: tables beside the paper's, sweeps that are stopped and gone on with."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import PROGRAM, Said, needful, succeed
from needful.cli import reproduce as reproduce_module
from needful.errors import OutputError
from needful.sweeps.jobs import Job
from needful.sweeps.results import JobResult, read_results, results_path, write_result
from sweep_work import TIMEOUT_SECONDS, wait_until

SMALL = ("--learners", "necessary", "--demos", 2, "--tasks", 1)
BOTH = ("reproduce", "--table", "main", "--domains", "screws,cluttered-1d", *SMALL)
SCREWS = ("reproduce", "--table", "main", "--domains", "screws", *SMALL)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """The folder of a finished sweep, and what it said."""
    folder = tmp_path_factory.mktemp("done") / "sweep"
    return folder, succeed(*BOTH, "--seeds", 2, "--out", folder)


@pytest.fixture
def done(finished: tuple[Path, Said]) -> Path:
    """The folder of a finished sweep."""
    return finished[0]


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start the command as a terminal does: in a group of processes of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> Said:
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    return Said(process.returncode, out, err)


def finished_files(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Return the files of jobs, with what would change if a job were repeated: seconds and times."""
    files = sorted(folder.glob("jobs/*/*.jsonl.gz"))
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def unfinished_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(".needful-*"))


def group_is_gone(process: subprocess.Popen[str]) -> bool:
    """Return whether no process of the group is left, neither the command nor its workers."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_table_stands_beside_the_papers(finished: tuple[Path, Said]) -> None:
    done, said = finished
    assert "Success on unseen tasks" in said.out
    lines = [line.split() for line in said.out.splitlines()]
    assert ["domain", "learner", "measured", "published", "difference"] in lines
    (screws,) = (line for line in lines if line[:1] == ["Screws"])
    assert screws[1:6] == ["Necessary", "100.0", "(0.0)", "100.0", "(0.0)"]
    assert said.out.endswith(f"Report: {done / 'report.md'}\n")
    assert "Percentage of tasks solved" in (done / "report.md").read_text()
    for file in ("tables/main.csv", "tables/times.tex", "tables/operators.md", "figures/nodes.png"):
        assert (done / file).stat().st_size > 0


def test_json_gives_rows(done: Path) -> None:
    said = succeed(*BOTH, "--table", "operators", "--seeds", 2, "--out", done, "--json")
    rows = {(row["table"], row["domain"], row["column"]): row for row in said.json["rows"]}
    found = rows["main", "screws", "Necessary"]
    assert (found["mean"], found["seeds"], found["tasks"], found["published_mean"]) == (100.0, 2, 1, 100.0)
    assert rows["operators", "cluttered-1d", "Necessary"]["published_mean"] == 2.0
    assert {table for table, _, _ in rows} == {"main", "operators"}
    assert str(done / "report.md") in said.json["files"]


def test_a_figure_is_named(done: Path) -> None:
    said = succeed(
        "reproduce", "--figure", "nodes", "--domains", "screws", *SMALL, "--seeds", 2, "--out", done
    )
    assert said.out == f"Figure: {done / 'figures' / 'nodes.png'}\nReport: {done / 'report.md'}\n"


def test_only_what_was_asked_for_is_printed(done: Path) -> None:
    said = succeed(*SCREWS, "--planner", "greedy", "--seeds", 1, "--out", done, "--json")
    rows = [row for row in said.json["rows"] if row["mean"] is not None]
    assert [(row["domain"], row["seeds"], row["planner"]) for row in rows] == [("screws", 1, "greedy")]
    # The report is about all there is, and there the usual planner stands for the learner.
    assert "planner greedy" not in (done / "tables" / "main.md").read_text()


def kill_in_the_middle(process: subprocess.Popen[str], folder: Path, jobs: int, delay: float) -> None:
    """Kill a sweep some time after it began, and after so many jobs are done; wait for its workers' end."""
    lock = folder / ".lock"
    try:
        wait_until(lambda: lock.exists() or process.poll() is not None, "the beginning")
        wait_until(lambda: len(finished_files(folder)) >= jobs or process.poll() is not None, "a job")
        time.sleep(delay)
        assert process.poll() is None, "the sweep ended before it was killed"
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: group_is_gone(process), "the end of the workers")


def test_a_sweep_survives_being_killed_again_and_again(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    command = (*SCREWS, "--seeds", 40, "--out", folder)
    rng = random.Random(0)
    known: dict[Path, tuple[bytes, int]] = {}
    for more in (0, 1, 2):
        process = start(tmp_path, *command)
        kill_in_the_middle(process, folder, len(known) + more, rng.uniform(0.0, 0.1))
        assert read_results(folder).damaged == ()
        now = finished_files(folder)
        assert {path: now[path] for path in known} == known
        known = now
    assert 3 <= len(known) < 40
    said = finish(start(tmp_path, *command))
    assert (said.code, said.err) == (0, "")
    final = finished_files(folder)
    assert {path: final[path] for path in known} == known
    assert len(final) == len(read_results(folder).results) == 40
    assert unfinished_files(folder) == []


def test_ctrl_c_tells_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    process = start(tmp_path, *SCREWS, "--seeds", 1000, "--out", folder)
    try:
        wait_until(lambda: len(finished_files(folder)) >= 2 or process.poll() is not None, "two jobs")
        os.killpg(process.pid, signal.SIGINT)
        said = finish(process)
    finally:
        process.kill()
        process.communicate()
    done, hint, rest = said.err.partition(". The same command goes on from here.\n")
    assert (said.code, said.out) == (130, "")
    assert hint
    assert " of 1000 jobs done, about " in done
    assert rest == "Interrupted.\n"
    assert unfinished_files(folder) == []
    # The last file may have got its name just before it could be counted.
    assert len(read_results(folder).results) - int(done.split()[0]) in (0, 1)
    wait_until(lambda: group_is_gone(process), "the end of the workers")


def test_a_second_sweep_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    process = start(tmp_path, *SCREWS, "--seeds", 1000, "--out", folder)
    try:
        wait_until(lambda: len(finished_files(folder)) >= 1 or process.poll() is not None, "a job")
        said = needful(*BOTH, "--out", folder)
    finally:
        process.kill()
        process.communicate()
    assert (said.code, said.out) == (1, "")
    assert f"{folder} is in use by another sweep, process {process.pid} on " in said.err


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OutputError("x cannot be written: No space left on device. Choose another path.")

    monkeypatch.setattr("needful.sweeps.results.write_result", full)
    said = needful(*SCREWS, "--seeds", 2, "--jobs", 1, "--out", tmp_path / "sweep")
    assert (said.code, said.out) == (1, "")
    assert "No space left on device" in said.err
    assert "0 of 2 jobs done. The same command goes on from here." in said.err
    assert finished_files(tmp_path / "sweep") == {}


def test_errors_and_damage_are_named_and_repeated_when_asked(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    job = Job("screws", "necessary", 0, demos=2, tasks=1)
    write_result(folder, JobResult(job, {}, (), "Traceback\nZeroDivisionError: inside\n"))
    damaged = results_path(folder, replace(job, seed=1))
    damaged.write_bytes(b"half")
    command = (*SCREWS, "--seeds", 2, "--out", folder)
    said = needful(*command)
    assert said.code == 1
    assert f"error: screws/{job.file_stem}: ZeroDivisionError: inside" in said.err
    assert str(damaged) in said.err
    assert "--retry-errors" in said.err
    said = needful(*command, "--retry-errors")
    assert said.code == 1
    assert "ZeroDivisionError" not in said.err
    assert damaged.read_bytes() == b"half"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("--table", "mian"), 2, "Unknown table 'mian'. Did you mean 'main'?"),
        (("--figure", "nods"), 2, "Did you mean 'nodes'?"),
        (("--domains", "screws,paintng"), 2, "Did you mean 'painting'?"),
        (("--domains", "screws", "--learners", "necesary"), 2, "Did you mean 'necessary'?"),
        (("--domains", "screws", "--planner", "anytme"), 2, "Did you mean 'anytime'?"),
        (("--domains", "all,paintng"), 2, "all stands alone, got all, paintng"),
        (("--table", "ablations", "--learners", "ci"), 2, "ablations does not compare ci"),
        (("--timeout", 0), 2, "must be more than 0 seconds, got 0.0"),
        (("--timeout", "inf"), 2, "must end some time"),
        (("--learning-timeout", -1), 2, "must be more than 0 seconds, got -1.0"),
        (("--seeds", 0), 2, "--seeds"),
        (("--jobs", 0), 2, "--jobs"),
        (("--executor", "cloud"), 2, "--executor"),
        (("--learners", "necessary", "--address", "auto"), 2, "is for --executor ray"),
    ],
)
def test_wrong_usage_is_found_before_anything_is_written(
    tmp_path: Path, arguments: tuple[object, ...], code: int, complaint: str
) -> None:
    said = needful("reproduce", *arguments, "--out", tmp_path / "sweep")
    assert (said.code, said.out) == (code, "")
    assert complaint in said.complaint
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'needful[ray]'")
    where = ("--executor", "ray", "--address", "127.0.0.1:1")
    said = needful(*SCREWS, *where, "--out", tmp_path / "sweep")
    assert (said.code, said.out) == (1, "")
    assert "error: There is no Ray cluster at 127.0.0.1:1: Connection refused." in said.err


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    said = needful(*BOTH, "--out", tmp_path)
    assert (said.code, said.out) == (2, "")
    assert "thesis.tex" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_all_stands_for_all_ten_domains() -> None:
    assert len(reproduce_module._domains(["all"])) == 10
    assert len(reproduce_module._domains(None)) == 6
    assert reproduce_module._domains(["screws, painting", "screws"]) == ("screws", "painting")
