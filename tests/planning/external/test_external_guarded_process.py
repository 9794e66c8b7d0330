"""No process of a planner survives its run."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from external_planners import NEVER_ENDING, STUBBORN, all_gone, noted_group, script
from needful.planning.engines.external_plans import ProcessResult, run_guarded

LIMIT = 4 * 1024**3

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def run(command: list[str], folder: Path, seconds: float = 60.0) -> ProcessResult | None:
    stdin = folder / "input"
    stdin.write_text("what it reads\n")
    return run_guarded(command, folder, stdin, seconds, LIMIT)


@pytest.mark.parametrize("seconds", [60.0, 1e300, math.inf])
def test_input_output_and_status_of_a_program(tmp_path: Path, seconds: float) -> None:
    program = script(tmp_path, 'cat; echo "$@"; echo complaint >&2; pwd; exit 17')
    result = run([program, "two words", "$HOME"], tmp_path, seconds)
    assert result == ProcessResult(17, f"what it reads\ntwo words $HOME\ncomplaint\n{tmp_path}\n")


def test_memory_is_limited(tmp_path: Path) -> None:
    result = run([script(tmp_path, "ulimit -v")], tmp_path)
    assert result == ProcessResult(0, f"{LIMIT // 1024}\n")


def test_a_program_killed_by_a_signal(tmp_path: Path) -> None:
    result = run([script(tmp_path, "echo last words; kill -SEGV $$")], tmp_path)
    assert result is not None
    assert result.status == 128 + signal.SIGSEGV
    assert result.output.startswith("last words\n")  # some shells add a message


def test_a_missing_program(tmp_path: Path) -> None:
    result = run([str(tmp_path / "nothing")], tmp_path)
    assert result is not None
    assert result.status == 127
    assert "not found" in result.output


def test_a_program_that_kills_its_group(tmp_path: Path) -> None:
    result = run([script(tmp_path, "echo last words; kill -KILL 0")], tmp_path)
    assert result == ProcessResult(128 + signal.SIGKILL, "last words\n")


def test_at_the_deadline_all_are_killed(tmp_path: Path) -> None:
    note = tmp_path / "note"
    assert run([script(tmp_path, NEVER_ENDING.format(note=note))], tmp_path, seconds=2.0) is None
    assert all_gone(noted_group(note))


def test_leftover_processes_are_killed_when_the_program_ends(tmp_path: Path) -> None:
    note = tmp_path / "note"
    result = run([script(tmp_path, STUBBORN.format(note=note))], tmp_path)
    assert result == ProcessResult(0, "")
    assert all_gone(noted_group(note))


@pytest.fixture
def interruptible() -> Iterator[None]:
    # A program started in the background may inherit that SIGINT is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_kills_all(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = script(tmp_path, NEVER_ENDING.format(note=note))

    def interrupt() -> None:
        noted_group(note)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run([program], tmp_path)
    thread.join()
    assert all_gone(noted_group(note))


def test_all_die_with_the_process_that_started_them(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = script(tmp_path, NEVER_ENDING.format(note=note))
    code = (
        "from pathlib import Path\n"
        "from needful.planning.engines.external_plans import run_guarded\n"
        f"folder = Path({str(tmp_path)!r})\n"
        f"run_guarded([{program!r}], folder, folder / 'planner', 1000.0, {LIMIT})\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as caller:
        group = noted_group(note)
        caller.kill()
    assert all_gone(group)
