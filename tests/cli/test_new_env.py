"""`needful new-env` writes an environment that works before anything is edited."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import files_below, needful, succeed


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder fresh from the command."""
    folder = tmp_path_factory.mktemp("new") / "cups"
    said = succeed("new-env", "cup_stacking", "--out", folder)
    assert f"needful check-env {folder}/cup_stacking.py:CupStacking" in said.out
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_files_and_what_to_edit(written: Path) -> None:
    assert sorted(files_below(written)) == ["README.md", "cup_stacking.py", "test_cup_stacking.py"]
    assert "Edit `cup_stacking.py`" in (written / "README.md").read_text()
    source = (written / "cup_stacking.py").read_text()
    assert "class CupStacking(Environment):" in source
    assert 'name = "cup-stacking"' in source
    assert "$" not in source


def test_the_environment_has_no_findings(written: Path) -> None:
    assert "no findings" in succeed("check-env", f"{written}/cup_stacking.py:CupStacking").out


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "--isolated", "--no-cache", "."),
        ("ruff", "format", "--isolated", "--no-cache", "--check", "."),
        ("mypy", "--strict", "--cache-dir", "../mypy", "."),
        ("pytest", "-q", "-p", "no:cacheprovider", "-W", "error"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_the_files_pass_what_people_run(written: Path, command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=written, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_default_folder_has_the_name(here: Path) -> None:
    said = succeed("new-env", "garden", "--json")
    assert said.json == {
        "files": ["garden/garden.py", "garden/test_garden.py", "garden/README.md"],
        "environment": "garden/garden.py:Garden",
    }
    assert succeed("check-env", said.json["environment"], "--tasks", 1)


def test_a_folder_that_is_there_stays_unless_told_otherwise(here: Path) -> None:
    succeed("new-env", "garden")
    (here / "garden" / "README.md").unlink()
    said = needful("new-env", "garden")
    assert (said.code, said.out) == (2, "")
    assert "garden exists already" in said.complaint
    succeed("new-env", "garden", "--force")
    assert (here / "garden" / "README.md").exists()


@pytest.mark.parametrize("file", ["garden.py", "test_garden.py", "README.md", "notes.txt"])
def test_what_was_edited_is_never_replaced(here: Path, file: str) -> None:
    succeed("new-env", "garden")
    with (here / "garden" / file).open("a") as edited:
        edited.write("\n# mine\n")
    before = files_below(here)
    said = needful("new-env", "garden", "--force")
    assert (said.code, said.out) == (2, "")
    assert f"garden holds '{file}', which is no part of an unedited environment" in said.complaint
    assert files_below(here) == before


def test_only_an_environment_of_that_name_is_replaced(here: Path) -> None:
    succeed("new-env", "garden")
    said = needful("new-env", "meadow", "--out", "garden", "--force")
    assert (said.code, said.out) == (2, "")
    assert "garden holds 'README.md', which is no part of an unedited environment" in said.complaint
    assert (here / "garden" / "garden.py").exists()


def test_the_examples_in_the_help_work_one_after_the_other(here: Path) -> None:
    for verb in ("new-env", "check-env"):
        words = " ".join(succeed(verb, "--help").out.split())
        succeed(*words.split("Example: needful ")[1].split())


@pytest.mark.parametrize(
    ("name", "objection", "suggestion"),
    [
        ("cup-stacking", "is no name of a module", "cup_stacking"),
        ("CupStacking", "is no name of a module", "cup_stacking"),
        ("cup stacking!", "is no name of a module", "cup_stacking"),
        ("2048", "is no name of a module", "env_2048"),
        ("../garden", "is no name of a module", "garden"),
        ("", "is no name of a module", "env"),
        ("lambda", "is a word of Python", "lambda_domain"),
        ("random", "There is a module 'random' already", "random_domain"),
        ("needful", "There is a module 'needful' already", "needful_domain"),
        ("State", "is no name of a module", "state_domain"),
        ("environment", "Its class would be 'Environment'", "environment_domain"),
    ],
)
def test_a_name_that_cannot_be_used_is_answered_with_one_that_can(
    here: Path, name: str, objection: str, suggestion: str
) -> None:
    said = needful("new-env", name)
    assert (said.code, said.out, files_below(here)) == (2, "", {})
    assert objection in said.complaint
    assert said.complaint.endswith(f"Try {suggestion!r}.")
    succeed("new-env", suggestion)
