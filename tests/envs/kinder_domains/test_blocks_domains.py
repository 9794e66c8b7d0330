"""Obstruction2D, ClutteredRetrieval2D and ClutteredStorage2D: skills, objects in the way, paths."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("kinder", reason="needs KinDER, see docs/kinder.md")

from needful.core.objects import Object
from needful.core.state import State
from needful.envs.catalogue import make_environment
from needful.envs.kinder.bodies import Pose
from needful.envs.kinder.environment import KinderEnvironment
from needful.envs.kinder.motion import turn_between
from needful.envs.kinder.pose_lattice import PoseLattice
from needful.planning.bilevel import PlanningConfig, plan


def _environment(name: str) -> KinderEnvironment:
    environment = make_environment(name)
    assert isinstance(environment, KinderEnvironment)
    return environment


def _named(state: State, *names: str) -> list[Object]:
    objects = {obj.name: obj for obj in state}
    return [objects[name] for name in names]


@pytest.mark.parametrize(
    "name", ["kinder/Obstruction2D-o2", "kinder/ClutteredRetrieval2D-o10", "kinder/ClutteredStorage2D-b3"]
)
def test_plans_of_the_oracle_terminate_in_kinder(name: str) -> None:
    environment = _environment(name)
    task = environment.task("test", 0, seed=210)
    config = PlanningConfig(timeout=100.0).with_horizon(environment.horizon)
    result = plan(task, environment.oracle_model(), environment.execute, config, seed=0)
    assert result.solved
    assert environment.confirms(task, result.actions)


def test_a_block_is_not_put_back_onto_the_surface() -> None:
    environment = _environment("kinder/Obstruction2D-o1")
    state = environment.task("test", 0, seed=210).initial_state
    robot, block, surface = _named(state, "robot", "obstruction0", "target_surface")
    pick, place, _ = environment.vocabulary.controllers
    held = environment.execute(state, pick(robot, block, parameters=(0.0,))).state
    middle = state.get(surface, "x") + state.get(surface, "width") / 2
    assert "on the target surface" in str(place(robot, block, parameters=(middle,)).rejection_reason(held))
    assert "does not hold" in str(place(robot, block, parameters=(middle,)).rejection_reason(state))


def test_a_block_close_to_another_can_be_picked() -> None:
    environment = _environment("kinder/Obstruction2D-o1")
    state = environment.task("test", 0, seed=210).initial_state
    robot, target, other = _named(state, "robot", "target_block", "obstruction0")
    beside = state.get(target, "x") + state.get(target, "width") + 3e-4
    state = state.replace({other: {"x": beside, "height": state.get(target, "height")}})
    pick = environment.vocabulary.controllers[0]
    execution = environment.execute(state, pick(robot, target, parameters=(-1.0,)))
    assert execution.steps
    assert not execution.offending


def test_a_block_on_the_surface_is_in_the_way() -> None:
    environment = _environment("kinder/Obstruction2D-o1")
    state = environment.task("test", 0, seed=210).initial_state
    robot, target, other, surface = _named(state, "robot", "target_block", "obstruction0", "target_surface")
    middle = state.get(surface, "x") + (state.get(surface, "width") - state.get(other, "width")) / 2
    state = state.replace({other: {"x": middle}, target: {"x": 0.3 if middle > 0.8 else 1.2}})
    pick, _, place_on = environment.vocabulary.controllers
    held = environment.execute(state, pick(robot, target, parameters=(0.0,))).state
    action = place_on(robot, target, surface, parameters=(0.0,))
    assert action.initiable(held)
    assert environment.execute(held, action).offending == (other,)


def test_a_block_is_not_stored_before_a_block_with_space_behind_it() -> None:
    environment = _environment("kinder/ClutteredStorage2D-b3")
    task = environment.task("test", 0, seed=210)
    robot, lying, other, shelf = _named(task.initial_state, "robot", "block0", "block1", "shelf")
    pick, store = environment.vocabulary.controllers
    rng = np.random.default_rng(0)

    def picked(state: State, block: Object) -> State:
        while True:
            grasp = pick(robot, block, parameters=rng.uniform(pick.low, pick.high))
            if grasp.initiable(state) and (execution := environment.execute(state, grasp)).steps:
                return execution.state

    held = picked(task.initial_state, other)
    assert environment.execute(held, store(robot, other, shelf, parameters=(0.0,))).offending == (lying,)
    held = picked(task.initial_state, lying)
    stored = environment.execute(held, store(robot, lying, shelf, parameters=(0.0,))).state
    assert all(atom.holds(stored) for atom in task.goal if lying in atom.objects)


def _lattice(environment: KinderEnvironment, state: State) -> PoseLattice:
    return PoseLattice(environment.room.scene(state), environment.room.limits, environment.room.bounds)


def test_paths_are_free_and_one_action_apart() -> None:
    environment = _environment("kinder/ClutteredRetrieval2D-o10")
    limits = environment.room.limits
    rng = np.random.default_rng(0)
    found = 0
    for task in environment.tasks("test", 3, seed=210):
        lattice = _lattice(environment, task.initial_state)
        scene = lattice.scene
        goal = Pose(*rng.uniform(0.2, 2.3, 2), rng.uniform(-math.pi, math.pi), scene.pose.arm)
        path = lattice.path(goal)
        if path is None:
            continue
        found += 1
        assert path[-1] == goal
        assert all(next(scene.collisions(pose), None) is None for pose in path[1:-1])
        for before, after in pairwise((scene.pose, *path)):
            assert max(abs(after.x - before.x), abs(after.y - before.y)) <= limits.move + 1e-6
            assert abs(turn_between(before.theta, after.theta)) <= limits.turn + 1e-6
    assert found


def test_objects_that_close_a_passage_are_found() -> None:
    """A block, long and wide enough to divide the room, is between the robot and its goal."""
    environment = _environment("kinder/ClutteredRetrieval2D-o1")
    state = environment.task("test", 0, seed=210).initial_state
    robot, wall, target = _named(state, "robot", "obstruction0", "target_block")
    state = state.replace(
        {
            robot: {"x": 0.5, "y": 1.0},
            wall: {"x": 1.2, "y": 0.01, "theta": 0.0, "width": 0.1, "height": 2.48},
            target: {"x": 0.1, "y": 2.3, "theta": 0.0},
        }
    )
    lattice = _lattice(environment, state)
    goal = Pose(2.0, 1.0, 0.0, lattice.scene.pose.arm)
    assert lattice.path(goal) is None
    assert lattice.path_obstacles(goal) == (wall,)
    assert lattice.path_obstacles(goal, kept=wall) == ()
    # A place at which no block can be put down is no reason to remove others: there are other places.
    pick, put_down, _ = environment.vocabulary.controllers
    held = environment.execute(state, pick(robot, target, parameters=(0.5, 0.0))).state
    assert "no way" in str(put_down(robot, target, parameters=(2.0, 1.0, 0.0)).rejection_reason(held))
    assert "no space" in str(put_down(robot, target, parameters=(0.5, 0.0, 0.0)).rejection_reason(held))
    assert "close to" in str(put_down(robot, target, parameters=(1.25, 1.0, 0.0)).rejection_reason(held))


@pytest.mark.parametrize("place", [-1.0, 1.0])
def test_a_block_at_the_end_of_the_surface_is_on_it_in_kinder_too(place: float) -> None:
    environment = _environment("kinder/Obstruction2D-o0")
    task = environment.task("test", 1, seed=210)
    robot, target, surface = _named(task.initial_state, "robot", "target_block", "target_surface")
    pick, _, place_on = environment.vocabulary.controllers
    actions = (
        pick(robot, target, parameters=(0.0,)),
        place_on(robot, target, surface, parameters=(place,)),
    )
    assert environment.confirms(task, actions)
