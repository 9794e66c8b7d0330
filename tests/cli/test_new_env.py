"""`needful new-env` writes an environment that works without edits."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import WARNINGS_ARE_ERRORS, files_below, needful, succeed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=["oracle", "script", "file"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that the command has just written, with the given source of demonstrations."""
    folder = tmp_path_factory.mktemp(request.param) / "cups"
    result = succeed("new-env", "cup_stacking", "--out", folder, "--demonstrations", request.param)
    assert f"needful check-env {folder}/cup_stacking.py:CupStacking" in result.out
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_written_files(written: Path) -> None:
    files = {"README.md", "cup_stacking.py", "test_cup_stacking.py"}
    source = written.parent.name.rstrip("0123456789")
    assert set(files_below(written)) == files | (
        {"cup_stacking_recordings.py"} if source == "file" else set()
    )
    assert not any("$" in text.decode() for text in files_below(written).values())
    assert "Edit `cup_stacking.py`" in (written / "README.md").read_text()
    text = (written / "cup_stacking.py").read_text()
    assert "class CupStacking(Environment):" in text
    assert 'name = "cup-stacking"' in text
    assert ("def oracle_model(" in text, "def demonstrate(" in text) == (
        source == "oracle",
        source == "script",
    )


def test_the_environment_has_no_findings(written: Path) -> None:
    assert "no findings" in succeed("check-env", f"{written}/cup_stacking.py:CupStacking").out


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "--isolated", "--no-cache", "."),
        ("ruff", "format", "--isolated", "--no-cache", "--check", "."),
        ("pytest", "-q", "-p", "no:cacheprovider", *WARNINGS_ARE_ERRORS),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_the_written_files_pass_linters_and_tests(written: Path, command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=written, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_commands_in_the_readme_work(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(written, tmp_path / "copy")
    monkeypatch.chdir(folder)
    lines = [line.split() for line in (folder / "README.md").read_text().splitlines()]
    for line in lines:
        if line[:1] == ["python"]:
            subprocess.run([sys.executable, *line[1:]], check=True)
        elif line[:1] == ["needful"]:
            succeed(*line[1:], *(["--tasks", 2, "--out", "run"] if line[1] == "run" else []))
    assert json.loads((folder / "run" / "summary.json").read_text())["solved"] == 2


@pytest.mark.slow
def test_the_written_files_pass_the_type_checker(written: Path) -> None:
    # Run in the checkout, whose cache of checked modules makes it fast.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(written)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_default_folder_has_the_name(here: Path) -> None:
    result = succeed("new-env", "garden", "--json")
    assert result.json == {
        "files": ["garden/garden.py", "garden/test_garden.py", "garden/README.md"],
        "environment": "garden/garden.py:Garden",
    }
    assert succeed("check-env", result.json["environment"], "--tasks", 1)


def test_an_existing_folder_is_replaced_only_with_force(here: Path) -> None:
    succeed("new-env", "garden")
    (here / "garden" / "README.md").unlink()
    result = needful("new-env", "garden")
    assert (result.code, result.out) == (2, "")
    assert "garden" in result.error_text
    assert "exists" in result.error_text
    succeed("new-env", "garden", "--force")
    assert (here / "garden" / "README.md").exists()


def test_an_environment_with_another_source_is_replaced(here: Path) -> None:
    succeed("new-env", "garden", "--demonstrations", "file")
    succeed("new-env", "garden", "--demonstrations", "script", "--force")
    assert sorted(files_below(here / "garden")) == ["README.md", "garden.py", "test_garden.py"]


def test_an_unknown_source_is_refused(here: Path) -> None:
    result = needful("new-env", "garden", "--demonstrations", "scripted")
    assert (result.code, files_below(here)) == (2, {})
    assert "Did you mean 'script'? Known: file, oracle, script." in result.err


@pytest.mark.parametrize("file", ["garden.py", "test_garden.py", "README.md", "notes.txt"])
def test_an_edited_folder_is_never_replaced(here: Path, file: str) -> None:
    succeed("new-env", "garden")
    with (here / "garden" / file).open("a") as edited:
        edited.write("\n# mine\n")
    before = files_below(here)
    result = needful("new-env", "garden", "--force")
    assert (result.code, result.out) == (2, "")
    assert f"'{file}'" in result.error_text
    assert "an unedited environment" in result.error_text
    assert files_below(here) == before


def test_only_an_environment_of_that_name_is_replaced(here: Path) -> None:
    succeed("new-env", "garden")
    result = needful("new-env", "meadow", "--out", "garden", "--force")
    assert (result.code, result.out) == (2, "")
    assert "'README.md'" in result.error_text
    assert "an unedited environment" in result.error_text
    assert (here / "garden" / "garden.py").exists()


def test_the_examples_in_the_help_work_one_after_the_other(here: Path) -> None:
    for verb in ("new-env", "check-env"):
        words = " ".join(succeed(verb, "--help").out.split())
        succeed(*words.split("Example: needful ")[1].split())


@pytest.mark.parametrize(
    ("name", "reason", "suggestion"),
    [
        ("cup-stacking", "is not a module name", "cup_stacking"),
        ("CupStacking", "is not a module name", "cup_stacking"),
        ("cup stacking!", "is not a module name", "cup_stacking"),
        ("2048", "is not a module name", "env_2048"),
        ("../garden", "is not a module name", "garden"),
        ("", "is not a module name", "env"),
        ("lambda", "is a Python keyword", "lambda_domain"),
        ("random", "A module 'random' exists already", "random_domain"),
        ("needful", "A module 'needful' exists already", "needful_domain"),
        ("State", "is not a module name", "state_domain"),
        ("environment", "The class name 'Environment'", "environment_domain"),
    ],
)
def test_an_invalid_name_is_refused_with_a_valid_suggestion(
    here: Path, name: str, reason: str, suggestion: str
) -> None:
    result = needful("new-env", name)
    assert (result.code, result.out, files_below(here)) == (2, "", {})
    assert reason in result.error_text
    assert result.error_text.endswith(f"Try {suggestion!r}.")
    succeed("new-env", suggestion)
