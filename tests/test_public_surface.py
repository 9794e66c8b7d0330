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
from api_reference import public_names
from documentation_pages import EXAMPLES, PAGES, blocks_of, page_name
from needful import errors

PACKAGES = pytest.mark.parametrize(
    "package", [needful, needful.planning], ids=lambda package: package.__name__
)
IMPORT_FROM = re.compile(r"^ *from (needful[\w.]*) import (\([^)]*\)|[^#\n]*)", re.MULTILINE)
IMPORT_MODULE = re.compile(r"^ *import (needful[\w.]*)", re.MULTILINE)
ATTRIBUTE = re.compile(r"(?<![\w./])needful\.(\w+)")
MAX_REPR_LENGTH = 200
HEAVY = ("torch", "matplotlib", "scipy", "gymnasium", "mujoco", "ray")


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


def documented_code() -> dict[str, str]:
    """Return the Python code of each page and example."""
    pages = {
        page_name(page): "\n".join(block.code for block in blocks_of(page) if block.language == "python")
        for page in PAGES
    }
    return pages | {page_name(file): file.read_text() for file in EXAMPLES.glob("*.py")}


def used_names(code: str) -> set[tuple[str, str]]:
    """Return the names of `needful` that code uses, each with the module it takes them from."""
    imported = {
        (module, name)
        for module, names in IMPORT_FROM.findall(code)
        for name in re.findall(r"(?:^|,)\s*(\w+)", names.strip("()"))
    }
    modules = {tuple(module.rpartition(".")[::2]) for module in IMPORT_MODULE.findall(code)}
    rest = IMPORT_MODULE.sub("", IMPORT_FROM.sub("", code))
    attributes = {("needful", name) for name in ATTRIBUTE.findall(rest)}
    return imported | attributes | {(module, name) for module, name in modules if module}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from needful import (\n    plan as p,\n    Task,\n)", {("needful", "plan"), ("needful", "Task")}),
        ("import needful.envs.gym", {("needful.envs", "gym")}),
        ("import needful\nneedful.plan(needful.Task)", {("needful", "plan"), ("needful", "Task")}),
        ("    from needful.a.b import c  # why", {("needful.a.b", "c")}),
    ],
)
def test_used_names_are_found(code: str, expected: set[tuple[str, str]]) -> None:
    assert used_names(code) == expected


def test_documentation_and_examples_use_public_names_only() -> None:
    public = public_names()
    modules = {module.rpartition(".")[::2] for module in public}
    allowed = modules | {(module, name) for module, names in public.items() for name in names}
    used = {(page, *one) for page, code in documented_code().items() for one in used_names(code)}
    assert len(used) > 100
    assert sorted(one for one in used if one[1:] not in allowed) == []


def test_documented_modules_have_the_listed_names() -> None:
    for module, names in public_names().items():
        assert [name for name in names if not hasattr(import_module(module), name)] == []


def test_a_learned_model_has_a_short_repr() -> None:
    env = needful.make_environment("screws")
    oracle = needful.OracleDemonstrator(env)
    collected = needful.collect_demonstrations(env, oracle, count=3, seed=0)
    learned = needful.learn_model(env.vocabulary, collected.demonstrations)
    task = env.task("test", index=0, seed=0)
    result = needful.plan(task, learned.model, env.execute)
    for value in (learned, learned.model, learned.operators, collected, env.vocabulary, task, result):
        text = repr(value)
        assert len(text) <= MAX_REPR_LENGTH, text
        assert "\n" not in text
