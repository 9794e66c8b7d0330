"""Verbs import no heavy package that they do not use, and need no extra."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import needful, succeed
from needful.approaches.catalogue import find_approach
from needful.errors import MissingExtraError
from needful.sampler_learning.sampling import NeuralSampler
from needful.storage.model_directory import load_model

# Packages that are not installed with the core.
EXTRAS = ("torch", "scipy", "gymnasium", "mujoco", "ray")

PROGRAM = """
import atexit, sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))  # an import of these packages fails
atexit.register(lambda: print("matplotlib" in sys.modules, file=sys.stderr))
from needful.cli import main
main()
"""


def run_without_extras(*arguments: object) -> tuple[str, bool]:
    """Run a command in a process in which no extra is installed; return its output.

    The second value is whether matplotlib was imported.
    """
    command = [sys.executable, "-c", PROGRAM, ",".join(EXTRAS), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr.endswith("True\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with demonstrations of Satellites and a model that was learned without extras."""
    folder = tmp_path_factory.mktemp("satellites")
    succeed("collect", "satellites", "--demos", 10, "--out", folder / "demos.jsonl")
    _, drawn = run_without_extras("learn", folder / "demos.jsonl", "--out", folder / "model")
    assert not drawn
    return folder


def test_help_is_light() -> None:
    text, drawn = run_without_extras("--help")
    assert "reproduce" in text
    assert not drawn


def test_neural_samplers_are_learned_without_extras(folder: Path) -> None:
    samplers = load_model(folder / "model").model.samplers.values()
    assert any(isinstance(sampler, NeuralSampler) for sampler in samplers)


@pytest.mark.parametrize(
    ("verb", "options", "key", "wanted"),
    [("plan", ("--task", 0), "outcome", "solved"), ("eval", ("--tasks", 1), "success_rate", 1.0)],
)
def test_solving_tasks_imports_neither_extras_nor_matplotlib(
    folder: Path, verb: str, options: tuple[object, ...], key: str, wanted: object
) -> None:
    text, drawn = run_without_extras(verb, folder / "model", "satellites", *options, "--json")
    assert json.loads(text)[key] == wanted
    assert not drawn


def test_a_run_with_its_report_needs_no_extras(tmp_path: Path) -> None:
    out = tmp_path / "run"
    text, drawn = run_without_extras("run", "satellites", "--demos", 10, "--tasks", 2, "--out", out)
    assert "Solved 2/2" in text
    assert drawn
    assert (out / "report.html").is_file()


def test_without_torch_policies_are_not_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"needs torch.*pip install 'needful\[gnn\]'"):
        find_approach("gnn-shooting")
    result = needful("run", "screws", "--learner", "gnn-shooting", "--out", tmp_path / "run")
    assert result.code != 0
    assert "The learner 'gnn-shooting' needs torch" in result.error_text
    assert "pip install 'needful[gnn]'" in result.error_text
    assert not (tmp_path / "run").exists()


def test_without_gymnasium_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "needful.envs.gym", raising=False)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtraError, match=r"needs gymnasium.*pip install 'needful\[gym\]'"):
        import needful.envs.gym  # noqa: F401


def test_all_public_names_are_there_without_extras() -> None:
    program = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS})); from needful import *"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
