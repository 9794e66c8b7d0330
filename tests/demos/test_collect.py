"""Collecting demonstrations: one per training task that can be solved."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

import toy_world
from needful.abstraction import abstract
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.demos.collect import OracleDemonstrator, as_demonstration, collect_demonstrations
from needful.envs.contract import Split
from needful.planning.bilevel import PlanningConfig
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()
ORACLE = OracleDemonstrator(TOY)


@dataclass
class FailingDemonstrator:
    """Demonstrates like the oracle, but fails on tasks with the given numbers of objects."""

    failing: dict[int, Outcome]
    seeds: list[int] = field(default_factory=list)

    def demonstrate(self, task: Task, seed: int) -> PlanningResult:
        self.seeds.append(seed)
        if len(task.objects) in self.failing:
            return PlanningResult(self.failing[len(task.objects)])
        return ORACLE.demonstrate(task, seed)


def test_the_oracle_demonstrates_every_task() -> None:
    done: list[int] = []
    collected = collect_demonstrations(TOY, ORACLE, count=3, seed=0, on_progress=done.append)
    assert collected.skipped == ()
    assert done == [1, 2, 3]
    tasks = TOY.tasks(Split.TRAIN, 3, seed=0)
    for task, demo in zip(tasks, collected.demonstrations, strict=True):
        assert (demo.objects, demo.goal) == (task.objects, task.goal)
        assert [action.controller.name for action in demo.actions] == ["MoveTo", "Grasp", "Drop"]
        assert demo.states is not None
        assert demo.states[0] == task.initial_state
        state = task.initial_state
        for action, expected in zip(demo.actions, demo.states[1:], strict=True):
            state = TOY.execute(state, action).state
            assert state == expected
        for state, atoms in zip(demo.states, demo.abstract_states, strict=True):
            assert atoms == abstract(state, TOY.vocabulary.predicates)


def test_unsolved_tasks_are_skipped_and_reported() -> None:
    # The first task has three objects, the second four, and so on.
    failing_demonstrator = FailingDemonstrator({4: Outcome.TIMEOUT, 6: Outcome.NO_ABSTRACT_PLAN})
    done: list[int] = []
    collected = collect_demonstrations(TOY, failing_demonstrator, count=4, seed=0, on_progress=done.append)
    assert [len(demo.objects) for demo in collected.demonstrations] == [3, 5]
    assert collected.skipped == ((1, Outcome.TIMEOUT), (3, Outcome.NO_ABSTRACT_PLAN))
    assert done == [1, 2, 3, 4]


def test_the_seed_of_a_task_depends_only_on_the_root_seed_and_the_index() -> None:
    few, many, others = FailingDemonstrator({}), FailingDemonstrator({}), FailingDemonstrator({})
    collect_demonstrations(TOY, few, count=2, seed=0)
    collect_demonstrations(TOY, many, count=3, seed=0)
    collect_demonstrations(TOY, others, count=3, seed=1)
    assert many.seeds[:2] == few.seeds
    assert len({*many.seeds, *others.seeds}) == 6


def test_a_goal_that_holds_already_is_a_demonstration_without_actions() -> None:
    state = toy_world.task().initial_state
    task = Task(state, frozenset({toy_world.HAND_FREE(toy_world.ROBOT("robot"))}))
    demo = as_demonstration(TOY, task, ORACLE.demonstrate(task, seed=0))
    assert (len(demo), demo.states) == (0, (state,))


def test_the_oracle_uses_its_configuration() -> None:
    hasty = OracleDemonstrator(TOY, PlanningConfig(timeout=1e-9))
    assert hasty.demonstrate(toy_world.task(), seed=0).outcome is Outcome.TIMEOUT
    with pytest.raises(AttributeError):
        hasty.model = ORACLE.model  # type: ignore[misc]
