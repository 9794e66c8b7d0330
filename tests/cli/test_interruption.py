"""Interrupted runs: all files on disk are complete."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from command_line import CommandResult, files_below, finish, read_lines, start
from needful.storage.demonstrations import read_demonstrations
from needful.storage.model_directory import load_model
from needful.storage.plans import read_plans

TASKS = 5000
TIMEOUT = 100.0  # seconds


def interrupt_run(folder: Path, signal_number: signal.Signals) -> CommandResult:
    """Start a long run and send a signal as soon as it solves tasks."""
    process = start("run", "cluttered-1d", "--demos", 4, "--tasks", TASKS, "--out", "run", folder=folder)
    try:
        wait_for_records(process, folder / "run" / "records.jsonl")
        process.send_signal(signal_number)
        return finish(process)
    finally:
        process.kill()
        process.wait()


def wait_for_records(process: subprocess.Popen[str], records: Path) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not records.exists() or records.stat().st_size == 0:
        assert process.poll() is None, "the run ended before it was stopped"
        assert time.monotonic() < deadline, "the run did not begin to solve tasks"
        time.sleep(0.01)


def check_run_folder(run: Path) -> None:
    records = read_lines(run / "records.jsonl")
    assert 1 <= len(records) < TASKS
    assert [record["task"] for record in records] == list(range(len(records)))
    assert len(read_plans(run / "plans.jsonl.gz")) >= len(records)
    assert len(load_model(run / "model").model.operators) == 2
    assert len(read_demonstrations(run / "demos.jsonl.gz").demonstrations) == 4


COMPLETE_FILES = [
    "demos.jsonl.gz",
    "model/climb.json",
    "model/domain.pddl",
    "model/doubts.json",
    "model/evidence.json",
    "model/model.json",
    "model/samplers.safetensors",
    "plans.jsonl.gz",
    "records.jsonl",
    "run.json",
]


def test_interrupt_leaves_only_complete_files(tmp_path: Path) -> None:
    result = interrupt_run(tmp_path, signal.SIGINT)
    assert result.code == 130
    assert result.out == ""
    assert result.err.startswith("Interrupted.")
    assert " in run." in result.err
    assert result.err.count("\n") == 1
    check_run_folder(tmp_path / "run")
    assert sorted(files_below(tmp_path / "run")) == COMPLETE_FILES
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_kill_leaves_no_partial_file_under_a_final_name(tmp_path: Path) -> None:
    result = interrupt_run(tmp_path, signal.SIGKILL)
    assert result.code == -signal.SIGKILL
    check_run_folder(tmp_path / "run")
    final = [name for name in files_below(tmp_path / "run") if not name.startswith(".needful-")]
    assert final == sorted([*COMPLETE_FILES, "progress.json"])
