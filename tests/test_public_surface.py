"""What `import needful` gives, and what it costs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from types import ModuleType

import pytest

import needful
from needful import errors

HEAVY = ("torch", "matplotlib", "scipy", "mujoco", "ray")


def kind_and_name(name: str) -> tuple[int, str]:
    """Constants come first, then classes, then functions; each in the order of their letters."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_the_exported_names_are_listed_in_order() -> None:
    assert needful.__all__ == sorted(needful.__all__, key=kind_and_name)
    assert len(set(needful.__all__)) == len(needful.__all__)


def test_what_is_there_is_what_is_exported() -> None:
    there = {
        name
        for name, value in vars(needful).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert there == set(needful.__all__)


def test_everything_exported_is_documented() -> None:
    bare = [
        name
        for name in needful.__all__
        if (inspect.isclass(getattr(needful, name)) or inspect.isfunction(getattr(needful, name)))
        and not inspect.getdoc(getattr(needful, name))
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
