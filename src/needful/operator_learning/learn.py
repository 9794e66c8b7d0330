"""Learn operators from demonstrations: the paper's method as a whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from needful.core.atoms import AbstractState
from needful.core.demonstrations import Demonstration
from needful.core.operator_data import GroundedTransition, OperatorData
from needful.core.operators import GroundOperator, Operator
from needful.operator_learning.backchaining import Backchain
from needful.operator_learning.delete_patterns import Generalise, partly_bound
from needful.operator_learning.encoding import EncodedDemonstration
from needful.operator_learning.hill_climbing import Climb, ClimbStep, Move, alternate
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.reduce_complexity import reduce_complexity
from needful.operator_learning.replay import replayable

Schedule: TypeAlias = Callable[[LearningProblem, Move], Climb]


@dataclass(frozen=True, slots=True)
class OperatorLearningConfig:
    """The choices of the learner, each a function.

    Attributes:
        generalise: how a mispredicted atom becomes a quantified delete.
        reduce: how a set of operators is made smaller.
        schedule: in which order coverage and complexity are improved.
    """

    generalise: Generalise = partly_bound
    reduce: Move = reduce_complexity
    schedule: Schedule = alternate

    def describe(self) -> dict[str, str]:
        """Return the names of the choices, for provenance."""
        return {
            "generalise": self.generalise.__name__,
            "reduce": self.reduce.__name__,
            "schedule": self.schedule.__name__,
        }


@dataclass(frozen=True, slots=True)
class LearnedOperators:
    """What was learned and how well it explains the demonstrations.

    Attributes:
        data: the operators, each with the transitions it was induced from.
        necessary: for each demonstration α_0..α_n as far as backchaining reached, None before that.
        chains: for each demonstration the operator that explains each step, None where none does.
        transitions: N, the number of transitions.
        uncovered: U, how many of them no chain of operators explains.
        unreplayable: demonstrations whose controller sequence no abstract plan can follow.
        steps: the moves that hill climbing made.
    """

    data: tuple[OperatorData, ...]
    necessary: tuple[tuple[AbstractState | None, ...], ...]
    chains: tuple[tuple[GroundOperator | None, ...], ...]
    transitions: int
    uncovered: int
    unreplayable: tuple[int, ...]
    steps: tuple[ClimbStep, ...]

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The learned operators, sorted by name."""
        return tuple(one.operator for one in self.data)

    @property
    def coverage(self) -> float:
        """1 − U/N."""
        return 1.0 - self.uncovered / self.transitions if self.transitions else 1.0


def learn_operators(
    demonstrations: Sequence[Demonstration], config: OperatorLearningConfig | None = None
) -> LearnedOperators:
    """Learn operators that model only the changes necessary for the demonstrations' goals.

    The result depends on the demonstrations, their order and the configuration alone.
    """
    config = config or OperatorLearningConfig()
    problem = LearningProblem.of(demonstrations, config.generalise)
    climb = config.schedule(problem, config.reduce)
    named = _with_names(climb.hypothesis.fitted)
    coverage = climb.hypothesis.coverage
    operators = tuple(fitted.operator for fitted in named)
    by_text = {replace(one, name=one.controller.name).text: one for one in operators}
    return LearnedOperators(
        data=tuple(_as_data(fitted) for fitted in named),
        necessary=tuple(map(_necessary_atoms, problem.demonstrations, coverage.chains)),
        chains=tuple(
            _ground_chain(demo, chain, by_text)
            for demo, chain in zip(problem.demonstrations, coverage.chains, strict=True)
        ),
        transitions=problem.size,
        uncovered=coverage.uncovered,
        unreplayable=tuple(
            demo.index
            for demo, chain in zip(problem.demonstrations, coverage.chains, strict=True)
            if chain.failing is not None and not replayable(operators, demo, problem.matcher)
        ),
        steps=climb.steps,
    )


def _with_names(fitted: Sequence[FittedOperator]) -> tuple[FittedOperator, ...]:
    """Name each operator after its controller, numbered where a controller has several."""
    controllers = [one.operator.controller.name for one in fitted]
    names: list[str] = []
    for controller in controllers:
        numbered = (f"{controller}-{number}" for number in itertools.count(1))
        free = (name for name in numbered if name not in names and name not in controllers)
        names.append(next(free) if controllers.count(controller) > 1 else controller)
    named = (
        replace(one, operator=replace(one.operator, name=n)) for one, n in zip(fitted, names, strict=True)
    )
    return tuple(sorted(named, key=lambda one: one.operator.name))


def _as_data(fitted: FittedOperator) -> OperatorData:
    return OperatorData(
        fitted.operator,
        tuple(
            GroundedTransition(
                transition.demonstration,
                transition.step,
                tuple(transition.table.objects[number] for number in objects),
            )
            for transition, objects in fitted.data
        ),
    )


def _ground_chain(
    demo: EncodedDemonstration, chain: Backchain, named: Mapping[str, Operator]
) -> tuple[GroundOperator | None, ...]:
    found = tuple(
        named[link.match.text].ground([demo.table.objects[number] for number in link.match.objects])
        for link in chain.links
    )
    return (None,) * (len(demo.transitions) - len(found)) + found


def _necessary_atoms(demo: EncodedDemonstration, chain: Backchain) -> tuple[AbstractState | None, ...]:
    return tuple(None if mask is None else demo.table.decode(mask) for mask in chain.necessary)
