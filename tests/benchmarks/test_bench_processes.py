"""Processes of benchmarks: limits and measured resources."""

from __future__ import annotations

import os
import sys
import time

import pytest

from processes import call, run


def test_folder_output_and_exit_code_of_a_command(tmp_path):
    program = "import os, sys; print(os.getcwd()); print('careful', file=sys.stderr); sys.exit(3)"
    finished = run([sys.executable, "-c", program], tmp_path)
    assert finished.returncode == 3
    assert set(finished.output.split()) == {str(tmp_path), "careful"}
    assert finished.wall_seconds > 0
    assert finished.cpu_seconds > 0


def test_the_peak_of_memory_is_that_of_the_command(tmp_path):
    ballast = b"x" * (300 << 20)  # memory of this process, which must not be counted
    small = run([sys.executable, "-c", "pass"], tmp_path).peak_mb
    large = run([sys.executable, "-c", "x = b'x' * (200 << 20)"], tmp_path).peak_mb
    assert small < 100 < 200 < large < 300
    assert ballast


def test_child_processes_are_killed_at_the_time_limit(tmp_path):
    finished = run(["sh", "-c", "sleep 60 & echo $!; wait"], tmp_path, seconds=0.5)
    assert finished.returncode is None
    child = int(finished.output)
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the child process is still running")


def test_a_command_above_the_memory_limit_fails(tmp_path):
    program = [sys.executable, "-c", "x = b'x' * (500 << 20)"]
    assert run(program, tmp_path).returncode == 0
    limited = run(program, tmp_path, memory_bytes=300 << 20)
    assert limited.returncode == 1
    assert limited.last_line == "MemoryError"


def test_a_missing_command_has_exit_code_127(tmp_path):
    finished = run([tmp_path / "nothing"], tmp_path)
    assert finished.returncode == 127
    assert "No such file" in finished.last_line


def test_functions_are_called_in_a_fresh_process():
    process, finished = call("os", "getpid")
    assert process != os.getpid()
    assert finished.returncode == 0
    assert call("operator", "add", 2, 3)[0] == 5


def test_functions_that_fail_or_take_too_long_return_none():
    answer, finished = call("operator", "truediv", 1, 0)
    assert answer is None
    assert "ZeroDivisionError" in finished.last_line
    answer, finished = call("time", "sleep", 60, seconds=0.5)
    assert (answer, finished.returncode) == (None, None)
