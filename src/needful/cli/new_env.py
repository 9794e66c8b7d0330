"""`needful new-env`: start an environment of one's own."""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from needful.cli.console import reporting_errors, say, say_json
from needful.cli.new_env_template import ENVIRONMENT, README, TESTS
from needful.cli.options import AsJson, Force
from needful.storage.atomic import staged_directory, write_text
from needful.storage.output_kinds import FileKind, FolderKind


@reporting_errors
def new_env(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The module's name, for example cup_stacking.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write; by default NAME here.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a small working environment with tests, to be edited."""
    objection = _objection(name)
    if objection is not None:
        raise typer.BadParameter(f"{objection} Try {_suggestion(name)!r}.", param_hint="NAME")
    class_name = _class_name(name)
    folder = out or Path(name)
    files = {f"{name}.py": ENVIRONMENT, f"test_{name}.py": TESTS, "README.md": README}
    places = {"module": name, "class_name": class_name, "domain": name.replace("_", "-")}
    texts = {file: Template(text).substitute(places) for file, text in files.items()}
    with staged_directory(folder, _unedited(texts), force) as staged:
        for file, text in texts.items():
            write_text(staged / file, text)
    reference = f"{folder / name}.py:{class_name}"
    if as_json:
        say_json({"files": [str(folder / file) for file in files], "environment": reference})
        return
    say(f"Wrote {folder}/ ({', '.join(files)}).")
    say(f"Edit {folder / name}.py, and look at it with: needful check-env {reference}")


def _unedited(texts: Mapping[str, str]) -> FolderKind:
    """Return the kind of folder that holds these files as they are here: edits are never replaced."""
    marks = {
        file: FileKind(file, re.compile(re.escape(text.encode()) + rb"\Z")) for file, text in texts.items()
    }
    return FolderKind("an unedited environment", marks)


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _objection(name: str) -> str | None:
    """Return why neither a module nor its class can have this name, if so."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        return f"{name!r} is no name of a module: it takes lower case letters, digits and underscores."
    if keyword.iskeyword(name):
        return f"{name!r} is a word of Python."
    spec = importlib.util.find_spec(name)
    # A folder without modules in it counts as a package too, but has no origin.
    if spec is not None and spec.origin is not None:
        return f"There is a module {name!r} already, which yours would hide."
    if re.search(rf"\b{_class_name(name)}\b", ENVIRONMENT + TESTS):
        return f"Its class would be {_class_name(name)!r}, which means something else in the file."
    return None


def _suggestion(name: str) -> str:
    """Return a name like the given one that can be used."""
    words = re.findall("[A-Z]?[a-z0-9]+|[A-Z0-9]+", name)
    snake = "_".join(["env", *words] if not words or words[0][0].isdigit() else words).lower()
    return snake if _objection(snake) is None else f"{snake}_domain"
