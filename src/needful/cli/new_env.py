"""`needful new-env`: write a small working environment to start from."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from needful.cli import console
from needful.cli.new_env_templates import DemonstrationSource, environment_files
from needful.cli.options import AsJson, Force, enum_member, enum_option
from needful.storage.outputs import FileKind, FolderKind, staged_directory, write_text


@console.reporting_errors
def new_env(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the module, for example cup_stacking.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write; default: NAME in the current folder.")
    ] = None,
    demonstrations: Annotated[
        str,
        enum_option(
            "--demonstrations",
            DemonstrationSource,
            "Source of demonstrations: an oracle model, a scripted policy, or recordings in a file.",
        ),
    ] = DemonstrationSource.ORACLE.value,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a small working environment with tests, to start from."""
    reason = _invalid_name_reason(name)
    if reason is not None:
        raise typer.BadParameter(f"{reason} Try {_suggestion(name)!r}.", param_hint="NAME")
    class_name = _class_name(name)
    folder = out or Path(name)
    source = enum_member(DemonstrationSource, "source of demonstrations", demonstrations)
    texts = environment_files(source, name, class_name)
    with staged_directory(folder, _unedited(name, class_name), force) as staged:
        for file, text in texts.items():
            write_text(staged / file, text)
    reference = f"{folder / name}.py:{class_name}"
    if as_json:
        console.print_json({"files": [str(folder / file) for file in texts], "environment": reference})
        return
    console.print_result(f"Wrote {folder}/ ({', '.join(texts)}).")
    console.print_result(f"Edit {folder / name}.py, then check it with: needful check-env {reference}")


def _unedited(name: str, class_name: str) -> FolderKind:
    """Return a description of the folders that `--force` may replace: the user edited no file in them.

    A file is unedited if `needful new-env` writes the same text for at least one `DemonstrationSource`.
    """
    texts: dict[str, list[str]] = {}
    for source in DemonstrationSource:
        for file, text in environment_files(source, name, class_name).items():
            texts.setdefault(file, []).append(re.escape(text))
    marker_files = {
        file: FileKind(file, re.compile(rf"(?:{'|'.join(patterns)})\Z".encode()))
        for file, patterns in texts.items()
    }
    return FolderKind("an unedited environment", marker_files)


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _invalid_name_reason(name: str) -> str | None:
    """Return why the new module and its class cannot have this name, or None if they can."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        return f"{name!r} is not a module name: use lower case letters, digits and underscores."
    if keyword.iskeyword(name):
        return f"{name!r} is a Python keyword."
    spec = importlib.util.find_spec(name)
    # `find_spec` also finds folders without `__init__.py`, which are not modules. Their `origin` is None.
    if spec is not None and spec.origin is not None:
        return f"A module {name!r} exists already, and yours would hide it."
    texts = (environment_files(source, "x", "X") for source in DemonstrationSource)
    if any(re.search(rf"\b{_class_name(name)}\b", text) for one in texts for text in one.values()):
        return f"The class name {_class_name(name)!r} has another meaning in the written files."
    return None


def _suggestion(name: str) -> str:
    """Return a valid module name that resembles the invalid `name`."""
    words = re.findall("[A-Z]?[a-z0-9]+|[A-Z0-9]+", name)
    snake = "_".join(["env", *words] if not words or words[0][0].isdigit() else words).lower()
    return snake if _invalid_name_reason(snake) is None else f"{snake}_domain"
