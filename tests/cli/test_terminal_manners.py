"""Completion, colours, options with several words, progress lines, and suggestions."""

from __future__ import annotations

import io
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from command_line import COLOUR, PROGRAM, needful
from needful.approaches.catalogue import APPROACHES
from needful.cli.app import _with_repeated_options
from needful.cli.console import ProgressBars, progress_lines
from needful.core.objects import counted
from needful.errors import nearest_name

DOMAINS = ("screws", "painting", "sorting-books", "cluttered-painting")


NEEDFUL = PROGRAM.replace("main()", "import sys; sys.argv[0] = 'needful'; main()")


def complete(shell: str, **environment: str) -> list[str]:
    """Return the completions that a shell gets for the current word."""
    found = subprocess.run(
        [sys.executable, "-c", NEEDFUL],
        env={**os.environ, "_NEEDFUL_COMPLETE": f"complete_{shell}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vie", ["view"]),
        ("run pain", ["painting"]),
        ("run screws --learner gnn-s", ["gnn-shooting"]),
        ("run screws --learner = gnn-s", ["gnn-shooting"]),  # Bash splits at equals signs
        ("run screws --learner=gnn-s", ["--learner=gnn-shooting"]),  # unless the user forbids it
        ("run --learner = necessary scr", ["screws"]),
        ("reproduce --domains screws,pain", ["screws,painting"]),
        ("reproduce --domains = screws,pain", ["screws,painting"]),
    ],
)
def test_bash_completes_names(words: str, expected: list[str]) -> None:
    typed = ["needful", *words.split()]
    index = str(len(typed) - 1)
    assert complete("bash", COMP_WORDS="\n".join(typed), COMP_CWORD=index) == expected


def test_bash_completes_all_names_after_an_equals_sign() -> None:
    typed = "needful\nrun\n--learner\n=\n--seed\n3"  # the cursor is before --seed
    assert complete("bash", COMP_WORDS=typed, COMP_CWORD="3") == list(APPROACHES)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("needful run screws --learner=gnn-s", "--learner=gnn-shooting"),
        ("needful run screws --learner gnn-s", "gnn-shooting"),
        ("needful run --learner=necessary scr", "screws"),
    ],
)
def test_zsh_and_fish_complete_whole_words(typed: str, expected: str) -> None:
    fish = complete("fish", _TYPER_COMPLETE_ARGS=typed, _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert fish == [expected]
    zsh = " ".join(complete("zsh", _TYPER_COMPLETE_ARGS=typed))
    assert zsh == f"""_arguments '*: :(("{expected}"))'"""


def press_tab_in_bash(folder: Path, typed: str, expected: str) -> None:
    """Type a text and a tab in an interactive Bash, and wait until the expected text appears."""
    program = folder / "needful"
    program.write_text(f"#!{sys.executable}\n{NEEDFUL}\n")
    program.chmod(0o755)
    script = needful_script("bash")
    (folder / "start").write_text(f"PS1='ready> '\nPATH={folder}:$PATH\n{script}\n")
    terminal, shell_side = pty.openpty()
    shell = subprocess.Popen(
        ["bash", "--rcfile", str(folder / "start"), "-i"],
        env={**os.environ, "TERM": "dumb"},
        stdin=shell_side,
        stdout=shell_side,
        stderr=shell_side,
        start_new_session=True,
    )
    os.close(shell_side)
    try:
        read_until(terminal, "ready> ")
        os.write(terminal, f"{typed}\t".encode())
        read_until(terminal, expected)
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)


def needful_script(shell: str) -> str:
    """Return the completion script of a shell."""
    return subprocess.run(
        [sys.executable, "-c", NEEDFUL, "--show-completion", shell],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def read_until(terminal: int, expected: str, seconds: float = 30.0) -> None:
    """Read from a terminal until a text appears."""
    found, end = "", time.monotonic() + seconds
    while expected not in found:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, found
        found += os.read(terminal, 65536).decode()


@pytest.mark.skipif(shutil.which("bash") is None, reason="Bash is not installed")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("needful run screws --learner=gnn-s", "--learner=gnn-shooting "),
        ("needful reproduce --domains=screws,pain", "--domains=screws,painting "),
    ],
)
def test_a_tab_in_bash_completes_after_an_equals_sign(tmp_path: Path, typed: str, expected: str) -> None:
    press_tab_in_bash(tmp_path, typed, expected)


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
