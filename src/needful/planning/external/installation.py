"""Find the programs of other people's packages. They are started, never imported."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from needful.errors import InvalidInputError, PlannerError
from needful.extras import install_command


def find_program(name: str, given: str | None, package: str, inside: str) -> str:
    """Return the path of a program: the given one, else the file inside an installed package."""
    if given is not None:
        if not os.path.isfile(given) or not os.access(given, os.X_OK):
            raise InvalidInputError(
                f"{given!r} is not a program that can be started. Give the file of {name}'s search "
                "component, or None for the one that 'needful[planners]' installs."
            )
        return os.path.abspath(given)
    found = importlib.util.find_spec(package)
    for folder in (found and found.submodule_search_locations) or ():
        path = Path(folder, inside)
        if path.is_file():
            return str(path)
    raise PlannerError(f"{name} is not installed. From the checkout: {install_command('planners')}")
