"""What operator learning returns: the operators, named, and how well they explain the demonstrations.

Check that learned operators do no harm: each demonstration can still be planned.

A demonstration is reproduces_demonstration if some sequence of grounded operators, one for each of its actions and
with the action's own objects, is applicable from its initial abstract state by prediction alone and
ends in its goal. A demonstration that backchaining covers always is; for others the check searches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from needful.core.atoms import AbstractState
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.operators import GroundedTransition, GroundOperator, Operator, OperatorData
from needful.operator_learning.backchaining import Backchain
from needful.operator_learning.encoding import EncodedDemonstration
from needful.operator_learning.hill_climbing import ClimbStep
from needful.operator_learning.induction import Datum
from needful.operator_learning.matching import Matcher
from needful.operator_learning.objective import Coverage, cover

# Beyond so many predicted states a demonstration counts as not reproduces_demonstration.
MAX_PREDICTED_STATES = 10_000


def reproduces_demonstration(
    operators: Sequence[Operator], demonstration: EncodedDemonstration, matcher: Matcher
) -> bool:
    """Return whether planning along the demonstration's actions reaches its goal.

    A depth-first search that follows first what predicts most of the states the demonstration saw.
    Predictions are limited to atoms that occur in the demonstration.
    """
    transitions = demonstration.transitions
    start = transitions[0].before if transitions else demonstration.goal
    stack, seen = [(0, start)], set[tuple[int, int]]()
    while stack and len(seen) < MAX_PREDICTED_STATES:
        step, state = stack.pop()
        if step == len(transitions):
            if not demonstration.goal & ~state:
                return True
            continue
        if (step, state) in seen:
            continue
        seen.add((step, state))
        observed = transitions[step].after
        imagined = replace(transitions[step], before=state, after=(1 << len(demonstration.table)) - 1)
        reached = {
            prediction
            for operator in operators
            if operator.controller.name == imagined.controller.name
            for prediction in matcher.predictions(operator, imagined)
        }
        # The last one pushed is tried first: most observed atoms, fewest others.
        order = sorted(reached, key=lambda s: ((s & observed).bit_count(), -(s & ~observed).bit_count(), s))
        stack += [(step + 1, prediction) for prediction in order]
    return False


@dataclass(frozen=True, slots=True)
class LearnedOperators:
    """What was learned and how well it explains the demonstrations.

    Replays, which some learners are given besides, are numbered after the demonstrations. They have
    no goal, so nothing is necessary in them and no chain explains them.

    Attributes:
        data: the operators, each with the transitions it was induced from.
        necessary: for each demonstration α_0..α_n as far as backchaining reached, None before that.
        chains: for each demonstration the operator that explains each step, None where none does.
        transitions: N, the number of transitions of the demonstrations.
        uncovered: U, how many of them no chain of operators explains.
        not_reproduced: demonstrations whose controller sequence no abstract plan can follow.
        steps: the moves that hill climbing made.
        idle: the names of operators that planning does without, because they change nothing.
    """

    data: tuple[OperatorData, ...]
    necessary: tuple[tuple[AbstractState | None, ...], ...]
    chains: tuple[tuple[GroundOperator | None, ...], ...]
    transitions: int
    uncovered: int
    not_reproduced: tuple[int, ...]
    steps: tuple[ClimbStep, ...]
    idle: frozenset[str] = frozenset()

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The learned operators, sorted by name."""
        return tuple(one.operator for one in self.data)

    @property
    def useful(self) -> tuple[OperatorData, ...]:
        """The operators to plan with, and their data."""
        return tuple(one for one in self.data if one.operator.name not in self.idle)

    @property
    def coverage(self) -> float:
        """1 − U/N."""
        return 1.0 - self.uncovered / self.transitions if self.transitions else 1.0


class EncodedOperatorData(NamedTuple):
    """An operator ω, named after its controller, with the transitions it explains (D_ω)."""

    operator: Operator
    data: tuple[Datum, ...]


def evaluate_operators(
    found: Iterable[EncodedOperatorData],
    coverage: Coverage,
    matcher: Matcher,
    steps: tuple[ClimbStep, ...] = (),
    replays: Sequence[EncodedDemonstration] = (),
) -> LearnedOperators:
    """Name the operators and tell how well they explain the demonstrations that `coverage` is of."""
    named = _with_names(tuple(found))
    operators = tuple(one.operator for one in named)
    by_text = {replace(one, name=one.controller.name).text: one for one in operators}
    chains = coverage.chains
    unreached = [(None,) * len(replay.transitions) for replay in replays]
    return LearnedOperators(
        data=tuple(map(_as_data, named)),
        necessary=(*map(_necessary_atoms, chains), *((None, *nothing) for nothing in unreached)),
        chains=(*(_ground_chain(chain, by_text) for chain in chains), *unreached),
        transitions=sum(len(chain.demonstration.transitions) for chain in chains),
        uncovered=coverage.uncovered,
        not_reproduced=tuple(
            chain.demonstration.index
            for chain in chains
            if chain.failing is not None
            and not reproduces_demonstration(operators, chain.demonstration, matcher)
        ),
        steps=steps,
    )


def judged(
    found: Sequence[EncodedOperatorData],
    encoded: Sequence[EncodedDemonstration],
    demonstrations: int,
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Name operators that were learned without a look at coverage, and judge them by backchaining.

    The first of what was encoded are the demonstrations, so many as said; the others are replays.
    """
    matcher = Matcher(deadline)
    nobody = Coverage.empty(encoded[:demonstrations])
    coverage = cover((one.operator for one in found), nobody, matcher)
    return evaluate_operators(found, coverage, matcher, replays=encoded[demonstrations:])


def _with_names(found: Sequence[EncodedOperatorData]) -> tuple[EncodedOperatorData, ...]:
    """Name each operator after its controller, numbered where a controller has several."""
    controllers = [one.operator.controller.name for one in found]
    names: list[str] = []
    for controller in controllers:
        numbered = (f"{controller}-{number}" for number in itertools.count(1))
        free = (name for name in numbered if name not in names and name not in controllers)
        names.append(next(free) if controllers.count(controller) > 1 else controller)
    named = (
        EncodedOperatorData(replace(one.operator, name=name), one.data)
        for one, name in zip(found, names, strict=True)
    )
    return tuple(sorted(named, key=lambda one: one.operator.name))


def _as_data(explained: EncodedOperatorData) -> OperatorData:
    return OperatorData(
        explained.operator,
        tuple(
            GroundedTransition(
                transition.demonstration,
                transition.step,
                tuple(transition.table.objects[number] for number in objects),
            )
            for transition, objects in explained.data
        ),
    )


def _ground_chain(chain: Backchain, named: Mapping[str, Operator]) -> tuple[GroundOperator | None, ...]:
    objects = chain.demonstration.table.objects
    found = tuple(
        named[link.match.text].ground([objects[number] for number in link.match.objects])
        for link in chain.links
    )
    return (None,) * chain.uncovered + found


def _necessary_atoms(chain: Backchain) -> tuple[AbstractState | None, ...]:
    table = chain.demonstration.table
    return tuple(None if mask is None else table.decode(mask) for mask in chain.necessary)
