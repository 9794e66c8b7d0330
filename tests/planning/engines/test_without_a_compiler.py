"""The package without a compiler: it installs, falls back to Python, and warns once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from needful.planning.engines.native_planner import ENGINE_BUILT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PLAN_TWICE = """
import needful
from needful.planning.engines.native_planner import ENGINE_BUILT
env = needful.make_environment("screws")
for task in env.tasks("test", 2, 0):
    print(needful.plan(task, env.oracle_model(), env.execute).outcome.value)
print("built" if ENGINE_BUILT else "not built", needful.__file__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without_a_compiler")
    source, target = folder / "source", folder / "target"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "native", source / "native")
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignored)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    command = [*pip, "--no-index", "--target", str(target), str(source)]
    done = subprocess.run(
        command, env={**os.environ, "CC": "false", "CXX": "false"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


def test_every_file_of_the_package_is_installed(installed: Path) -> None:
    def files(folder: Path) -> set[str]:
        found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        return {name for name in found if not name.endswith((".so", ".pyc"))}

    assert files(ROOT / "src" / "needful") - files(installed / "needful") == set()


def test_the_package_plans_in_python_and_warns_once(installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONWARNINGS": "default"}
    done = subprocess.run(
        [sys.executable, "-c", PLAN_TWICE], env=environment, capture_output=True, text=True, cwd=installed
    )
    assert done.returncode == 0, done.stderr
    *outcomes, built = done.stdout.splitlines()
    assert outcomes == ["solved", "solved"]
    assert built.startswith("not built")
    assert str(installed) in built
    assert done.stderr.count("without its C++ search engine") == 1


def test_the_command_warns_in_one_line(installed: Path) -> None:
    command = "from needful.cli import main; main()"
    arguments = ["run", "screws", "--demos", "3", "--tasks", "2", "--out", str(installed / "run"), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments],
        env={**os.environ, "PYTHONPATH": str(installed), "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        cwd=installed,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "C++" in line]
    assert len(lines) == 1
    assert lines[0].startswith("warning: needful was installed without its C++ search engine")


@pytest.mark.skipif(not ENGINE_BUILT, reason="needs the C++ search engine")
def test_the_same_model_is_learned_with_and_without_the_engine(installed: Path, tmp_path: Path) -> None:
    command = "from needful.cli import main; main()"
    sources = {"without": installed, "with": ROOT / "src"}
    for name, source in sources.items():
        arguments = ["run", "screws", "--demos", "5", "--tasks", "0", "--out", str(tmp_path / name)]
        done = subprocess.run(
            [sys.executable, "-c", command, *arguments],
            env={**os.environ, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert ("without its C++ search engine" in done.stderr) == (name == "without")
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / n / "model").iterdir()} for n in sources
    )
    assert one == other
