"""KinDER's environments as domains: tasks, states, prediction, replay, collisions and drawing."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("kinder", reason="needs KinDER, see docs/kinder.md")

import kinder

from needful.core.controllers import Parameters
from needful.core.objects import Object
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import kinder_names, make_environment
from needful.envs.drawing.pictures import draw_state
from needful.envs.kinder.environment import (
    RECTANGLE,
    ROBOT,
    TRAINING_SEED,
    KinderEnvironment,
    KinderTask,
    Room,
    Skill,
)
from needful.envs.kinder.motion import Waypoint, Waypoints
from needful.envs.kinder.stick_button import StickButton2D
from needful.errors import MissingPackageError, UnknownNameError
from needful.evaluation.evaluate import achieves_goal
from needful.planning.bilevel import PlanningConfig, plan


def _environment(name: str) -> KinderEnvironment:
    environment = make_environment(name)
    assert isinstance(environment, KinderEnvironment)
    return environment


def _solve(environment: KinderEnvironment, task: Task) -> PlanningResult:
    config = PlanningConfig(timeout=100.0).with_horizon(environment.horizon)
    return plan(task, environment.oracle_model(), environment.execute, config, seed=0)


@pytest.mark.parametrize("name", kinder_names())
def test_test_tasks_are_the_tasks_of_kinder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("kinder/Dyn"):
        pytest.importorskip("pymunk", reason="needs pymunk, see docs/kinder.md")
    environment = _environment(name)
    assert environment.name == name
    # The registration changes these two variables, and then houses cannot be rendered any more.
    for variable in ("MUJOCO_GL", "PYOPENGL_PLATFORM"):
        monkeypatch.setenv(variable, "")
    kinder.register_all_environments()
    theirs = kinder.make(f"{name}-v0", disable_env_checker=True)
    for index in range(2):
        task = environment.task("test", index, seed=30)
        observation, _ = theirs.reset(seed=30 + index)
        objects = [environment_object(task.initial_state, obj.name) for obj in theirs_objects(theirs)]
        assert np.array_equal(task.initial_state.vector(objects).astype(np.float32), observation)
        assert not task.achieved_in(task.initial_state)


def theirs_objects(theirs: kinder.gymnasium.Env) -> list[Object]:
    return theirs.observation_space.constant_objects


def environment_object(state: State, name: str) -> Object:
    return next(obj for obj in state if obj.name == name)


def test_training_tasks_are_small_and_have_other_seeds() -> None:
    environment = _environment("kinder/StickButton2D-b10")
    tasks = environment.tasks("train", 6, seed=0)
    assert [len(task.goal) for task in tasks] == [1, 2, 3, 1, 2, 3]
    assert all(isinstance(task, KinderTask) and task.seed >= TRAINING_SEED for task in tasks)
    assert tasks == environment.tasks("train", 6, seed=0)


@pytest.mark.parametrize("name", ["kinder/StickButton2D-b3", "kinder/Motion2D-p2"])
def test_predictions_agree_with_the_simulator(name: str) -> None:
    environment = _environment(name)
    for task in environment.tasks("test", 3, seed=200):
        result = _solve(environment, task)
        assert result.solved
        state = task.initial_state
        for action in result.actions:
            predicted = environment.execute(state, action)
            simulated = list(environment.trace(state, action))
            assert predicted.steps == len(simulated)
            assert predicted.state.allclose(simulated[-1], 1e-4)
            state = predicted.state
        assert achieves_goal(environment, task, result.actions)


def test_only_plans_that_terminate_in_kinder_count() -> None:
    environment = _environment("kinder/StickButton2D-b3")
    task = environment.task("test", 1, seed=200)
    actions = _solve(environment, task).actions
    assert environment.confirms(task, actions)
    assert environment.confirms(Task(task.initial_state, task.goal), actions)
    assert not environment.confirms(task, actions[:1])
    assert not environment.confirms(task, ())
    assert not environment.confirms(task, actions[1:])  # the stick is not held


def _drive_into_the_stick(
    room: Room, state: State, objects: Sequence[Object], parameters: Parameters
) -> Waypoints:
    scene = room.scene(state)
    x, y = state[objects[1]][:2]
    pose = type(scene.pose)(x, y + 0.05, scene.pose.theta, scene.pose.arm)
    return (Waypoint(pose),)


class _Reckless(StickButton2D):
    skills = (*StickButton2D.skills, Skill("Drive", (ROBOT, RECTANGLE), _drive_into_the_stick))


def test_a_collision_names_the_object_in_prediction_and_simulation() -> None:
    environment = _Reckless(1)
    state = environment.task("test", 0, seed=200).initial_state
    robot, stick = (environment_object(state, name) for name in ("robot", "stick"))
    drive = environment.vocabulary.controllers[-1](robot, stick)
    execution = environment.execute(state, drive)
    assert (execution.steps, execution.offending) == (0, (stick,))
    with pytest.raises(Exception, match="collides with stick"):
        list(environment.trace(state, drive))


def test_skills_reject_states_in_which_they_cannot_start() -> None:
    environment = _environment("kinder/StickButton2D-b1")
    state = environment.task("test", 0, seed=200).initial_state
    robot, stick, button = (environment_object(state, name) for name in ("robot", "stick", "button0"))
    pick, place, _, stick_press = environment.vocabulary.controllers
    assert not place(robot, stick).initiable(state)
    reason = stick_press(robot, stick, button).rejection_reason(state)
    assert reason == "The robot does not hold the stick."
    assert pick(robot, stick, parameters=(1.57, 0.0)).initiable(state)
    # From above, the base would stand on the table.
    assert not pick(robot, stick, parameters=(0.0, 1.0)).initiable(state)


def test_a_held_stick_can_be_put_down() -> None:
    environment = _environment("kinder/StickButton2D-b1")
    state = environment.task("test", 0, seed=200).initial_state
    robot, stick = (environment_object(state, name) for name in ("robot", "stick"))
    pick, place, *_ = environment.vocabulary.controllers
    empty, holding, *_ = environment.vocabulary.predicates
    held = environment.simulate(state, pick(robot, stick, parameters=(1.57, 0.0)))
    assert holding.holds(held, (robot, stick))
    assert not empty.holds(held, (robot,))
    placed = environment.simulate(held, place(robot, stick))
    assert empty.holds(placed, (robot,))
    assert placed[stick] == held[stick]


def test_pressing_a_button_that_is_touched_already_takes_one_idle_action() -> None:
    environment = _environment("kinder/StickButton2D-b1")
    state = environment.task("test", 0, seed=200).initial_state
    robot, stick, button = (environment_object(state, name) for name in ("robot", "stick", "button0"))
    pick, _, _, press = environment.vocabulary.controllers
    held = environment.simulate(state, pick(robot, stick, parameters=(1.57, 0.0)))
    pressed = environment.simulate(held, press(robot, stick, button))
    again = environment.execute(pressed, press(robot, stick, button))
    assert (again.steps, again.state) == (1, pressed)
    (simulated,) = environment.trace(pressed, press(robot, stick, button))
    assert simulated.allclose(pressed, 1e-5)


def test_a_picture_is_drawn_with_the_renderer_of_kinder() -> None:
    environment = _environment("kinder/StickButton2D-b1")
    task = environment.task("test", 0, seed=200)
    assert draw_state(environment, task.initial_state, task.goal).startswith(b"\x89PNG")


def test_unknown_sizes_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'kinder/StickButton2D-b"):
        make_environment("kinder/StickButton2D-b4")
    monkeypatch.setitem(sys.modules, "needful.envs.kinder.motion2d", None)
    monkeypatch.delitem(sys.modules, "needful.envs.kinder.motion2d")
    monkeypatch.setitem(sys.modules, "kinder.envs.kinematic2d.motion2d", None)
    with pytest.raises(MissingPackageError, match=r"needs kinder.*pip install --no-deps kindergarden"):
        make_environment("kinder/Motion2D-p0")
