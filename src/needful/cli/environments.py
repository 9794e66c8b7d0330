"""Find the environment for the argument DOMAIN: a built-in name, `module:Class` or `file.py:Class`."""

from __future__ import annotations

import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType

import typer

from needful.core.demonstrations import Demonstration
from needful.envs.catalogue import check_name, make_environment
from needful.envs.contract import Environment
from needful.envs.findings import Findings, error_location
from needful.errors import DemonstrationError, InvalidInputError, NeedfulError, UnknownNameError
from needful.storage.demonstrations import read_demonstrations

IMPORT_REMEDY = "Correct the module so that Python can import it."
MODULE_SEARCH_HINT = (
    "Modules are searched in the current folder and on Python's path. Or give path/file.py:Class."
)


@contextmanager
def custom_environment(reference: str, findings: Findings) -> Iterator[Environment | None]:
    """Yield an instance of the user's environment class; `reference` is `module:Class` or `file.py:Class`.

    Raises `UnknownNameError` if there is no such module, file or class. If importing the module or
    constructing the instance raises an exception, this function adds the exception to `findings` (the
    problems to report) and yields None. During the `with` block, modules in the current folder and in the
    folder of `file.py` can be imported.
    """
    source, _, class_name = reference.rpartition(":")
    if not source or not class_name:
        raise typer.BadParameter(
            f"expected MODULE:CLASS, for example my_env:MyEnv or folder/my_env.py:MyEnv, got {reference!r}."
        )
    is_file = source.endswith(".py")
    folders = [Path(source).parent.absolute(), Path.cwd()] if is_file else [Path.cwd()]
    before = list(sys.path)
    # Append the folders, so that a user's queue.py does not hide Python's module `queue`.
    sys.path.extend(map(str, folders))
    try:
        module = _import_file(Path(source), findings) if is_file else _import_module(source, findings)
        yield None if module is None else _make(module, source, class_name, findings)
    finally:
        sys.path[:] = before


def _import_file(file: Path, findings: Findings) -> ModuleType | None:
    if not file.is_file():
        raise UnknownNameError("file", str(file), map(str, file.parent.glob("*.py")))
    loaded = None
    with findings.catch("importing it", str(file), IMPORT_REMEDY):
        # The module's name gets a prefix, so that a user's random.py does not replace Python's `random`.
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
        raise typer.BadParameter(f"{name!r} is not a module name. A file name must end in .py.")
    module, missing = None, None
    with findings.catch("importing it", name, IMPORT_REMEDY):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            # Raise again if the missing module is not `name` itself, but one that `name` imports.
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            missing = error.name
    if missing is not None:
        raise UnknownNameError("module", name, _modules_in(missing.rpartition(".")[0]), MODULE_SEARCH_HINT)
    if module is not None and getattr(module, "__file__", None) is None:  # a folder, not a module
        raise UnknownNameError("module", name, _modules_in(name), MODULE_SEARCH_HINT)
    return module


def _modules_in(package: str) -> list[str]:
    """Return the names of the modules in a package, or in the current folder if `package` is empty."""
    if not package:
        return [module.name for module in pkgutil.iter_modules([str(Path.cwd())])]
    folders = getattr(sys.modules.get(package), "__path__", ())
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(folders)]


def _make(module: ModuleType, source: str, class_name: str, findings: Findings) -> Environment | None:
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Environment)
        and value.__module__ != Environment.__module__
    }
    if class_name not in classes:
        raise UnknownNameError(
            "environment class", class_name, classes, f"The class in {source} must derive from Environment."
        )
    remedy = "Implement all abstract methods and a constructor without required arguments."
    made = None
    with findings.catch("making one", class_name, remedy):
        made = classes[class_name]()
    return made


@contextmanager
def chosen_environment(reference: str) -> Iterator[Environment]:
    """Yield the environment that `reference`, the command line argument DOMAIN, names.

    For a user's class, two things change during the `with` block. Modules in the current folder and in the
    folder of the class's file can be imported. Everything printed goes to stderr, so that the output of the
    user's code does not mix with the results on stdout.
    """
    if ":" not in reference:
        if reference.endswith(".py"):
            raise typer.BadParameter(
                f"{reference!r} names a file. Add the name of its environment class: {reference}:MyEnv"
            )
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


def demonstrations_for(environment: Environment, file: Path) -> tuple[Demonstration, ...]:
    """Read the demonstrations in a file; raise if they do not fit the vocabulary of the environment."""
    data = read_demonstrations(file)
    try:
        return data.bound_to(environment.vocabulary).demonstrations
    except DemonstrationError as error:
        raise DemonstrationError(f"{file} does not fit the domain {environment.name!r}. {error}") from error


@contextmanager
def _explaining_failures(reference: str) -> Iterator[None]:
    """Convert exceptions of the user's environment into errors that name the code line and a remedy."""
    try:
        yield
    except (typer.BadParameter, typer.Exit):
        raise
    except Exception as error:
        location = error_location(error)
        if isinstance(error, NeedfulError) and not location:
            raise
        what = f"{type(error).__name__}: {error}".strip(" .:")
        subject = f"{reference} raised" if location else f"Running {reference} raised"
        explained = InvalidInputError(f"{subject} {what}{location}. Run `needful check-env {reference}`.")
        for note in getattr(error, "__notes__", ()):
            explained.add_note(note)
        raise explained from error
