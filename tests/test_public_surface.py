"""What `import needful` gives, and what it costs."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

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


def test_what_type_checkers_are_told_is_what_is_there() -> None:
    stub = ast.parse(Path(needful.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    told = {
        name.name: imported.module
        for imported in stub.body
        if isinstance(imported, ast.ImportFrom)
        for name in imported.names
    }
    assert set(told) == set(needful.__all__) <= set(dir(needful))
    for name, module in told.items():
        assert getattr(needful, name) is getattr(import_module(str(module)), name)
    (exported,) = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert ast.literal_eval(exported) == needful.__all__


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'needful' has no attribute 'plam'"):
        needful.plam  # type: ignore[attr-defined]  # noqa: B018


def test_importing_loads_next_to_nothing() -> None:
    look = "import sys, needful; print(sorted(name for name in sys.modules if name.startswith('needful')))"
    run = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert run.stdout == "['needful']\n"


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
