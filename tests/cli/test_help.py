"""`--help`, `--version` and `needful envs`."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from command_line import needful, succeed
from needful.cli.app import build_app
from needful.envs.catalogue import CATALOGUE, environment_names

# Each verb uses files that earlier ones wrote.
CHAIN = ["run", "envs", "collect", "learn", "eval", "plan", "export", "explain"]
VERBS = [str(command.name) for command in build_app().registered_commands]


def example(verb: str) -> str:
    """Return the example at the end of a verb's help."""
    text = " ".join(succeed(verb, "--help").out.split())
    found = re.search(r"Example: needful (.*)$", text)
    assert found is not None
    return found[1]


def test_help_lists_the_verbs_in_the_order_of_use() -> None:
    assert VERBS[: len(CHAIN)] == CHAIN
    text = succeed("--help").out
    assert re.findall(rf"^\W*({'|'.join(VERBS)}) +[A-Z]", text, re.MULTILINE) == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_an_example_and_a_usage_line(verb: str) -> None:
    assert example(verb).split()[0] == verb
    assert f"Usage: needful {verb} " in succeed(verb, "--help").out


@pytest.mark.parametrize("verb", VERBS)
def test_no_word_of_the_help_is_cut_off(verb: str) -> None:
    assert "…" not in succeed(verb, "--help").out


def test_examples_work_in_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for verb in CHAIN:
        # Smaller numbers are faster.
        succeed(*re.sub(r"(--demos|--tasks) 50", r"\1 6", example(verb)).split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demos.jsonl.gz", "model", "pddl", "runs"]


def test_help_is_printed_without_a_verb() -> None:
    result = needful()
    assert result.code == 2
    assert "Usage: needful" in result.out + result.err


def test_an_unknown_verb_is_wrong_usage() -> None:
    result = needful("lern")
    assert (result.code, result.out) == (2, "")
    assert "lern" in result.error_text


def test_version() -> None:
    assert succeed("--version").out == f"needful {version('needful')}\n"


def test_command_is_installed() -> None:
    command = Path(sys.executable).parent / "needful"
    result = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"needful {version('needful')}\n"
    assert result.stderr == ""


def test_domains_are_listed_with_sizes() -> None:
    result = succeed("envs")
    rows = succeed("envs", "--json").json
    assert tuple(rows) == environment_names()
    assert rows["cluttered-1d"] == {
        "types": 2,
        "predicates": 3,
        "controllers": 1,
        "objects": {"train": "16", "test": "16"},
        "description": CATALOGUE["cluttered-1d"].description,
    }
    for name, row in rows.items():
        assert f"{name}\n  {row['description']}\n  types: {row['types']}, " in result.out


def test_required_extra_is_listed() -> None:
    assert succeed("envs", "--json").json["sorting-books"]["extra"] == "household"
