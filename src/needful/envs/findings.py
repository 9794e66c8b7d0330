"""Findings: problems of an environment that a check found, each with its location and a remedy."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which an environment breaks its contract.

    Attributes:
        problem: what was observed.
        location: the method, predicate, controller or operator at fault.
        remedy: how to fix the problem.
        count: how often problems with this location and remedy were observed; `problem` is the first one.
    """

    problem: str
    location: str
    remedy: str
    count: int = 1

    def __str__(self) -> str:
        return f"{self.location}: {self.described}. {self.remedy}"

    @property
    def described(self) -> str:
        """The problem, and how often it was observed if this was more than once."""
        return self.problem if self.count == 1 else f"{self.problem} ({self.count} such problems)"


class CheckFailure(Exception):
    """Raised by a check that fails; `Findings.catch` turns this exception into a finding."""


class Findings:
    """A list of findings; those with the same location and remedy are counted as one.

    Attributes:
        notes: observations that are not problems, without duplicates.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a sentence about an observation that is not a problem; ignore it if it was added before."""
        if text not in self.notes:
            self.notes.append(text)

    def add(self, problem: str, location: str, remedy: str) -> None:
        """Add a finding; if there is one with the same location and remedy, only increase its count."""
        known = self._found.get((location, remedy))
        self._found[location, remedy] = (
            Finding(problem, location, remedy) if known is None else replace(known, count=known.count + 1)
        )

    @contextmanager
    def catch(self, subject: str, location: str, remedy: str) -> Iterator[None]:
        """Turn every exception of the `with` block, except KeyboardInterrupt, into a finding.

        `subject` names what is checked; the finding's problem starts with it.
        """
        try:
            yield
        except CheckFailure as failure:
            self.add(f"{subject}: {failure}", location, remedy)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = f"{subject} raised {type(error).__name__}: {error}"
            # The message of an `InvalidInputError` explains what to correct, so it replaces `remedy`.
            self.add(
                (raised + error_location(error)).rstrip("."),
                location,
                "Correct it as this message explains." if isinstance(error, InvalidInputError) else remedy,
            )

    @property
    def locations(self) -> frozenset[str]:
        """The locations of all findings."""
        return frozenset(location for location, _ in self._found)

    def all(self) -> tuple[Finding, ...]:
        """Return the findings in the order in which they were added."""
        return tuple(self._found.values())


def check_type(value: object, expected: type, *others: type) -> None:
    """Raise `CheckFailure` unless `value` is an instance of the class `expected`, or of one of `others`."""
    if not isinstance(value, (expected, *others)):
        raise CheckFailure(f"got {value!r} instead of a {expected.__name__}")


def error_location(error: BaseException) -> str:
    """Return where in the user's code an error was raised, as " (FILE, line N)".

    This is the innermost frame of the traceback that is in user code: outside the standard library, the
    installed packages and this package. Returns "" if there is no such frame.
    """
    paths = sysconfig.get_paths()
    libraries = tuple(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    libraries += (str(Path(__file__).parents[1]), "<")
    frames = traceback.extract_tb(error.__traceback__)
    user_frames = [frame for frame in frames if not frame.filename.startswith(libraries)]
    if not user_frames:
        return ""
    return f" ({Path(user_frames[-1].filename).name}, line {user_frames[-1].lineno})"
