"""PushPullHook2D: the hook's shape, grasps, and pushes in KinDER's simulator."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("kinder", reason="needs KinDER, see docs/kinder.md")

from hypothesis import assume, given
from hypothesis import strategies as st
from tomsgeoms2d.structs import Circle, Lobject
from tomsgeoms2d.utils import geom2ds_intersect

from needful.core.objects import Object
from needful.core.state import State
from needful.envs.catalogue import make_environment
from needful.envs.kinder.bodies import Disc, object_bodies, overlap
from needful.envs.kinder.environment import CIRCLE
from needful.envs.kinder.push_pull_hook import HOOK, PushPullHook2D
from needful.planning.bilevel import PlanningConfig, plan

# The first grasp is in the middle of the long part of the hook.
GRASP = (0.5, 1.0)

coordinates = st.floats(-1.0, 1.0)


@pytest.fixture(scope="module")
def environment() -> PushPullHook2D:
    environment = make_environment("kinder/PushPullHook2D")
    assert isinstance(environment, PushPullHook2D)
    return environment


def _objects(state: State) -> list[Object]:
    names = {obj.name: obj for obj in state}
    return [names[name] for name in ("robot", "hook", "movable_button", "target_button")]


@given(st.floats(-math.pi, math.pi), coordinates, coordinates, st.floats(0.02, 0.3))
def test_the_shape_of_a_hook_agrees_with_kinder(theta: float, x: float, y: float, radius: float) -> None:
    values = dict.fromkeys(HOOK.features, 0.0) | {
        "theta": theta,
        "width": 0.05,
        "length_side1": 1.25,
        "length_side2": 0.6,
    }
    boxes = [body.shape for body in object_bodies("hook", values)]
    near, far = (any(overlap(box, Disc(x, y, radius), m) for box in boxes) for m in (1e-5, -1e-5))
    assume(near == far)
    hook = Lobject(0.0, 0.0, 0.05, (1.25, 0.6), theta)
    assert near == geom2ds_intersect(hook, Circle(x, y, radius))


def test_a_plan_of_the_oracle_terminates_in_kinder(environment: PushPullHook2D) -> None:
    task = environment.task("test", 0, seed=210)
    config = PlanningConfig(timeout=100.0).with_horizon(environment.horizon)
    result = plan(task, environment.oracle_model(), environment.execute, config, seed=0)
    assert result.solved
    assert environment.confirms(task, result.actions)
    assert not environment.confirms(task, result.actions[:1])


@pytest.mark.parametrize("direction", [0.0, math.pi / 2, math.pi, -math.pi / 2])
def test_the_hook_moves_the_button_in_all_directions(environment: PushPullHook2D, direction: float) -> None:
    state = environment.task("test", 5, seed=0).initial_state
    robot, hook, button, target = _objects(state)
    x, y = state.get(button, "x"), state.get(button, "y")
    there = {"x": x + 0.2 * math.cos(direction), "y": y + 0.2 * math.sin(direction)}
    state = state.replace({target: there})
    grasp, move = environment.vocabulary.controllers
    _, holding, pressed, _ = environment.vocabulary.predicates
    held = environment.simulate(state, grasp(robot, hook, parameters=GRASP))
    assert holding.holds(held, (robot, hook))
    assert held[button] == state[button]
    moved = environment.simulate(held, move(robot, hook, button, target))
    assert all(pressed.holds(moved, (one,)) for one in state.of_type(CIRCLE))
    way = moved.get(button, "x") - x, moved.get(button, "y") - y
    assert way[0] * math.cos(direction) + way[1] * math.sin(direction) >= 0.1


def test_skills_name_the_reason_if_they_cannot_start(environment: PushPullHook2D) -> None:
    state = environment.task("test", 5, seed=0).initial_state
    robot, hook, button, target = _objects(state)
    grasp, move = environment.vocabulary.controllers
    action = move(robot, hook, button, target)
    assert "does not hold hook" in str(action.rejection_reason(state))
    held = environment.simulate(state, grasp(robot, hook, parameters=GRASP))
    assert action.initiable(held)
    fixed = move(robot, hook, target, button)
    assert "target_button is fixed" in str(fixed.rejection_reason(held))
    assert "hand is not empty" in str(grasp(robot, hook, parameters=GRASP).rejection_reason(held))
    # The robot cannot get to the far corner of the table, so the hook does not reach behind a button there.
    far = held.replace({button: {"x": 0.1, "y": 2.4}, target: {"x": 0.4, "y": 2.1}})
    assert "does not reach" in str(action.rejection_reason(far))


def test_obstacles_of_a_grasp_are_not_blamed(environment: PushPullHook2D) -> None:
    state = environment.task("test", 5, seed=0).initial_state
    robot, hook, button, _ = _objects(state)
    grasp = environment.vocabulary.controllers[0](robot, hook, parameters=GRASP)
    held = environment.simulate(state, grasp)
    blocked = state.replace({button: {"x": held.get(robot, "x"), "y": held.get(robot, "y")}})
    assert "in the way: movable_button" in str(grasp.rejection_reason(blocked))
