"""The folder of a sweep: locked by one process, no foreign files, no leftovers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from needful.errors import OutputError, OutputExistsError
from needful.sweeps.jobs import JobResult, Results, SweepFolder
from sweep_work import toy_jobs

HOLD = """
import sys
from needful.sweeps.jobs import SweepFolder
with SweepFolder.open(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold_elsewhere(folder: Path) -> subprocess.Popen[str]:
    """Start a process that holds the folder until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_folder_keeps_results(tmp_path: Path) -> None:
    one, other = toy_jobs(2)
    result = JobResult(one, {"operators": 4}, ())
    with SweepFolder.open(tmp_path / "new" / "sweep") as folder:
        assert folder.read() == Results()
        assert not folder.has(one)
        folder.save(result)
        assert folder.has(one)
        assert not folder.has(other)
    with SweepFolder.open(str(tmp_path / "new" / "sweep")) as folder:
        assert folder.read() == Results((result,))


def test_the_error_names_the_process_that_holds_the_folder(tmp_path: Path) -> None:
    holder = hold_elsewhere(tmp_path)
    try:
        with pytest.raises(OutputError, match=f"process {holder.pid} on "), SweepFolder.open(tmp_path):
            pass
        holder.communicate("")
        with SweepFolder.open(tmp_path):
            assert (tmp_path / ".lock").read_text().startswith(f"process {os.getpid()} on ")
    finally:
        holder.kill()
        holder.communicate()


def test_the_lock_of_a_killed_process_is_released(tmp_path: Path) -> None:
    holder = hold_elsewhere(tmp_path)
    holder.kill()
    holder.communicate()
    with SweepFolder.open(tmp_path):
        pass


def test_leftovers_of_killed_sweeps_are_removed(tmp_path: Path) -> None:
    with SweepFolder.open(tmp_path) as folder:
        folder.save(JobResult(toy_jobs(1)[0], {}, ()))
    kept = sorted(path for path in tmp_path.rglob("*"))
    (tmp_path / "jobs" / "toy" / ".needful-0123456789abcdef.tmp").write_bytes(b"half")
    (tmp_path / ".needful-fedcba9876543210.tmp").mkdir()
    (tmp_path / ".needful-fedcba9876543210.tmp" / "file").touch()
    (tmp_path / ".needful-1111111111111111.tmp").symlink_to(tmp_path / "jobs")
    with SweepFolder.open(tmp_path):
        assert sorted(path for path in tmp_path.rglob("*")) == kept


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("mine")
    with pytest.raises(OutputExistsError, match=r"'report\.md'.*no sweep"), SweepFolder.open(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def test_a_folder_called_jobs_does_not_make_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "report.md").write_text("mine")
    with pytest.raises(OutputExistsError, match="no sweep"), SweepFolder.open(tmp_path):
        pass


def test_results_without_a_lock_file_are_resumed(tmp_path: Path) -> None:
    with SweepFolder.open(tmp_path) as folder:
        folder.save(JobResult(toy_jobs(1)[0], {}, ()))
    (tmp_path / ".lock").unlink()
    with SweepFolder.open(tmp_path) as folder:
        assert folder.has(toy_jobs(1)[0])


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="cannot be written"), SweepFolder.open(path):
            pass
