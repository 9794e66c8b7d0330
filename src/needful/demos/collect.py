"""Collect demonstrations of training tasks.

The oracle demonstrator plans with the hand-written operators and samplers of a domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from needful.abstraction.abstract import abstract
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.objects import counted, short_repr
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.planning.bilevel import PlanningConfig, plan
from needful.seeding import seed_for


class Demonstrator(Protocol):
    """Solves tasks to produce demonstrations."""

    def demonstrate(self, task: Task, seed: int) -> PlanningResult:
        """Solve the task; return the actions and the visited states, or the reason for the failure."""
        ...


@dataclass(frozen=True, slots=True)
class CollectedDemonstrations:
    """The demonstrations of the solved training tasks, and the tasks that were not solved.

    `skipped` holds the index and the outcome of each task that was not solved.
    """

    demonstrations: tuple[Demonstration, ...]
    skipped: tuple[tuple[int, Outcome], ...]

    def __repr__(self) -> str:
        return short_repr(
            self, counted(self.demonstrations, "demonstration"), counted(self.skipped, "skipped task")
        )


def collect_demonstrations(
    environment: Environment,
    demonstrator: Demonstrator,
    count: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda done: None,
) -> CollectedDemonstrations:
    """Collect one demonstration of each of the first `count` training tasks.

    Tasks that the demonstrator cannot solve are listed in the result's `skipped`; no other tasks replace
    them. After each task, `on_progress` is called with the number of tasks that were tried.
    """
    found, skipped = [], []
    for index, task in enumerate(environment.tasks(Split.TRAIN, count, seed)):
        result = demonstrator.demonstrate(task, seed_for(seed, "demonstrate", index))
        if result.solved:
            found.append(as_demonstration(environment, task, result))
        else:
            skipped.append((index, result.outcome))
        on_progress(index + 1)
    return CollectedDemonstrations(tuple(found), tuple(skipped))


def as_demonstration(environment: Environment, task: Task, result: PlanningResult) -> Demonstration:
    """Convert the planning result of a solved task to a demonstration."""
    predicates = environment.vocabulary.predicates
    return Demonstration(
        objects=task.objects,
        goal=task.goal,
        abstract_states=tuple(abstract(state, predicates) for state in result.states),
        actions=result.actions,
        states=result.states,
    )


@dataclass(frozen=True, slots=True)
class OracleDemonstrator:
    """Solves tasks of an environment by bilevel planning with the environment's oracle model."""

    environment: Environment
    config: PlanningConfig = field(default_factory=PlanningConfig)
    model: PlanningModel = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", self.environment.oracle_model())

    def demonstrate(self, task: Task, seed: int) -> PlanningResult:
        """Return the result of planning for the task with the oracle model."""
        return plan(task, self.model, self.environment.execute, self.config, seed)
