"""Completion, colours, options with several words, progress lines, and suggestions."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from command_line import COLOUR, PROGRAM, needful
from needful.cli.app import _with_repeated_options
from needful.cli.console import ProgressBars, progress_lines
from needful.core.objects import counted
from needful.errors import nearest_name

DOMAINS = ("screws", "painting", "sorting-books", "cluttered-painting")


def complete(*words: str) -> list[str]:
    """Return the completions that a Bash shell gets for the last word."""
    environment = {
        **os.environ,
        "_NEEDFUL_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("needful", *words)),
        "COMP_CWORD": str(len(words)),
    }
    program = PROGRAM.replace("main()", "import sys; sys.argv[0] = 'needful'; main()")
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    return found.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("vie",), ["view"]),
        (("run", "pain"), ["painting"]),
        (("run", "screws", "--learner", "gnn-s"), ["gnn-shooting"]),
        (("reproduce", "--domains", "screws,pain"), ["screws,painting"]),
    ],
)
def test_names_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    assert complete(*words) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("--domains a b --seeds 2", "--domains a --domains b --seeds 2"),
        ("--domains a,b c", "--domains a,b --domains c"),
        ("--seeds 2 --domains a", "--seeds 2 --domains a"),
        ("--domains=a --seeds 2", "--domains=a --seeds 2"),
        ("--seeds 2 3", "--seeds 2 3"),
    ],
)
def test_several_words_after_one_option(given: str, expected: str) -> None:
    assert list(_with_repeated_options(given.split(), {"--domains"})) == expected.split()


def test_unknown_names_among_several_words() -> None:
    result = needful("reproduce", "--domains", "painting", "scrows", "--learners", "ci")
    assert result.code == 2
    assert "Unknown domain 'scrows'. Did you mean 'screws'?" in result.err


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("scrows", "screws"),
        ("books", "sorting-books"),
        ("Painting", "painting"),
        ("paint", "painting"),
        ("xyzzy", None),
        ("so", None),
    ],
)
def test_suggestions_are_near(name: str, nearest: str | None) -> None:
    assert nearest_name(name, DOMAINS) == nearest


def test_numbers_and_nouns() -> None:
    assert [counted(count, "job") for count in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]


def plan_output(screws: Path, **environment: str) -> str:
    """Return what `needful plan` prints on a terminal."""
    terminal, stdout = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "plan", str(screws), "screws"],
        env={**os.environ, "TERM": "xterm", **environment},
        stdout=stdout,
        stderr=subprocess.DEVNULL,
    )
    os.close(stdout)
    chunks = []
    try:
        while chunk := os.read(terminal, 65536):
            chunks.append(chunk)
    except OSError:  # raised by Linux when the other side is closed
        pass
    os.close(terminal)
    assert process.wait() == 0
    return b"".join(chunks).decode().replace("\r", "")


def test_colours_only_on_a_terminal_and_without_no_color(screws: Path) -> None:
    coloured = plan_output(screws)
    assert "\x1b[32mSolved." in coloured
    plain = plan_output(screws, NO_COLOR="1")
    assert COLOUR.sub("", coloured) == plain
    assert "\x1b" not in plain
    assert needful("plan", screws, "screws").out == plain


def test_progress_lines_where_stderr_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    bars = ProgressBars(Progress(console=Console(file=io.StringIO()), disable=True))
    with progress_lines(bars.line, seconds=0.001):
        report = bars.stage("Solving unseen tasks", 5)
        report(2)
        while "2 of 5" not in stream.getvalue():
            pass
    assert "Solving unseen tasks: 2 of 5, 0 s\n" in stream.getvalue()
    shown = stream.getvalue()
    report(3)
    assert stream.getvalue() == shown  # nothing is printed after the block
