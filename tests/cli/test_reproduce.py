"""`needful reproduce`: tables beside the paper's numbers, and sweeps that are interrupted and resumed."""

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

from command_line import PROGRAM, CommandResult, finish, needful, succeed
from needful.cli import reproduce as reproduce_module
from needful.errors import OutputError
from needful.reports.figure_canvas import FigureFiles
from needful.sweeps.jobs import Job, JobResult, read_results, results_path, write_result
from sweep_work import wait_until

SMALL = ("--learners", "necessary", "--demos", 2, "--tasks", 1, "--preset", "none", "--jobs", 1)
BOTH = ("reproduce", "--table", "main", "--domains", "screws,cluttered-1d", *SMALL)
SCREWS = ("reproduce", "--table", "main", "--domains", "screws", *SMALL)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CommandResult]:
    """The folder of a finished sweep, and the result of the command."""
    folder = tmp_path_factory.mktemp("done") / "sweep"
    return folder, succeed(*BOTH, "--seeds", 2, "--out", folder)


@pytest.fixture
def done(finished: tuple[Path, CommandResult]) -> Path:
    """The folder of a finished sweep."""
    return finished[0]


@pytest.fixture(autouse=True)
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace figures, which take 2 s per report. The finished sweep has real ones."""
    files = FigureFiles(b"png", b"svg")
    monkeypatch.setattr("needful.reports.write_report.render_figure", lambda name, groups: files)


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start the command in a new process group, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished_files(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Return the result files with content and modification time, which change if a job is repeated."""
    files = sorted(folder.glob("jobs/*/*.jsonl.gz"))
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def unfinished_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(".needful-*"))


