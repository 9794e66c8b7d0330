"""The environment that the argument DOMAIN names: one of the catalogue, or one's own.

Load an environment of one's own: the class that `module:Class` or `file.py:Class` names.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType

import typer

from needful.envs.catalogue import make_environment
from needful.envs.checker import check_name
from needful.envs.contract import Environment
from needful.envs.findings import Findings, error_location
from needful.errors import InvalidInputError, NeedfulError, UnknownNameError

IMPORT_REMEDY = "Make the module importable."
MODULE_SEARCH_HINT = (
    "Modules are looked for in the current folder and on Python's path; or give path/file.py:Class."
)


@contextmanager
def custom_environment(reference: str, findings: Findings) -> Iterator[Environment | None]:
    """Yield the environment, or None if its module or its constructor raises, which is a finding.

    While the block runs, modules of the current folder and beside the file can be imported. Raises
    `UnknownNameError` if there is no such module, file or class.
    """
    place, _, class_name = reference.rpartition(":")
    if not place or not class_name:
        raise typer.BadParameter(
            f"expected MODULE:CLASS, for example my_env:MyEnv or folder/my_env.py:MyEnv, got {reference!r}."
        )
    is_file = place.endswith(".py")
    folders = [Path(place).parent.absolute(), Path.cwd()] if is_file else [Path.cwd()]
    before = list(sys.path)
    sys.path.extend(map(str, folders))  # behind all others: a neighbour queue.py is not the library's
    try:
        module = _import_file(Path(place), findings) if is_file else _import_module(place, findings)
        yield None if module is None else _make(module, place, class_name, findings)
    finally:
        sys.path[:] = before


def _import_file(file: Path, findings: Findings) -> ModuleType | None:
    if not file.is_file():
        raise UnknownNameError("file", str(file), map(str, file.parent.glob("*.py")))
    loaded = None
    with findings.catch("importing it", str(file), IMPORT_REMEDY):
        # The prefix keeps a file such as random.py from taking a library's place.
        spec = importlib.util.spec_from_file_location(f"own_environment_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module.__name__] = module
        spec.loader.exec_module(module)
        loaded = module
    return loaded


def _import_module(name: str, findings: Findings) -> ModuleType | None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise typer.BadParameter(f"{name!r} is no name of a module; the name of a file ends in .py.")
    module, missing = None, None
    with findings.catch("importing it", name, IMPORT_REMEDY):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            # Another module that is missing is the fault of the one that imports it.
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            missing = error.name
    if missing is not None:
        raise UnknownNameError("module", name, _modules_in(missing.rpartition(".")[0]), MODULE_SEARCH_HINT)
    if module is not None and getattr(module, "__file__", None) is None:  # a mere folder
        raise UnknownNameError("module", name, _modules_in(name), MODULE_SEARCH_HINT)
    return module


def _modules_in(package: str) -> list[str]:
    """Return the modules of a package that has been imported; without one, those of the current folder."""
    if not package:
        return [module.name for module in pkgutil.iter_modules([str(Path.cwd())])]
    folders = getattr(sys.modules.get(package), "__path__", ())
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(folders)]


def _make(module: ModuleType, place: str, class_name: str, findings: Findings) -> Environment | None:
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Environment)
        and value.__module__ != Environment.__module__
    }
    if class_name not in classes:
        raise UnknownNameError(f"subclass of Environment in {place}", class_name, classes)
    remedy = "Write all abstract methods, and a constructor that needs no arguments."
    made = None
    with findings.catch("making one", class_name, remedy):
        made = classes[class_name]()
    return made


@contextmanager
def chosen_environment(reference: str) -> Iterator[Environment]:
    """Yield the domain of that name, or the class that `module:Class` or `file.py:Class` names.

    While the block runs, modules beside that file and in the current folder can be imported, and what
    the environment prints goes to stderr: results are printed after it.
    """
    if ":" not in reference:
        yield make_environment(reference)
        return
    findings = Findings()
    with redirect_stdout(sys.stderr), custom_environment(reference, findings) as environment:
        if environment is not None:
            check_name(environment, findings)
        if findings.all():
            found = " ".join(map(str, findings.all()))
            raise InvalidInputError(f"{reference} cannot be used. {found}")
        assert environment is not None
        with _explaining_failures(reference):
            yield environment


@contextmanager
def _explaining_failures(reference: str) -> Iterator[None]:
    """Turn what an environment of one's own raises into an error that says where and what helps."""
    try:
        yield
    except (typer.BadParameter, typer.Exit):
        raise
    except Exception as error:
        place = error_location(error)
        if isinstance(error, NeedfulError) and not place:
            raise
        what = f"{type(error).__name__}: {error}".strip(" .:")
        whose = f"{reference} raised" if place else f"With {reference} there was"
        explained = InvalidInputError(f"{whose} {what}{place}. Run `needful check-env {reference}`.")
        for note in getattr(error, "__notes__", ()):
            explained.add_note(note)
        raise explained from error
