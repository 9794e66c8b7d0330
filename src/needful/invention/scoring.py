"""Score a set of invented predicates: learn operators with it, and compare their plans with demonstrations.

If a model lacks a predicate, its operators lack preconditions, and its plans are too short. To measure
this, the model plans from every state of some demonstrations. Each plan is compared with a suffix of the
demonstration: its rest, from the state in which the plan starts. A single predicate then improves the score
even if others are still missing, because it corrects the plans from some of the states. Search is limited
by nodes, not by seconds, so a score does not depend on the machine.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.definitions import AnyDefinition
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Budget, Deadline
from needful.core.objects import Type
from needful.core.operators import Operator, OperatorData
from needful.core.plans import AbstractPlan
from needful.core.state import feature_array
from needful.core.tasks import AbstractTask
from needful.errors import DemonstrationError, LearningTimeoutError
from needful.operator_learning.hill_climbing import necessary_effects_only
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.mixed_operators import keep_mixed_operators
from needful.operator_learning.negative_preconditions import positive_preconditions_only
from needful.operator_learning.unnamed_objects import named_objects_only
from needful.planning.interfaces import Planner
from needful.planning.planners import generate_abstract_plans

# Operators are learned again for each set of predicates, so learning must be fast. This is the default
# learner without the parts that take the most time. Parts that could replace a missing predicate, such as
# negative preconditions, are left out as well.
QUICK_LEARNER = OperatorLearningConfig(
    conditions=named_objects_only,
    divide=keep_mixed_operators,
    effects=necessary_effects_only,
    negatives=positive_preconditions_only,
)
# The learner checks its deadline regularly. It is stopped after `MAX_CHECKS` checks, or after
# `MAX_CHECKS_PER_TRANSITION` checks per transition if that is more. The limit is reached only if the
# predicates lead to far too many operators: in our domains, useful predicates need at most half the checks.
MAX_CHECKS, MAX_CHECKS_PER_TRANSITION = 15_000, 25
# With a new predicate, operators are learned from the training demonstrations, and then from all
# demonstrations. If this multiplies the number of operators by more than this factor, the predicate is
# rejected: the additional operators describe accidents of single demonstrations.
MAX_GROWTH = 1.5
# The cost of a plan is the difference between its length and the length of the rest of the demonstration.
# If the plan is longer than the rest, `TOO_LONG` is added. If the lengths are equal, but the actions
# differ, the cost is `OTHER_ACTIONS`. If there is no plan, the cost is the length of the rest plus
# `NO_PLAN`.
NO_PLAN, TOO_LONG, OTHER_ACTIONS = 3.0, 0.3, 0.5
# A model with more ground operators than this is treated as a model that finds no plan.
MAX_GROUND_OPERATORS = 5_000


@dataclass(frozen=True, slots=True)
class Scored:
    """A set of invented predicates, the operators learned with it, and its score.

    Attributes:
        predicates: the invented predicates.
        data: the learned operators with their transitions.
        suffixes: the plans from the states of the scoring demonstrations.
    """

    predicates: tuple[Predicate, ...]
    data: tuple[OperatorData, ...]
    suffixes: tuple[Suffix, ...]

    @property
    def cost(self) -> float:
        """The total cost of the plans."""
        return sum(suffix.cost for suffix in self.suffixes)


@dataclass(slots=True)
class Scorer:
    """Learns operators with sets of invented predicates, and scores them.

    Attributes:
        abstractor: contains the demonstrations, and adds the atoms of invented predicates to them.
        training: the indices of the demonstrations to learn from.
        scoring: the indices of the demonstrations to compare plans with.
        planner: finds the plans.
        max_nodes: the limit of the search for each plan.
        deadline: raises once the time is up.
        on_try: is called with the number of sets that were scored so far.
        tried: the number of sets that were scored so far.
    """

    abstractor: DemonstrationAbstractor
    training: Sequence[int]
    scoring: Sequence[int]
    planner: Planner
    max_nodes: int
    deadline: Deadline = NO_DEADLINE
    on_try: Callable[[int], None] = lambda tried: None
    tried: int = field(default=0, init=False)

    def score(self, predicates: Sequence[Predicate], stop_above: float = float("inf")) -> Scored:
        """Learn operators from the training demonstrations, and score them by the cost of their plans.

        Planning stops early if the cost exceeds `stop_above`.
        """
        demonstrations = self.abstractor.with_predicates(predicates)
        data = self._learn([demonstrations[i] for i in self.training])
        operators = [one.operator for one in data]
        suffixes = _plan_suffixes(
            operators, demonstrations, self.scoring, self.planner, self.max_nodes, stop_above, self.deadline
        )
        return Scored(tuple(predicates), data, suffixes)

    def learn(self, predicates: Sequence[Predicate]) -> Scored:
        """Learn operators from all demonstrations, without planning."""
        return Scored(tuple(predicates), self._learn(self.abstractor.with_predicates(predicates)), ())

    def generalises(self, scored: Scored) -> bool:
        """Return whether learning from all demonstrations gives few enough operators; see `MAX_GROWTH`.

        The operators of `scored` were learned from the training demonstrations only.
        """
        everywhere = self.learn(scored.predicates).data
        return 0 < len(everywhere) <= MAX_GROWTH * len(scored.data)

    def _learn(self, demonstrations: Sequence[Demonstration]) -> tuple[OperatorData, ...]:
        self.tried += 1
        self.on_try(self.tried)
        transitions = sum(len(one.actions) for one in demonstrations)
        limit = max(MAX_CHECKS, MAX_CHECKS_PER_TRANSITION * transitions)
        limited = self.deadline.with_check_limit(limit)
        try:
            return tuple(learn_operators(demonstrations, QUICK_LEARNER, limited).planning_data)
        except LearningTimeoutError:
            self.deadline.check()  # raises if time is up; otherwise, only the limit of checks was reached
            return ()


@dataclass(frozen=True, slots=True)
class Suffix:
    """The rest of a demonstration from one of its states on, and a model's plan from the same state.

    Attributes:
        demonstration: the index of the demonstration.
        step: the index of the state in which the plan starts.
        plan: the plan; None if there is none within the limit of nodes.
        cost: the penalty for the difference between the plan and the rest of the demonstration.
    """

    demonstration: int
    step: int
    plan: AbstractPlan | None
    cost: float

    def suspicious(self, demonstration: Demonstration) -> bool:
        """Return whether the plan differs from the rest of the demonstration, but is not longer than it.

        An operator in such a plan may lack a precondition.
        """
        return bool(self.plan) and self.cost > 0 and len(self.plan or ()) <= len(demonstration) - self.step


def _plan_suffixes(
    operators: Sequence[Operator],
    demonstrations: Sequence[Demonstration],
    indices: Sequence[int],
    planner: Planner,
    max_nodes: int,
    stop_above: float = float("inf"),
    deadline: Deadline = NO_DEADLINE,
) -> tuple[Suffix, ...]:
    """Plan from every state of the demonstrations with the given indices.

    Ends early when the total cost exceeds `stop_above`.
    """
    found: list[Suffix] = []
    total = 0.0
    for index in indices:
        demonstration = demonstrations[index]
        for step in reversed(range(len(demonstration))):
            deadline.check()
            plan = _first_plan(operators, demonstration, step, planner, max_nodes)
            suffix = Suffix(index, step, plan, _cost(plan, demonstration, step))
            found.append(suffix)
            total += suffix.cost
            if total > stop_above:
                return tuple(found)
    return tuple(found)


def _first_plan(
    operators: Sequence[Operator], demonstration: Demonstration, step: int, planner: Planner, max_nodes: int
) -> AbstractPlan | None:
    task = AbstractTask(demonstration.objects, demonstration.abstract_states[step], demonstration.goal)
    budget = Budget(float("inf"), max_nodes, max_ground_operators=MAX_GROUND_OPERATORS)
    return next(generate_abstract_plans(operators, task, planner, budget), None)


def _cost(plan: AbstractPlan | None, demonstration: Demonstration, step: int) -> float:
    rest = demonstration.actions[step:]
    if plan is None:
        return len(rest) + NO_PLAN
    if len(plan) < len(rest):
        return float(len(rest) - len(plan))
    if len(plan) > len(rest):
        return len(plan) - len(rest) + TOO_LONG
    same = Counter((o.operator.controller.name, o.controller_objects) for o in plan) == Counter(
        (action.controller.name, action.objects) for action in rest
    )
    return 0.0 if same else OTHER_ACTIONS


class DemonstrationAbstractor:
    """Adds the atoms of invented predicates to demonstrations; the results are cached."""

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        for index, demonstration in enumerate(demonstrations):
            if demonstration.states is None:
                raise DemonstrationError(
                    f"Demonstration {index} has no states. Predicates can only be invented from "
                    "demonstrations with states."
                )
        self.demonstrations = tuple(demonstrations)
        self._features: dict[tuple[int, Type], np.ndarray] = {}
        self._atoms: dict[tuple[str, AnyDefinition], tuple[tuple[AbstractState, ...], ...]] = {}

    def with_predicates(self, invented: Sequence[Predicate]) -> tuple[Demonstration, ...]:
        """Return the demonstrations with the atoms of the invented predicates added."""
        columns = [self.atoms(predicate) for predicate in invented]
        return tuple(
            replace(
                demonstration,
                abstract_states=tuple(
                    atoms.union(*(column[index][step] for column in columns))
                    for step, atoms in enumerate(demonstration.abstract_states)
                ),
            )
            for index, demonstration in enumerate(self.demonstrations)
        )

    def atoms(self, predicate: Predicate) -> tuple[tuple[AbstractState, ...], ...]:
        """Return the atoms of an invented predicate in each state of each demonstration."""
        definition = predicate.definition
        assert definition is not None
        key = (predicate.name, definition)
        if key not in self._atoms:
            self._atoms[key] = tuple(
                self._demonstration_atoms(predicate, definition, index)
                for index in range(len(self.demonstrations))
            )
        return self._atoms[key]

    def extension(self, definition: AnyDefinition) -> tuple[np.ndarray, ...]:
        """Return, for each demonstration, a Boolean array that marks where the definition holds.

        The first axis of an array is the state. Each further axis is the object of one argument.
        """
        return tuple(self._extension(definition, index) for index in range(len(self.demonstrations)))

    def changes(self, definition: AnyDefinition) -> bool:
        """Return whether, for some objects, the definition changes its truth during a demonstration."""
        return any(bool((one != one[:1]).any()) for one in self.extension(definition))

    def _extension(self, definition: AnyDefinition, index: int) -> np.ndarray:
        features = {kind: self._feature_array(index, kind) for kind in definition.types}
        states = self.demonstrations[index].states
        assert states is not None
        return definition.truth(states, features)

    def _feature_array(self, index: int, kind: Type) -> np.ndarray:
        if (index, kind) not in self._features:
            states = self.demonstrations[index].states
            assert states is not None
            self._features[index, kind] = feature_array(states, kind)
        return self._features[index, kind]

    def _demonstration_atoms(
        self, predicate: Predicate, definition: AnyDefinition, index: int
    ) -> tuple[AbstractState, ...]:
        states = self.demonstrations[index].states
        assert states is not None
        domains = [states[0].of_type(kind) for kind in predicate.types]

        @functools.cache
        def atom(position: tuple[int, ...]) -> GroundAtom:
            return predicate(*(domain[i] for domain, i in zip(domains, position, strict=True)))

        holds = self._extension(definition, index)
        return tuple(frozenset(atom(tuple(p)) for p in np.argwhere(step).tolist()) for step in holds)
