"""The errors that `needful` raises.

    NeedfulError                   anything this package raises on purpose
    ├── InvalidInputError          the caller gave something that cannot be used
    │   ├── UnknownNameError       a name that is not in a catalogue; carries the nearest matches
    │   ├── DemonstrationError     a demonstrations file or value breaks its format
    │   ├── ModelError             a model directory is incomplete or corrupt
    │   ├── ResultsError           a file of results is missing, damaged or of another version
    │   └── OutputError            an output path cannot be written
    │       └── OutputExistsError  it is there already, and nobody said to replace it
    ├── EnvironmentFailure         a simulator reports that a controller failed for good
    ├── LearningTimeoutError       learning was not done when its time was up
    └── PlannerError               an external planner is missing, failed or talks nonsense

Expected failures of planning are values (`PlanningResult.outcome`), not errors.

The extras of this package and how they are installed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from needful.core.objects import Object


class NeedfulError(Exception):
    """Anything that `needful` raises on purpose."""


class InvalidInputError(NeedfulError, ValueError):
    """The caller gave something that cannot be used."""


class UnknownNameError(InvalidInputError):
    """A name is not among the known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], remedy: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        self.nearest = nearest_name(name, self.known)
        hint = f" Did you mean {self.nearest!r}?" if self.nearest else ""
        listed = ", ".join(self.known) if self.known else "none"
        super().__init__(f"Unknown {kind} {name!r}.{hint} Known: {listed}. {remedy}".rstrip())


class DemonstrationError(InvalidInputError):
    """A demonstrations file or value breaks its format."""


class ModelError(InvalidInputError):
    """A model directory is incomplete or corrupt."""


class ResultsError(InvalidInputError):
    """A file of results, of a sweep or a run, is missing, damaged or of another version."""


class OutputError(InvalidInputError):
    """An output path cannot be written."""


class OutputExistsError(OutputError):
    """An output path is there already, and nobody said to replace it."""


class EnvironmentFailure(NeedfulError):
    """A simulator reports that a controller failed and which objects are to blame."""

    def __init__(self, reason: str, offending: Iterable[Object] = ()) -> None:
        self.reason = reason
        self.offending = tuple(sorted(set(offending)))
        super().__init__(reason)


class LearningTimeoutError(NeedfulError):
    """Learning was not done when its time was up; `seconds` tells what was spent on each stage."""

    def __init__(self, limit: float, seconds: Mapping[str, float] | None = None) -> None:
        self.limit = limit
        self.seconds = dict(seconds or {})
        super().__init__(f"Learning did not end within {limit:g} s. Allow it more time.")


class PlannerError(NeedfulError):
    """An external planner is not installed, failed, or gave an answer that makes no sense."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None if none is close."""
    by_folded = {other.casefold(): other for other in sorted(known, reverse=True)}
    found = difflib.get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def install_command(extra: str) -> str:
    """Return what installs an extra; without constraints, torch comes with gigabytes of GPU packages."""
    return f"pip install -c constraints.txt '.[{extra}]'"
