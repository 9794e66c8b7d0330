"""Explain demonstrations from their goals backwards (Algorithm 1 of the paper), and compute the coverage.

The result is a chain of grounded operators (links), built from the last transition backwards. Each link
explains one transition, which is then covered. The chain ends at the first transition that no operator
explains. This transition and all earlier ones stay uncovered.

The paper's α_i is `necessary[i]`: the atoms that must hold after step i, so that the later steps of the
chain reach the goal. A transition is reached if the atoms that must hold after it are known. The reached
transitions are all covered transitions, and the one at which the chain ends.

Backchaining is repeated for many sets of operators, and each set differs from the previous one in one or
two operators (`OperatorDiff`). Therefore results are reused. If the atoms that must hold after a transition
are the same as before, its previous best operator is compared only with new operators. All operators of the
transition's controller are compared again only if these atoms changed or the previous best operator was
removed. The module `partition`, which also finds the best operator for each transition, does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from needful.core.controllers import Controller
from needful.core.objects import Abbreviated
from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.matching import SKIPPED, ChainLink, Matcher


class OperatorLike(Protocol):
    """An operator, or a `Candidate`: an operator without the parts that are induced from transitions."""

    @property
    def text(self) -> str:
        """The operator as text; in a set of operators, no two have the same text."""
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


@dataclass(frozen=True, eq=False)
class Backchain:
    """The result of backchaining through one demonstration: grounded operators that explain its last steps.

    Backchaining starts at the last transition and stops at the first one that no operator explains. `links`
    has one grounded operator per explained (covered) transition, in the order of the transitions.
    """

    demonstration: EncodedDemonstration
    links: tuple[ChainLink, ...] = ()

    def __repr__(self) -> str:
        counts = f"covered={len(self.links)}, uncovered={self.uncovered}"
        return f"Backchain(demonstration={self.demonstration.index}, {counts})"

    @cached_property
    def uncovered(self) -> int:
        """The number of uncovered transitions; they are the first ones of the demonstration."""
        return len(self.demonstration.transitions) - len(self.links)

    @property
    def failing(self) -> EncodedTransition | None:
        """The last uncovered transition, at which backchaining stopped; None if all are covered."""
        return self.demonstration.transitions[self.uncovered - 1] if self.uncovered else None

    @cached_property
    def necessary(self) -> tuple[int | None, ...]:
        """For each state i, the atoms α_i that must hold, as a bit mask; None if α_i is unknown.

        α_i is unknown for the states before the transition at which backchaining stopped.
        """
        reached = (*(link.necessary for link in self.links), self.demonstration.goal)
        return (None,) * self.uncovered + reached

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """For each transition, the atoms that it must add, as a bit mask.

        These atoms must hold after transition i but do not hold before it: α_i \\ s_{i-1}. The mask is 0 if
        they are unknown, because backchaining stopped at a later transition.
        """
        pairs = zip(self.demonstration.transitions, self.necessary[1:], strict=True)
        return tuple((after or 0) & ~transition.before for transition, after in pairs)

    @cached_property
    def needed_or_unknown(self) -> tuple[int | None, ...]:
        """The same as `needed`, but None if backchaining stopped at a later transition."""
        pairs = zip(self.needed, self.necessary[1:], strict=True)
        return tuple(None if after is None else needed for needed, after in pairs)

    @cached_property
    def operator_texts(self) -> frozenset[str]:
        """The texts of the operators in the chain; a text identifies an operator."""
        return frozenset(link.match.text for link in self.links if link.match is not SKIPPED)

    @cached_property
    def controllers(self) -> frozenset[str]:
        """The names of the controllers of all transitions that backchaining explained or stopped at."""
        reached = self.demonstration.transitions[max(self.uncovered - 1, 0) :]
        return frozenset(transition.controller.name for transition in reached)


def backchain(
    previous: Backchain, diff: OperatorDiff[Operator], matcher: Matcher, skip_purposeless: bool = False
) -> Backchain:
    """Explain the transitions of a demonstration from the last one backwards; return the chain.

    The chain has one link per explained transition: the best grounded operator for this transition. An
    operator is considered only if it predicts all necessary atoms, and if all atoms that it predicts hold
    after the transition.

    `previous` is the chain of the same demonstration for an earlier set of operators, computed with the
    same `skip_purposeless`. `diff` compares that set with the current one. Links that cannot have changed
    are copied from `previous`. If no link changes, `previous` itself is returned.

    Some transitions are special. A skipped one gets the link `SKIPPED` instead of an operator. The terms
    ignored, skippable and incidental are explained at `EncodedTransition`.

    - An ignored transition is always skipped.
    - A skippable transition that adds no atom is skipped, unless some operator explains it and one of the
      operator's add effects, other than its preconditions, is necessary.
    - With `skip_purposeless`, the same is true for a skippable transition that adds atoms, but no necessary
      ones.
    - If an incidental transition adds nothing necessary, no preconditions become necessary before it.
    """
    unchanged = previous.operator_texts <= diff.unchanged_texts
    if previous.links and unchanged and previous.controllers.isdisjoint(diff.new_by_controller):
        return previous
    transitions, uncovered = previous.demonstration.transitions, previous.uncovered
    necessary = previous.demonstration.goal
    links: list[ChainLink] = []
    for step in range(len(transitions) - 1, -1, -1):
        transition = transitions[step]
        if transition.ignored:
            necessary &= ~transition.added
            links.append(ChainLink(SKIPPED, necessary))
            continue
        adds_nothing = skip_purposeless or not transition.added
        skippable = transition.skippable and adds_nothing and not necessary & ~transition.before
        best = previous.links[step - uncovered] if step >= uncovered else None
        if best is not None and best.match is SKIPPED:
            best = None
        if necessary == previous.necessary[step + 1] and (
            best is None or best.match.text in diff.unchanged_texts
        ):
            competitors = diff.new_by_controller.get(transition.controller.name, ())
        else:
            best, competitors = None, diff.by_controller.get(transition.controller.name, ())
        for operator in competitors:
            link = matcher.best_consistent_link(operator, transition, necessary, skippable)
            if link is not None and (best is None or link < best):
                best = link
        if best is None and skippable:
            best = ChainLink(SKIPPED, necessary)
        if best is None:
            break
        if transition.incidental and not (best.match.changes | ~transition.before) & necessary:
            best = ChainLink(best.match, necessary)
        necessary = best.necessary
        links.append(best)
    found = tuple(reversed(links))
    return previous if found == previous.links else Backchain(previous.demonstration, found)


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Abbreviated):
    """A set of operators, and one chain per demonstration.

    A chain is the sequence of grounded operators by which backchaining explains a demonstration.
    Backchaining starts at the goal, goes backwards and stops at the first transition that no operator
    explains.
    """

    operators: tuple[Operator, ...]
    chains: tuple[Backchain, ...]

    @classmethod
    def empty(cls, demonstrations: Iterable[EncodedDemonstration]) -> Coverage:
        """Return the coverage of the empty set of operators."""
        return cls((), tuple(map(Backchain, demonstrations)))

    @cached_property
    def uncovered(self) -> int:
        """U, the number of transitions that backchaining does not explain."""
        return sum(chain.uncovered for chain in self.chains)

    def necessary_after(self, transition: EncodedTransition) -> int | None:
        """Return α_i, the atoms that must hold after a transition.

        Return None if they are unknown, because backchaining stopped at a later transition.
        """
        return self.chains[transition.demonstration].necessary[transition.step + 1]

    def uses(self, operator: Operator, objects: tuple[int, ...], transition: EncodedTransition) -> bool:
        """Return whether backchaining explains the transition by this operator with these objects."""
        chain = self.chains[transition.demonstration]
        if transition.step < chain.uncovered:
            return False
        match = chain.links[transition.step - chain.uncovered].match
        return match.objects == objects and match.text == operator.text

    def failing(self) -> list[EncodedTransition]:
        """Return the transitions at which backchaining stopped, at most one per demonstration.

        They are in the order in which learning tries to cover them. Demonstrations with the fewest covered
        transitions come first. If these numbers are equal, transitions that must add necessary atoms come
        first. The order of the demonstrations decides the remaining ties.
        """
        broken = [
            (len(chain.links), not chain.needed[chain.failing.step], chain.failing.number, chain.failing)
            for chain in self.chains
            if chain.failing is not None
        ]
        return [entry[-1] for entry in sorted(broken, key=lambda entry: entry[:-1])]


def cover(
    operators: Iterable[Operator], previous: Coverage, matcher: Matcher, skip_purposeless: bool = False
) -> Coverage:
    """Backchain through every demonstration with the operators, and return their coverage.

    `previous` is the coverage of an earlier set of operators. Unchanged chains are copied from it. This
    saves time, but does not affect the result. `backchain` describes `skip_purposeless`.
    """
    operators = tuple(operators)
    return Coverage(operators, tuple(_chains(operators, previous, matcher, skip_purposeless)))


def cover_unless_worse(
    operators: Iterable[Operator],
    previous: Coverage,
    matcher: Matcher,
    skip_purposeless: bool,
    max_uncovered: int,
) -> Coverage | None:
    """Return the same as `cover`, but None if more than `max_uncovered` transitions are not covered.

    Backchaining ends as soon as there are more.
    """
    operators, chains, uncovered = tuple(operators), [], 0
    for chain in _chains(operators, previous, matcher, skip_purposeless):
        chains.append(chain)
        uncovered += chain.uncovered
        if uncovered > max_uncovered:
            return None
    return Coverage(operators, tuple(chains))


def _chains(
    operators: Sequence[Operator], previous: Coverage, matcher: Matcher, skip_purposeless: bool
) -> Iterator[Backchain]:
    diff = OperatorDiff.between(previous.operators, operators)
    return (backchain(chain, diff, matcher, skip_purposeless) for chain in previous.chains)
