"""DynObstruction2D: skills with physics, predicted from restored states and confirmed in one run."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("kinder", reason="needs KinDER, see docs/kinder.md")
pytest.importorskip("pymunk", reason="needs pymunk, see docs/kinder.md")

from needful.core.objects import Object
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.kinder.dyn_obstruction import BLOCK, DynObstruction2D


@pytest.fixture(scope="module")
def environment() -> DynObstruction2D:
    environment = make_environment("kinder/DynObstruction2D-o1")
    assert isinstance(environment, DynObstruction2D)
    return environment


@pytest.fixture(scope="module")
def state(environment: DynObstruction2D) -> State:
    """Return a state with the block, an obstruction and the surface at known places."""
    initial = environment.task("test", 0, seed=300).initial_state
    robot, target, surface, other = _objects(initial)
    at = {"x": 1.2, "y": 0.1 + 0.12, "width": 0.2, "height": 0.24}
    return initial.replace(
        {
            robot: {"x": 0.6, "y": 0.8, "theta": -math.pi / 4},
            target: at,
            surface: {"x": 2.0, "width": 0.3},
            other: at | {"x": 2.0, "width": 0.4},
        }
    )


def _objects(state: State) -> list[Object]:
    names = {obj.name: obj for obj in state}
    return [names[name] for name in ("robot", "target_block", "target_surface", "obstruction0")]


def test_the_target_is_pushed_together_with_the_block_in_front(
    environment: DynObstruction2D, state: State
) -> None:
    robot, target, surface, other = _objects(state)
    push = environment.vocabulary.controllers[-1](robot, target, surface)
    on = environment.vocabulary.predicates[-1]
    after = environment.simulate(state, push)
    assert on.holds(after, (target, surface))
    assert not on.holds(state, (target, surface))
    assert after.get(other, "x") == pytest.approx(2.3, abs=0.02)
    assert environment.confirms(Task(state, environment.goal(state)), [push])
    assert len(environment.low_level_actions(state, push)) == environment.execute(state, push).steps


def test_a_narrow_block_is_grasped_and_put_down(environment: DynObstruction2D, state: State) -> None:
    robot, target, surface, other = _objects(state)
    empty, holding, on = environment.vocabulary.predicates
    pick, place, place_on, push = environment.vocabulary.controllers
    held = environment.simulate(state, pick(robot, target))
    assert holding.holds(held, (robot, target))
    assert not empty.holds(held, (robot,))
    assert "hand is not empty" in str(pick(robot, other).rejection_reason(held))
    assert "hand is not empty" in str(push(robot, target, surface).rejection_reason(held))
    assert environment.execute(held, place_on(robot, target, surface)).offending == (other,)
    aside = environment.simulate(held, place(robot, target, parameters=(0.8,)))
    assert empty.holds(aside, (robot,))
    assert aside.get(target, "x") == pytest.approx(0.8, abs=0.02)
    free = held.replace({other: {"x": 3.0}})
    assert on.holds(environment.simulate(free, place_on(robot, target, surface)), (target, surface))


def test_skills_name_the_reason_if_they_cannot_start(environment: DynObstruction2D, state: State) -> None:
    robot, target, surface, other = _objects(state)
    pick, place, _, push = environment.vocabulary.controllers
    assert "too wide" in str(pick(robot, other).rejection_reason(state))
    assert "does not hold" in str(place(robot, target, parameters=(0.8,)).rejection_reason(state))
    assert "on the target surface" in str(place(robot, target, parameters=(2.0,)).rejection_reason(state))
    cornered = state.replace({target: {"x": 0.15}})
    assert "wall" in str(push(robot, target, surface).rejection_reason(cornered))
    narrow = state.replace({surface: {"x": 2.9}})
    failed = environment.execute(narrow, push(robot, target, surface))
    assert "not enough space" in str(failed.failure)
    assert failed.offending == (other,)


def test_blocks_behind_the_target_are_pushed_as_well(environment: DynObstruction2D, state: State) -> None:
    robot, target, surface, other = _objects(state)
    behind = state.replace({other: {"x": 0.88}})
    push = environment.vocabulary.controllers[-1](robot, target, surface)
    after = environment.simulate(behind, push)
    assert environment.vocabulary.predicates[-1].holds(after, (target, surface))
    assert after.get(other, "x") > 1.6


def test_a_motion_that_is_stopped_fails(environment: DynObstruction2D, state: State) -> None:
    robot, target, surface, _ = _objects(state)
    # The arm is stretched upwards, so the robot cannot rise above the blocks.
    stuck = state.replace({robot: {"y": 1.2, "theta": math.pi / 2, "arm_joint": 0.48}})
    push = environment.vocabulary.controllers[-1](robot, target, surface)
    assert "does not get to a waypoint" in str(environment.execute(stuck, push).failure)
    assert not environment.confirms(Task(stuck, environment.goal(stuck)), [push])


def test_a_prediction_from_restored_states_agrees_with_one_run(
    environment: DynObstruction2D, state: State
) -> None:
    robot, target, *_ = _objects(state)
    pick, place, *_ = environment.vocabulary.controllers
    actions = [pick(robot, target), place(robot, target, parameters=(0.8,))]
    predicted = environment.simulate(environment.simulate(state, actions[0]), actions[1])
    run = environment._reset(Task(state, environment.goal(state)))
    for action in actions:
        *_, last = environment._steps(run, state, action)
        state = last.state
    for block in state.of_type(BLOCK):
        assert np.allclose(predicted[block][:3], state[block][:3], atol=1e-3)
