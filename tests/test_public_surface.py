"""The public names of the packages, and the cost of importing them."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import needful
import needful.planning
from needful import errors

PACKAGES = pytest.mark.parametrize(
    "package", [needful, needful.planning], ids=lambda package: package.__name__
)
HEAVY = ("torch", "matplotlib", "scipy", "mujoco", "ray")


def kind_and_name(name: str) -> tuple[int, str]:
    """Constants come first, then classes, then functions; each in the order of their letters."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@PACKAGES
def test_the_exported_names_are_listed_in_order(package: ModuleType) -> None:
    assert package.__all__ == sorted(package.__all__, key=kind_and_name)
    assert len(set(package.__all__)) == len(package.__all__)


@PACKAGES
def test_the_stub_lists_the_public_names_and_their_home_modules(package: ModuleType) -> None:
    stub = ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    home_modules = {
        name.name: imported.module
        for imported in stub.body
        if isinstance(imported, ast.ImportFrom)
        for name in imported.names
    }
    assert set(home_modules) == set(package.__all__) <= set(dir(package))
    for name, module in home_modules.items():
        assert getattr(package, name) is getattr(import_module(str(module)), name)


@PACKAGES
def test_unknown_names(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'plam'"):
        package.plam  # noqa: B018


def test_importing_loads_next_to_nothing() -> None:
    look = "import sys, needful; print(sorted(name for name in sys.modules if name.startswith('needful')))"
    run = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert run.stdout == "['needful', 'needful.lazy_names']\n"


@PACKAGES
def test_everything_exported_is_documented(package: ModuleType) -> None:
    exported = {name: getattr(package, name) for name in package.__all__}
    bare = [
        name
        for name, value in exported.items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and not inspect.getdoc(value)
    ]
    assert bare == []


@pytest.mark.parametrize(
    "program",
    [
        "import needful",
        "import needful.cli",
        "from needful.cli.app import build_app; build_app()(['--help'])",
        "from needful.cli.app import build_app; build_app()(['run', '--help'])",
        "from needful.cli.app import build_app; build_app()(['reproduce', '--help'])",
        "from needful.cli.app import build_app; build_app()(['envs'])",
    ],
)
def test_heavy_packages_are_only_imported_where_they_are_needed(program: str) -> None:
    look = f"print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    command = [sys.executable, "-c", f"import atexit, sys\natexit.register(lambda: {look})\n{program}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stderr == "\n"


def test_the_tree_of_errors_is_the_one_that_is_drawn() -> None:
    assert errors.__doc__ is not None
    drawn: dict[str, str | None] = {}
    path: list[str] = []
    for line in errors.__doc__.splitlines():
        found = re.match(r"    ([ │├└─]*)([A-Z]\w+)  ", line)
        if found:
            depth = len(found[1]) // 4
            path[depth:] = [found[2]]
            drawn[found[2]] = path[depth - 1] if depth else None
    classes = {
        name: kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, Exception)
    }
    parents = {name: kind.__bases__[0].__name__ for name, kind in classes.items()}
    assert drawn == {**parents, "NeedfulError": None}
    assert set(classes) <= set(needful.__all__)