def group_is_gone(process: subprocess.Popen[str]) -> bool:
    """Return whether the command and all its workers have ended."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_table_shows_published_numbers(finished: tuple[Path, CommandResult]) -> None:
    done, result = finished
    assert "Success on unseen tasks" in result.out
    lines = [line.split() for line in result.out.splitlines()]
    assert ["domain", "learner", "measured", "published", "difference"] in lines
    (screws,) = (line for line in lines if line[:1] == ["Screws"])
    assert screws[1:8] == ["Necessary", "100.0", "(0.0)", "[34.2,", "100.0]", "100.0", "(0.0)"]
    assert result.out.endswith(f"Report: {done / 'report.md'}\n")
    assert "Percentage of tasks solved" in (done / "report.md").read_text()
    for file in ("tables/main.csv", "tables/times.tex", "tables/operators.md", "figures/nodes.png"):
        assert (done / file).stat().st_size > 0


def test_json_gives_rows(done: Path) -> None:
    result = succeed(*BOTH, "--table", "operators", "--seeds", 2, "--out", done, "--json")
    rows = {(row["table"], row["domain"], row["column"]): row for row in result.json["rows"]}
    found = rows["main", "screws", "Necessary"]
    assert (found["mean"], found["seeds"], found["tasks"], found["published_mean"]) == (100.0, 2, 1, 100.0)
    assert rows["operators", "cluttered-1d", "Necessary"]["published_mean"] == 2.0
    assert {table for table, _, _ in rows} == {"main", "operators"}
    assert str(done / "report.md") in result.json["files"]


def test_both_tables_are_printed_and_checked(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    result = succeed(*SCREWS, "--preset", "both", "--seeds", 1, "--cpu-time", "--out", folder)
    assert "Success on unseen tasks: as published." in result.out
    assert "Success on unseen tasks: with needful's learner and planner." in result.out
    presets = {one.job.learner: one.job.preset for one in read_results(folder).results}
    assert presets == {"necessary": "", "necessary-paper": "paper, except demos"}
    written = finished_files(folder)
    check = ("reproduce", "--table", "main", "--check", "--out", folder)
    checked = succeed(*check)
    assert "Success on unseen tasks: as published." in checked.out
    found = {(one["table"], one["column"]): one for one in succeed(*check, "--json").json["cells"]}
    ours = found["main_as_published", "Necessary"]
    assert (ours["sample"], ours["verdict"], ours["code"]) == ("1 × 1", "agrees", "current")
    assert "10 × 50" in ours["reason"]
    assert found["main", "CI"]["verdict"] == "not run"
    assert all(one["reason"] for one in found.values())
    assert finished_files(folder) == written


def test_check_without_results_is_an_error(tmp_path: Path) -> None:
    result = needful("reproduce", "--check", "--out", tmp_path / "none")
    assert result.code == 2
    assert "Run the jobs first" in result.err


def test_results_of_other_code_are_not_mixed_in(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    succeed(*SCREWS, "--seeds", 1, "--out", folder)
    (result,) = read_results(folder).results
    other = [replace(one, versions={**one.versions, "sources": "0" * 16}) for one in result.records]
    write_result(folder, replace(result, records=tuple(other)))
    before = finished_files(folder)
    refused = needful(*SCREWS, "--seeds", 2, "--out", folder)
    assert refused.code == 0
    assert "Nothing is run: of 2 jobs, 1 have results of other code" in refused.err
    assert "n = 1 × 1" in refused.out
    rows = needful(*SCREWS, "--seeds", 2, "--out", folder, "--json").json["rows"]
    assert [row["seeds"] for row in rows if row["mean"] is not None] == [1]
    assert finished_files(folder) == before
    kept = needful(*SCREWS, "--seeds", 2, "--older", "keep", "--out", folder)
    assert kept.code == 0
    assert "n = 1 × 1" in kept.out
    assert before.items() <= finished_files(folder).items()
    repeated = succeed(*SCREWS, "--seeds", 2, "--older", "repeat", "--out", folder)
    assert "older code" not in repeated.err
    assert len({one.sources for one in read_results(folder).results}) == 1


def test_figure_path_is_printed(done: Path) -> None:
    result = succeed(
        "reproduce", "--figure", "nodes", "--domains", "screws", *SMALL, "--seeds", 2, "--out", done
    )
    assert result.out == f"Figure: {done / 'figures' / 'nodes.png'}\nReport: {done / 'report.md'}\n"


def test_only_requested_results_are_printed(done: Path) -> None:
    result = succeed(*SCREWS, "--planner", "greedy", "--seeds", 1, "--out", done, "--json")
    rows = [row for row in result.json["rows"] if row["mean"] is not None]
    assert [(row["domain"], row["seeds"], row["planner"]) for row in rows] == [("screws", 1, "greedy")]
    # The report covers all results, and its tables show the default planner.
    assert "planner greedy" not in (done / "tables" / "main.md").read_text()


def kill_sweep(process: subprocess.Popen[str], folder: Path, jobs: int, delay: float) -> None:
    """Kill a sweep `delay` seconds after `jobs` jobs are done, and wait until its workers have ended."""
    lock = folder / ".lock"
    try:
        wait_until(lambda: lock.exists() or process.poll() is not None, "the start")
        wait_until(lambda: len(finished_files(folder)) >= jobs or process.poll() is not None, "a job")
        time.sleep(delay)
        assert process.poll() is None, "the sweep ended before it was killed"
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: group_is_gone(process), "the end of the workers")


@pytest.mark.slow
def test_killed_sweep_is_resumed_without_repeating_jobs(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    command = (*SCREWS, "--jobs", 2, "--seeds", 20, "--out", folder)
    rng = random.Random(0)
    known: dict[Path, tuple[bytes, int]] = {}
    for more in (0, 1, 2):
        process = start(tmp_path, *command)
        kill_sweep(process, folder, len(known) + more, rng.uniform(0.0, 0.1))
        assert read_results(folder).damaged == ()
        now = finished_files(folder)
        assert {path: now[path] for path in known} == known
        known = now
    assert 3 <= len(known) < 20
    result = finish(start(tmp_path, *command))
    assert (result.code, result.err) == (0, "")
    final = finished_files(folder)
    assert {path: final[path] for path in known} == known
    assert len(final) == len(read_results(folder).results) == 20
    assert unfinished_files(folder) == []


def test_interrupt_prints_progress_and_how_to_resume(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    process = start(tmp_path, *SCREWS, "--jobs", 2, "--seeds", 1000, "--out", folder)
    try:
        wait_until(lambda: len(finished_files(folder)) >= 2 or process.poll() is not None, "two jobs")
        os.killpg(process.pid, signal.SIGINT)
        result = finish(process)
    finally:
        process.kill()
        process.communicate()
    progress, interrupted = result.err.splitlines()
    assert (result.code, result.out) == (130, "")
    assert " of 1000 jobs done, about " in progress
    assert "resume" in progress
    assert interrupted == "Interrupted."
    assert unfinished_files(folder) == []
    # The last file may have been finished just before it could be counted.
    assert len(read_results(folder).results) - int(progress.split()[0]) in (0, 1)
    wait_until(lambda: group_is_gone(process), "the end of the workers")


def test_a_second_sweep_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    process = start(tmp_path, *SCREWS, "--seeds", 1000, "--out", folder)
    try:
        wait_until(lambda: len(finished_files(folder)) >= 1 or process.poll() is not None, "a job")
        result = needful(*BOTH, "--out", folder)
    finally:
        process.kill()
        process.communicate()
    assert (result.code, result.out) == (1, "")
    assert f"{folder} is in use by another sweep, process {process.pid} on " in result.err


def test_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OutputError("x cannot be written: No space left on device. Choose another path.")

    monkeypatch.setattr("needful.sweeps.jobs.write_result", full)
    result = needful(*SCREWS, "--seeds", 2, "--out", tmp_path / "sweep")
    assert (result.code, result.out) == (1, "")
    assert "No space left on device" in result.err
    assert "0 of 2 jobs done" in result.err
    assert "resume" in result.err
    assert finished_files(tmp_path / "sweep") == {}


def test_failed_jobs_are_reported_and_repeated_with_retry_errors(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    job = Job("screws", "necessary", 0, demos=2, tasks=1)
    write_result(folder, JobResult(job, {}, (), "Traceback\nZeroDivisionError: inside\n"))
    damaged = results_path(folder, replace(job, seed=1))
    damaged.write_bytes(b"half")
    command = (*SCREWS, "--seeds", 2, "--out", folder)
    result = needful(*command)
    assert result.code == 1
    assert f"error: screws/{job.file_stem}: ZeroDivisionError: inside" in result.err
    assert str(damaged) in result.err
    assert "--retry-errors" in result.err
    result = needful(*command, "--retry-errors")
    assert result.code == 1
    assert "ZeroDivisionError" not in result.err
    assert damaged.read_bytes() == b"half"


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("--table", "mian"), 2, "Unknown table 'mian'. Did you mean 'main'?"),
        (("--figure", "nods"), 2, "Did you mean 'nodes'?"),
        (("--domains", "screws,paintng"), 2, "Did you mean 'painting'?"),
        (("--domains", "screws", "--learners", "necesary"), 2, "Did you mean 'necessary'?"),
        (("--domains", "screws", "--planner", "anytme"), 2, "Did you mean 'anytime'?"),
        (("--domains", "all,paintng"), 2, "got all, paintng"),
        (("--table", "ablations", "--learners", "ci"), 2, "ablations does not compare ci"),
        (("--timeout", 0), 2, "must be more than 0 seconds, got 0.0"),
        (("--timeout", "inf"), 2, "must be finite"),
        (("--learning-timeout", -1), 2, "must be more than 0 seconds, got -1.0"),
        (("--seeds", 0), 2, "--seeds"),
        (("--jobs", 0), 2, "--jobs"),
        (("--executor", "cloud"), 2, "--executor"),
        (("--learners", "necessary", "--address", "auto"), 2, "--address: needs --executor ray"),
        (("--table", "kinder", "--table", "main"), 2, "kinder excludes other tables and figures"),
        (("--table", "kinder", "--domains", "kinder/Motion2D-p9"), 2, "Did you mean 'kinder/Motion2D-p5'?"),
        (("--table", "kinder", "--learners", "necesary"), 2, "Did you mean 'necessary'?"),
    ],
)
def test_wrong_usage_fails_before_writing(
    tmp_path: Path, arguments: tuple[object, ...], code: int, expected: str
) -> None:
    result = needful("reproduce", *arguments, "--out", tmp_path / "sweep")
    assert (result.code, result.out) == (code, "")
    assert expected in result.error_text
    assert list(tmp_path.iterdir()) == []


def test_kinder_is_compared_with_hand_written_operators(tmp_path: Path) -> None:
    pytest.importorskip("kinder", reason="KinDER is not installed: make kinder")
    small = ("--domains", "kinder/Motion2D-p0", "--seeds", 1, "--demos", 2, "--tasks", 1, "--jobs", 1)
    printed = succeed("reproduce", "--table", "kinder", *small, "--out", tmp_path).out
    first, second = (line for line in printed.splitlines() if line.startswith("kinder/"))
    assert "Learned" in first
    assert "Hand-written" in second
    results = read_results(tmp_path / "kinder").results
    assert [result.job.learner for result in results] == ["hand-written", "necessary"]
    assert all(result.summary["low_level_actions"] for result in results)
    again = succeed("reproduce", "--table", "kinder", *small, "--check", "--out", tmp_path)
    assert again.out == printed


def test_unreachable_ray_cluster_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'needful[ray]'")
    executor = ("--executor", "ray", "--address", "127.0.0.1:1")
    result = needful(*SCREWS, *executor, "--out", tmp_path / "sweep")
    assert (result.code, result.out) == (1, "")
    assert "127.0.0.1:1: Connection refused" in result.err


def test_folders_with_other_files_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    result = needful(*BOTH, "--out", tmp_path)
    assert (result.code, result.out) == (2, "")
    assert "thesis.tex" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_domain_lists() -> None:
    assert len(reproduce_module._domains(["all"])) == 10
    assert len(reproduce_module._domains(None)) == 6
    assert reproduce_module._domains(["screws, painting", "screws"]) == ("screws", "painting")
