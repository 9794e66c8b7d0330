"""The source distribution holds what it takes to build the package, and what users install with."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of the source distribution, which is built from a copy, without a network."""
    folder = tmp_path_factory.mktemp("packed")
    source = folder / "source"
    ignored = shutil.ignore_patterns(
        ".*", "*.so", "__pycache__", "*.egg-info", "benchmarks", "build", "dist", "runs"
    )
    shutil.copytree(ROOT, source, ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("needful-*.tar.gz")
    with tarfile.open(archive) as tar:
        return {name.partition("/")[2] for name in tar.getnames()}


def files_below(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".so") and ".egg-info" not in str(path)
    }


def test_all_sources_are_there(packed: set[str]) -> None:
    wanted = files_below("src") | files_below("native")
    assert {"src/needful/py.typed", "native/a_star.hpp"} <= wanted
    assert wanted - packed == set()


def test_what_one_installs_with_is_there(packed: set[str]) -> None:
    assert {"LICENSE", "README.md", "constraints.txt", "pyproject.toml", "setup.py"} <= packed


def test_nothing_is_there_by_halves(packed: set[str]) -> None:
    assert not {name.partition("/")[0] for name in packed} & {"tests", "docs", "examples", "benchmarks"}
