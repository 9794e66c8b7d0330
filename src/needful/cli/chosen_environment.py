"""The environment that the argument DOMAIN names: one of the catalogue, or one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from needful.cli.own_environment import own_environment
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.envs.findings import Findings
from needful.errors import InvalidInputError


@contextmanager
def chosen_environment(reference: str) -> Iterator[Environment]:
    """Yield the domain of that name, or the class that `module:Class` or `file.py:Class` names.

    While the block runs, modules beside that file and in the current folder can be imported.
    """
    if ":" not in reference:
        yield make_environment(reference)
        return
    loading = Findings()
    with own_environment(reference, loading) as environment:
        if environment is None:
            found = " ".join(f"{finding.where}: {finding.what}" for finding in loading.all())
            raise InvalidInputError(f"{reference} cannot be used. {found}")
        if not isinstance(getattr(environment, "name", None), str):
            raise InvalidInputError(
                f"{reference} has no name, which seeds and records need. Set `name` in the class; "
                f"`needful check-env {reference}` says whether all else is there."
            )
        yield environment
