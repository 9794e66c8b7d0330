"""The errors that `needful` raises.

    NeedfulError                   anything this package raises on purpose
    ├── InvalidInputError          an argument, option or file cannot be used
    │   ├── UnknownNameError       a name is not among the known names; suggests the nearest
    │   ├── NotProvidedError       an environment does not provide an optional method
    │   ├── MissingPackageError    a package is not installed; also a ModuleNotFoundError
    │   │   └── MissingExtraError  it belongs to a group of optional dependencies
    │   ├── DemonstrationError     a demonstration or a file of demonstrations is invalid
    │   ├── ModelError             a model directory is incomplete or corrupt
    │   ├── ResultsError           a results file is missing, damaged or of an unsupported version
    │   └── OutputError            an output path cannot be written
    │       └── OutputExistsError  the path exists and may not be replaced
    ├── EnvironmentFailure         a simulator reports that a controller cannot succeed
    ├── LearningTimeoutError       learning exceeded its time limit
    └── PlannerError               an external planner is missing, failed or printed invalid output

Expected failures of planning are values (`PlanningResult.outcome`), not errors.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needful.core.objects import Object

# If an error message suggests a name, it lists the known names too, unless there are more than this number.
MAX_LISTED = 20


class NeedfulError(Exception):
    """The base class of all errors that `needful` raises on purpose."""


class InvalidInputError(NeedfulError, ValueError):
    """An argument, an option or a file cannot be used."""


class UnknownNameError(InvalidInputError):
    """A name is not among the known names; the message suggests the nearest and lists the known names.

    A list of more than `MAX_LISTED` names is left out if there is a suggestion.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], remedy: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        self.nearest = nearest_name(name, self.known)
        hint = f" Did you mean {self.nearest!r}?" if self.nearest else ""
        if not hint or len(self.known) <= MAX_LISTED:
            hint += f" Known: {', '.join(self.known) if self.known else 'none'}."
        super().__init__(f"Unknown {kind} {name!r}.{hint} {remedy}".rstrip())


class NotProvidedError(InvalidInputError):
    """An environment does not provide an optional method, such as `oracle_model`."""


class MissingPackageError(InvalidInputError, ModuleNotFoundError):
    """A package is not installed.

    `feature` is the part of `needful` that needs the package. The message ends with `remedy`.
    """

    def __init__(self, feature: str, package: str, remedy: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed. {remedy}.")


class MissingExtraError(MissingPackageError):
    """A package of an extra (a group of optional dependencies) is not installed.

    `feature` is the part of `needful` that needs the package. `alternative` describes what to do without
    the package. The message ends with `alternative`, which must therefore start with a comma.
    """

    def __init__(self, feature: str, package: str, extra: str, alternative: str = "") -> None:
        super().__init__(feature, package, f"Install it: {install_command(extra)}{alternative}")


class DemonstrationError(InvalidInputError):
    """A demonstration or a file of demonstrations is invalid."""


class ModelError(InvalidInputError):
    """A model directory is incomplete or corrupt."""


class ResultsError(InvalidInputError):
    """A results file of a run or a sweep is missing or damaged, or its format version is not supported."""


class OutputError(InvalidInputError):
    """An output path cannot be written."""


class OutputExistsError(OutputError):
    """An output path exists and may not be replaced."""


class EnvironmentFailure(NeedfulError):
    """A simulator reports that a controller failed; `offending` are the objects that caused the failure."""

    def __init__(self, reason: str, offending: Iterable[Object] = ()) -> None:
        self.reason = reason
        self.offending = tuple(sorted(set(offending)))
        super().__init__(reason)


class LearningTimeoutError(NeedfulError):
    """Learning exceeded its time limit; `seconds` maps each stage of learning to the time spent in it."""

    def __init__(self, limit: float, seconds: Mapping[str, float] | None = None) -> None:
        self.limit = limit
        self.seconds = dict(seconds or {})
        super().__init__(
            f"Learning exceeded its time limit of {limit:g} s. Increase the limit (--learning-timeout)."
        )


class PlannerError(NeedfulError):
    """An external planner is not installed, failed, or printed invalid output."""


def check_at_least(minimum: int, **settings: int | None) -> None:
    """Raise `InvalidInputError` if a setting is not an integer or is too small; None is allowed."""
    for name, value in settings.items():
        if value is None:
            continue
        try:
            number = operator.index(value)
        except TypeError:
            raise InvalidInputError(f"{name} must be an integer, got {value!r}.") from None
        if number < minimum:
            raise InvalidInputError(f"{name} must be at least {minimum}, got {number}.")


def check_seconds(**limits: float) -> None:
    """Raise `InvalidInputError` unless every time limit is a number above 0."""
    for name, value in limits.items():
        if not (isinstance(value, int | float) and value > 0):
            raise InvalidInputError(f"{name} must be more than 0 seconds, got {value!r}.")


def at_least(minimum: int, default: int) -> Any:
    """Return a dataclass field with a default and a minimum value; `CheckedSettings` checks the minimum."""
    return field(default=default, metadata={"minimum": minimum})


class CheckedSettings:
    """The base class of dataclasses with settings; it checks the fields declared with `at_least`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            if "minimum" in one.metadata:
                check_at_least(one.metadata["minimum"], **{one.name: getattr(self, one.name)})


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`, or None if no name is similar."""
    by_folded = {other.casefold(): other for other in sorted(known, reverse=True)}
    folded = name.casefold()
    found = difflib.get_close_matches(folded, list(by_folded), n=1, cutoff=0.6)
    if not found and len(folded) >= 3:  # "books" is similar to "sorting-books"
        parts = {
            other: re.split(r"[-_/ ]", other)
            for other in sorted(by_folded, key=lambda one: (len(one), one))
        }
        found = [other for other, words in parts.items() if any(word.startswith(folded) for word in words)]
    return by_folded[found[0]] if found else None


def install_command(extra: str) -> str:
    """Return the shell command that installs `extra`, a group of optional dependencies of this package."""
    return f"pip install 'needful[{extra}]'"


@contextmanager
def importing_extra(extra: str, feature: str, alternative: str = "") -> Iterator[None]:
    """Raise `MissingExtraError` if an import inside the `with` block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).split(".")[0]
        if package == "needful":
            raise
        raise MissingExtraError(feature, package, extra, alternative) from error
