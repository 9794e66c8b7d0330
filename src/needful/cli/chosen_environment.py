"""The environment that the argument DOMAIN names: one of the catalogue, or one's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import typer

from needful.cli.own_environment import own_environment
from needful.envs.catalogue import make_environment
from needful.envs.checker import check_name
from needful.envs.contract import Environment
from needful.envs.findings import Findings, place_of
from needful.errors import InvalidInputError, NeedfulError


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
    with redirect_stdout(sys.stderr), own_environment(reference, findings) as environment:
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
        place = place_of(error)
        if isinstance(error, NeedfulError) and not place:
            raise
        what = f"{type(error).__name__}: {error}".strip(" .:")
        whose = f"{reference} raised" if place else f"With {reference} there was"
        explained = InvalidInputError(f"{whose} {what}{place}. Run `needful check-env {reference}`.")
        for note in getattr(error, "__notes__", ()):
            explained.add_note(note)
        raise explained from error
