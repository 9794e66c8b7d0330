"""Console output shared by all verbs: progress bars on a terminal, errors in one line."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from rich.console import Console
from rich.progress import Progress

from command_line import PROGRAM, finish, start
from needful.cli import main
from needful.cli.console import ProgressBars, progress_bars, reporting_errors
from needful.errors import DemonstrationError, EnvironmentFailure, OutputExistsError, UnknownNameError

RUN = ["run", "screws", "--demos", "2", "--tasks", "1", "--json", "--out", "run"]


def test_no_progress_bars_without_a_terminal(tmp_path: Path) -> None:
    result = finish(start(*RUN, folder=tmp_path, FORCE_COLOR="1"))
    assert (result.code, result.err) == (0, "")
    assert result.json["solved"] == 1


def test_progress_bars_on_a_terminal(tmp_path: Path) -> None:
    terminal, stderr = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *RUN],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    os.close(stderr)
    shown = read_all(terminal)
    assert finish(process).json["solved"] == 1
    for stage in (
        "Collecting demonstrations",
        "Learning operators",
        "Solving unseen tasks",
        "Writing the report",
    ):
        assert stage in shown
    assert "2/2" in shown


def read_all(terminal: int) -> str:
    """Return everything written to a terminal until its other side is closed."""
    chunks = []
    try:
        while chunk := os.read(terminal, 65536):
            chunks.append(chunk)
    except OSError:  # raised by Linux when the other side is closed
        pass
    os.close(terminal)
    return b"".join(chunks).decode()


def test_next_stage_finishes_the_previous_one() -> None:
    bars = Progress(console=Console(file=io.StringIO()))
    shown = ProgressBars(bars)
    report = shown.stage("first", 4)
    report(3)
    assert [task.completed for task in bars.tasks] == [3]
    shown.stage("second")
    assert [task.finished for task in bars.tasks] == [True, False]
    shown.finish()
    assert [(task.completed, task.total) for task in bars.tasks] == [(4, 4), (1, 1)]


def test_progress_works_without_a_terminal() -> None:
    with progress_bars() as progress:
        progress.stage("work", 2)(1)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownNameError("domain", "x", []), 2),
        (OutputExistsError("x exists already."), 2),
        (DemonstrationError("x is empty."), 1),
        (EnvironmentFailure("x fell."), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_become_messages_and_exit_codes(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    @reporting_errors
    def verb() -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        verb()
    assert caught.value.exit_code == code
    result = capsys.readouterr()
    assert result.out == ""
    assert result.err == (f"error: {error}\n" if code != 130 else "Interrupted.\n")


def test_unexpected_exceptions_propagate() -> None:
    @reporting_errors
    def verb() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        verb()


def test_characters_that_stdout_cannot_encode_are_escaped(tmp_path: Path) -> None:
    result = finish(
        start(
            "new-env", "garden", "--out", "Ω", folder=tmp_path, PYTHONIOENCODING="latin-1", PYTHONUTF8="1"
        )
    )
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Wrote \\u03a9/ (garden.py")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["envs"], ["--version"], ["run", "--help"]])
def test_full_disk_is_reported_in_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "needful", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "No space left on device" in done.stderr
    assert "another disk" in done.stderr
    assert done.stderr.count("\n") == 1


def test_failed_stream_is_not_flushed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("needful.cli.app.build_app", lambda: fail)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(SystemExit, match="1"):
            main()
        out.write("still in the buffer")
    assert (tmp_path / "out").read_text() == ""
    assert "No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [FileNotFoundError(2, "No such file", "data.bin"), ConnectionError("gone"), OSError(12, "memory")],
)
def test_other_os_errors_propagate(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("needful.cli.app.build_app", lambda: fail)
    with pytest.raises(type(error)):
        main()


def test_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    process = start("envs", folder=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)
