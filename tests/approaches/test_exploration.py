"""Width search finds solutions without operators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from needful.approaches.practice import explore
from needful.core.controllers import Execution, GroundController
from needful.core.model import PlanningModel
from needful.core.state import State
from needful.core.tasks import Task
from workshop_world import POLISHED, THINGS, WORDS, execute, workshop

STATE = workshop((0.3, 1.0, 0.0), (0.6, 1.0, 0.0))
TASK = Task(STATE, frozenset({POLISHED(THINGS[0]), POLISHED(THINGS[1])}))


def test_goal_atoms_are_reached_one_after_the_other() -> None:
    found = explore(TASK, PlanningModel(WORDS, ()), execute, 5_000, np.random.default_rng(0))
    assert found is not None
    assert found.goal <= found.abstract_states[-1]
    assert found.states is not None
    for before, action, after in zip(found.states, found.actions, found.states[1:], strict=False):
        assert execute(before, action).state == after


def test_the_number_of_simulated_actions_is_limited() -> None:
    count = 0

    def counting(state: State, action: GroundController) -> Execution:
        nonlocal count
        count += 1
        return execute(state, action)

    assert explore(TASK, PlanningModel(WORDS, ()), counting, 10, np.random.default_rng(0)) is None
    assert count == 10


def test_an_unreachable_goal_ends_the_search() -> None:
    def idle(state: State, action: GroundController) -> Execution:
        return Execution(state)

    assert explore(TASK, PlanningModel(WORDS, ()), idle, 10_000, np.random.default_rng(0)) is None


def test_controllers_that_cannot_start_end_the_search() -> None:
    stuck = tuple(
        replace(one, initiable=lambda state, objects, parameters: False) for one in WORDS.controllers
    )
    words = replace(WORDS, controllers=stuck)
    assert explore(TASK, PlanningModel(words, ()), execute, 10, np.random.default_rng(0)) is None
