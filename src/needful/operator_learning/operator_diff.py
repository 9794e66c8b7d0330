"""The difference between two sets of operators.

Partitioning and backchaining find the best operator for every transition. Both are repeated for many sets
of operators, and each set differs from the previous one in one or two operators. Therefore results are
reused. If the atoms that are required of a transition are unchanged, only new operators can be better than
its previous best operator. All operators of the transition's controller are compared again only if the
required atoms changed or the previous best operator was removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from needful.core.controllers import Controller


class OperatorLike(Protocol):
    """An operator or a candidate (a stripped operator); its text identifies it within a set."""

    @property
    def text(self) -> str:
        """The operator as text; it identifies the operator within a set."""
        ...

    @property
    def controller(self) -> Controller:
        """The controller that the operator models; only transitions of this controller can match it."""
        ...


AnyOperator = TypeVar("AnyOperator", bound=OperatorLike)


@dataclass(frozen=True, slots=True)
class OperatorDiff(Generic[AnyOperator]):
    """The difference between a new and an earlier set of operators.

    Attributes:
        by_controller: for each controller's name, the operators of the new set with this controller.
        new_by_controller: the same map, but only with operators that are not in the earlier set.
        unchanged_texts: the texts of the operators that are in both sets.
    """

    by_controller: Mapping[str, Sequence[AnyOperator]]
    new_by_controller: Mapping[str, Sequence[AnyOperator]]
    unchanged_texts: frozenset[str]

    def __repr__(self) -> str:
        new = sum(map(len, self.new_by_controller.values()))
        return f"OperatorDiff(new={new}, unchanged={len(self.unchanged_texts)})"

    @classmethod
    def between(
        cls, earlier: Iterable[AnyOperator], operators: Iterable[AnyOperator]
    ) -> OperatorDiff[AnyOperator]:
        """Return the difference between the `earlier` operators and the new set `operators`."""
        earlier_by_text = {operator.text: operator for operator in earlier}
        by_controller: dict[str, list[AnyOperator]] = {}
        new_by_controller: dict[str, list[AnyOperator]] = {}
        unchanged_texts = set()
        for operator in operators:
            by_controller.setdefault(operator.controller.name, []).append(operator)
            before = earlier_by_text.get(operator.text)
            if before is operator or before == operator:
                unchanged_texts.add(operator.text)
            else:
                new_by_controller.setdefault(operator.controller.name, []).append(operator)
        return cls(by_controller, new_by_controller, frozenset(unchanged_texts))
