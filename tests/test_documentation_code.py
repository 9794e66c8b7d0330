"""Run the code of the documentation: every block of every page, and the examples.

`documentation_pages` describes the markers of blocks. Blocks of the language `text` show expected output.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_line import WARNINGS_ARE_ERRORS, succeed
from documentation_pages import EXAMPLES, PAGES, Block, blocks_of, page_name

# Parts of the output of each example.
EXAMPLE_OUTPUT = {
    "01_plan_with_given_operators": [
        "forgets:    HoldingScrew(*:gripper, *:screw)",
        "Abstract plan: MoveToScrew",
        "atoms that hold, 1 are necessary",
        "solved",
    ],
    "02_learn_operators_from_a_file": [
        "necessary: 4 operators, coverage 100%",
        "ci, which predicts every change: 13 operators",
    ],
    "03_learn_samplers": ["Solved 5 of 5 unseen tasks"],
    "04_add_an_environment": [
        "forgets:    Near(?x0, *:lamp)",
        "Solved 10 of 10 unseen tasks.",
    ],
    "05_explain_and_export": [
        "needed by goal",
        "does not predict ScrewInReceptacle: 8 times",
        "(:action MoveToScrew",
    ],
    "06_reproduce_a_table_row": ["necessary 0 100%", "necessary 1 100%", "| Screws | **100.0 (0.0)**"],
    "07_closed_loop": [
        "0. plan: There is no plan yet.",
        "had no effect and is tried again.",
        "AgentResult(solved, ",
    ],
}
SLOW_EXAMPLES = {"06_reproduce_a_table_row"}
SLOW_PAGES = {"docs/tutorial.md", "README.md"}


class PageRunner:
    """Runs the blocks of a page in order, with shared variables, in an empty folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.variables: dict[str, object] = {"__name__": "page"}
        self.monkeypatch = monkeypatch
        self.output = ""
        self.enter(folder)

    def enter(self, folder: Path) -> None:
        self.folder = folder
        self.monkeypatch.chdir(folder)
        self.monkeypatch.syspath_prepend(folder)

    def run(self, block: Block) -> None:
        if block.folder:
            self.enter(self.folder / block.folder)
        if block.language == "console":
            for line in block.code.splitlines():
                self.run_command(line)
        elif block.file:
            with (self.folder / block.file).open("a") as file:
                file.write(block.code + "\n")
        else:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.code, "page", "exec"), self.variables)
            self.output += printed.getvalue()

    def run_command(self, line: str) -> None:
        prompt, program, *arguments = line.split("#")[0].split()
        assert prompt == "$", line
        if program == "needful":
            self.output += succeed(*arguments).out
            return
        assert program == "python", f"cannot run {line!r}: mark it with <!-- not run: reason -->"
        done = subprocess.run(
            [sys.executable, *WARNINGS_ARE_ERRORS, *arguments], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        self.output += done.stdout


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PageRunner]:
    """Forget the modules that a page wrote, so that other pages can write modules of the same name."""
    yield PageRunner(tmp_path, monkeypatch)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def check_tutorial_files(folder: Path) -> None:
    summary = json.loads((folder / "garden" / "summary.json").read_text())
    assert (summary["solved"], summary["operators"]) == (20, 4)
    assert "(:action Pour" in (folder / "pddl" / "domain.pddl").read_text()
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")


def check_exported_problem(folder: Path) -> None:
    assert "(define (problem" in (folder / "ground" / "problem.pddl").read_text()


FILE_CHECKS: dict[str, Callable[[Path], None]] = {
    "docs/tutorial.md": check_tutorial_files,
    "docs/interoperability.md": check_exported_problem,
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page_name(page) in SLOW_PAGES else ())
        for page in PAGES
        if any(block.runs for block in blocks_of(page))
    ],
    ids=page_name,
)
def test_the_code_of_a_page_runs(page: Path, runner: PageRunner, tmp_path: Path) -> None:
    blocks = blocks_of(page)
    for block in blocks:
        if block.runs:
            runner.run(block)
    expected = [line for block in blocks if block.language == "text" for line in block.code.splitlines()]
    assert [line for line in expected if line not in runner.output] == []
    FILE_CHECKS.get(page_name(page), lambda folder: None)(tmp_path)


def test_every_example_is_tested() -> None:
    assert sorted(file.stem for file in EXAMPLES.glob("*.py")) == sorted(EXAMPLE_OUTPUT)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW_EXAMPLES else ())
        for name in EXAMPLE_OUTPUT
    ],
)
def test_an_example_runs_in_any_folder(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *WARNINGS_ARE_ERRORS, EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for line in EXAMPLE_OUTPUT[name]:
        assert line in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_environment_of_an_example_keeps_its_contract() -> None:
    printed = succeed("check-env", f"{EXAMPLES / '04_add_an_environment.py'}:Corridor")
    assert "no findings" in printed.out
