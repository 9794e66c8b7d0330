"""Learn operators from demonstrations with the paper's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.operator_learning.delete_patterns import Generalise, partly_bound
from needful.operator_learning.hill_climbing import Climb, Move, Resume, alternate, climb_where_stuck
from needful.operator_learning.learned_operators import (
    EncodedOperatorData,
    LearnedOperators,
    evaluate_operators,
)
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.merge_types import merge_types
from needful.operator_learning.noise import Repairs, repair_noise
from needful.operator_learning.reduce_complexity import reduce_truthfully
from needful.operator_learning.unnamed_objects import conditions_on_unnamed_objects

Schedule: TypeAlias = Callable[[LearningProblem, Move, Climb], Climb]
TypeMerger: TypeAlias = Callable[[Climb, LearningProblem], Climb]
NoiseRepair: TypeAlias = Callable[[Sequence[Demonstration]], Repairs]
ConditionFinder: TypeAlias = Callable[[Climb, LearningProblem, Resume], Climb]


@dataclass(frozen=True, slots=True)
class OperatorLearningConfig:
    """The functions that implement the exchangeable parts of the learner.

    Attributes:
        generalise: turns a mispredicted atom into a quantified delete (a pattern that matches atoms).
        reduce: deletes an operator if the others make it redundant.
        schedule: the hill climbing. It decides when operators are added, and when `reduce` is called.
        types: merges operators and quantified deletes that differ only in types, after hill climbing.
    """

    generalise: Generalise = partly_bound
    reduce: Move = reduce_truthfully
    schedule: Schedule = alternate
    types: TypeMerger = merge_types
    conditions: ConditionFinder = conditions_on_unnamed_objects
    skip_idle_steps: bool = True
    repair: NoiseRepair = repair_noise

    def describe(self) -> dict[str, str]:
        """Return the name of the function chosen for each part, to be stored with the learned model."""
        return {
            "generalise": self.generalise.__name__,
            "reduce": self.reduce.__name__,
            "schedule": self.schedule.__name__,
            "types": self.types.__name__,
            "conditions": self.conditions.__name__,
        }


def learn_operators(
    demonstrations: Sequence[Demonstration],
    config: OperatorLearningConfig | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Learn operators that model only the changes necessary for the demonstrations' goals.

    The result depends only on the demonstrations, their order and the configuration. Raises
    `LearningTimeoutError` if the deadline passes.
    """
    config = config or OperatorLearningConfig()
    repairs = config.repair(demonstrations)
    demonstrations = repairs.demonstrations
    problem = LearningProblem.of(demonstrations, config.generalise, deadline, config.skip_idle_steps)

    def resume(start: Climb, problem: LearningProblem) -> Climb:
        return config.schedule(problem, config.reduce, start)

    def resume_and_merge(start: Climb, problem: LearningProblem) -> Climb:
        return config.types(resume(start, problem), problem)

    climb = config.conditions(resume(Climb(problem.empty_hypothesis()), problem), problem, resume)
    if config.skip_idle_steps:
        problem = problem.skipping_purposeless_steps()
        climb = resume(Climb(problem.cover_again(climb.hypothesis), climb.steps), problem)
    merged = config.types(climb, problem)
    if merged is not climb:
        climb = config.conditions(merged, problem, resume_and_merge)
    climb = climb_where_stuck(problem, resume_and_merge, climb)
    found = (EncodedOperatorData(fitted.operator, fitted.data) for fitted in climb.hypothesis.fitted)
    learned = evaluate_operators(found, climb.hypothesis.coverage, problem.matcher, climb.steps)
    return replace(learned, repairs=repairs)
