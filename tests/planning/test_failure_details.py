"""Details of failures: goal atoms that cannot be reached, and the reasons of rejected draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import toy_world
from needful.core.controllers import Parameters
from needful.core.failure_causes import explain_failure
from needful.core.objects import Object
from needful.core.plans import Outcome
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.drawing.tries import group_draws
from needful.planning.bilevel import PlanningConfig, plan

SAMPLER = toy_world.UniformSampler(-0.4, 0.4)


def test_unreachable_goal_atoms_are_named() -> None:
    whole, start = toy_world.model(SAMPLER), toy_world.task().initial_state
    (robot,), (ball,), (jar,) = (
        start.of_type(kind) for kind in (toy_world.ROBOT, toy_world.BALL, toy_world.JAR)
    )
    inside, holding = toy_world.INSIDE(ball, jar), toy_world.HOLDING(robot, ball)
    task = Task(start, frozenset({inside, holding}))
    model = replace(whole, operators=tuple(one for one in whole.operators if one.name != "Drop"))
    result = plan(task, model, toy_world.execute)
    assert result.outcome is Outcome.NO_ABSTRACT_PLAN
    assert result.unreachable == result.missing_atoms == (inside,)
    explained = explain_failure(result)
    assert explained is not None
    assert explained.cause == "No sequence of the operators makes Inside(ball0, jar0) true."


def test_atoms_that_are_unreachable_because_of_deletes_are_named() -> None:
    """Grasp makes the hand busy, so a Drop that needs a free hand is never possible."""
    whole, start = toy_world.model(SAMPLER), toy_world.task(balls=2).initial_state
    robot, balls = start.of_type(toy_world.ROBOT)[0], start.of_type(toy_world.BALL)
    held = frozenset(toy_world.HOLDING(robot, ball) for ball in balls)
    result = plan(Task(start, held), whole, toy_world.execute)
    assert (result.outcome, result.unreachable) == (Outcome.NO_ABSTRACT_PLAN, ())  # each alone is possible
    free = toy_world.HAND_FREE.lifted(whole.operators[0].parameters[0])
    operators = tuple(
        replace(one, preconditions=one.preconditions | {free}) if one.name == "Drop" else one
        for one in whole.operators
    )
    task = toy_world.task()
    result = plan(task, replace(whole, operators=operators), toy_world.execute, strict=True)
    assert (result.outcome, frozenset(result.unreachable)) == (Outcome.NO_ABSTRACT_PLAN, task.goal)


@dataclass(frozen=True)
class Narrow:
    """An initiation test with two reasons to reject parameters."""

    def __call__(self, state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
        return False

    def rejection_reason(self, state: State, objects: Sequence[Object], parameters: Parameters) -> str:
        return "too far left" if parameters[0] < 0 else "too far right"


def test_rejected_draws_have_the_reasons_of_the_initiation_test() -> None:
    whole = toy_world.model(SAMPLER)
    operators = tuple(
        replace(one, controller=replace(one.controller, initiable=Narrow()))
        if one.name == "MoveTo"
        else one
        for one in whole.operators
    )
    samplers = {one.name: SAMPLER for one in operators if one.controller.low}
    model = replace(whole, operators=operators, samplers=samplers)
    result = plan(toy_world.task(), model, toy_world.execute, PlanningConfig(max_abstract_plans=1))
    assert result.failure is not None
    assert result.failure.draws
    for draw in result.failure.draws:
        assert draw.reason == ("too far left" if draw.parameters[0] < 0 else "too far right")
    _, groups = group_draws(result.failure.draws)
    assert sorted(groups) == ["could not start: too far left", "could not start: too far right"]
