"""What a check has found: each finding says what was seen, where, and how to mend it."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which an environment breaks its contract.

    Attributes:
        what: what was seen.
        where: the method, predicate, controller or operator that is at fault.
        remedy: what to do about it.
    """

    what: str
    where: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.remedy}"


class CheckFailure(Exception):
    """Raised by a check itself where something is not as it should be."""


class Findings:
    """Collects findings; of those with the same place and remedy only the first is kept."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    def add(self, what: str, where: str, remedy: str) -> None:
        """Keep a finding."""
        self._found.setdefault((where, remedy), Finding(what, where, remedy))

    @contextmanager
    def watch(self, subject: str, where: str, remedy: str) -> Iterator[None]:
        """Turn whatever is raised inside into a finding, but for Ctrl-C."""
        try:
            yield
        except CheckFailure as breach:
            self.add(f"{subject}: {breach}", where, remedy)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = f"{subject} raised {type(error).__name__}: {error}"
            self.add(raised + error_location(error), where, remedy)

    def all(self) -> tuple[Finding, ...]:
        """Return the findings in the order in which they came."""
        return tuple(self._found.values())


def error_location(error: BaseException) -> str:
    """Return the innermost line of the user's own code that an error went through, if there is one."""
    places = sysconfig.get_paths()
    libraries = tuple(places[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    libraries += (str(Path(__file__).parents[1]), "<")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(libraries)]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
