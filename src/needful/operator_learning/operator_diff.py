"""What changes from one set of operators to the next.

Partitioning and backchaining ask of every transition which operator fits it best, again and again, for
sets of operators that differ in one or two. While the question stays the same, an earlier winner is
beaten by nobody but newcomers; only if it has gone is everyone to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from needful.core.controllers import Controller


class Rival(Protocol):
    """An operator in one of its shapes; the text tells rivals of one set apart."""

    @property
    def text(self) -> str:
        """The operator in writing."""
        ...

    @property
    def controller(self) -> Controller:
        """The controller, which it shares with those it competes with."""
        ...


AnyRival = TypeVar("AnyRival", bound=Rival)


@dataclass(frozen=True, slots=True)
class Turnover(Generic[AnyRival]):
    """The rivals of a new set by controller, and how they differ from an earlier set.

    Attributes:
        everyone: the rivals of the new set by the name of their controller.
        newcomers: those of them that the earlier set did not have.
        stayed: the texts of those that it had, unchanged.
    """

    everyone: Mapping[str, Sequence[AnyRival]]
    newcomers: Mapping[str, Sequence[AnyRival]]
    stayed: frozenset[str]

    @classmethod
    def between(cls, earlier: Iterable[AnyRival], rivals: Iterable[AnyRival]) -> Turnover[AnyRival]:
        """Compare two sets of rivals."""
        known = {rival.text: rival for rival in earlier}
        everyone: dict[str, list[AnyRival]] = {}
        newcomers: dict[str, list[AnyRival]] = {}
        stayed = set()
        for rival in rivals:
            everyone.setdefault(rival.controller.name, []).append(rival)
            before = known.get(rival.text)
            if before is rival or before == rival:
                stayed.add(rival.text)
            else:
                newcomers.setdefault(rival.controller.name, []).append(rival)
        return cls(everyone, newcomers, frozenset(stayed))
