"""Planning with a stored model does not import torch, although torch trained its samplers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import succeed
from needful.sampler_learning.sampling import NeuralSampler
from needful.storage.model_directory import load_model

PROGRAM = """
import atexit, sys
atexit.register(lambda: print(*sorted({"torch", "matplotlib"} & set(sys.modules)), file=sys.stderr))
from needful.cli import main
main()
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of Satellites with at least one neural sampler."""
    folder = tmp_path_factory.mktemp("satellites")
    succeed("collect", "satellites", "--demos", 10, "--out", folder / "demos.jsonl")
    succeed("learn", folder / "demos.jsonl", "--out", folder / "model")
    samplers = load_model(folder / "model").model.samplers.values()
    assert any(isinstance(sampler, NeuralSampler) for sampler in samplers)
    return folder / "model"


@pytest.mark.parametrize(
    ("verb", "options", "key", "wanted"),
    [("plan", ("--task", 0), "outcome", "solved"), ("eval", ("--tasks", 1), "success_rate", 1.0)],
)
def test_solving_tasks_imports_neither_torch_nor_matplotlib(
    model: Path, verb: str, options: tuple[object, ...], key: str, wanted: object
) -> None:
    arguments = (verb, model, "satellites", *options, "--json")
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)[key] == wanted
    assert run.stderr == "\n"
