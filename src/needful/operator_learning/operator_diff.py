"""What changes from one set of operators to the next.

Partitioning and backchaining ask of every transition which operator fits it best, again and again, for
sets of operators that differ in one or two. While the question stays the same, an earlier winner is
beaten by nobody but new_by_controller; only if it has gone is by_controller to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from needful.core.controllers import Controller


class OperatorLike(Protocol):
    """An operator in one of its shapes; the text tells competitors of one set apart."""

    @property
    def text(self) -> str:
        """The operator in writing."""
        ...

    @property
    def controller(self) -> Controller:
        """The controller, which it shares with those it competes with."""
        ...


AnyOperator = TypeVar("AnyOperator", bound=OperatorLike)


@dataclass(frozen=True, slots=True)
class OperatorDiff(Generic[AnyOperator]):
    """The competitors of a new set by controller, and how they differ from an earlier set.

    Attributes:
        by_controller: the competitors of the new set by the name of their controller.
        new_by_controller: those of them that the earlier set did not have.
        unchanged_texts: the texts of those that it had, unchanged.
    """

    by_controller: Mapping[str, Sequence[AnyOperator]]
    new_by_controller: Mapping[str, Sequence[AnyOperator]]
    unchanged_texts: frozenset[str]

    @classmethod
    def between(
        cls, earlier: Iterable[AnyOperator], competitors: Iterable[AnyOperator]
    ) -> OperatorDiff[AnyOperator]:
        """Compare two sets of competitors."""
        known = {operator.text: operator for operator in earlier}
        by_controller: dict[str, list[AnyOperator]] = {}
        new_by_controller: dict[str, list[AnyOperator]] = {}
        unchanged_texts = set()
        for operator in competitors:
            by_controller.setdefault(operator.controller.name, []).append(operator)
            before = known.get(operator.text)
            if before is operator or before == operator:
                unchanged_texts.add(operator.text)
            else:
                new_by_controller.setdefault(operator.controller.name, []).append(operator)
        return cls(by_controller, new_by_controller, frozenset(unchanged_texts))
