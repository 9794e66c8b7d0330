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
        replace(one, controller=replace(one.controller, initiable=Narrow())) if one.name == "MoveTo" else one
        for one in whole.operators
    )
    samplers = {one.name: SAMPLER for one in operators if one.controller.low}
    model = replace(whole, operators=operators, samplers=samplers)
    result = plan(toy_world.task(), model, toy_world.execute, PlanningConfig(max_abstract_plans=1))
    assert result.failure is not None and result.failure.draws
    for draw in result.failure.draws:
        assert draw.reason == ("too far left" if draw.parameters[0] < 0 else "too far right")
    _, groups = group_draws(result.failure.draws)
    assert sorted(groups) == ["could not start: too far left", "could not start: too far right"]
