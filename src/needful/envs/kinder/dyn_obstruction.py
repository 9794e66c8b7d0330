"""DynObstruction2D: put a block onto a surface that other blocks occupy, with physics (pymunk).

The robot has a gripper with two fingers. If the target block is too wide for the fingers, the robot pushes
it along the table, together with the blocks in front of it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from kinder.envs.dynamic2d.base_env import PymunkNondeterminismWarning
from kinder.envs.dynamic2d.dyn_obstruction2d import DynObstruction2DEnv, DynObstruction2DEnvConfig

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import GroundController, Parameters
from needful.core.model import PlanningModel
from needful.core.objects import Object, Type, Variable
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import oracle_operator
from needful.envs.kinder.blocks import uniform_model
from needful.envs.kinder.bodies import Box, Pose
from needful.envs.kinder.environment import KinderEnvironment, Room, Skill
from needful.envs.kinder.motion import Waypoint, Waypoints, turn_between
from needful.errors import EnvironmentFailure

CONFIG = DynObstruction2DEnvConfig()
_MOTION = tuple(
    f"{name}_{part}" for part in ("base", "arm", "gripper_l", "gripper_r") for name in ("vx", "vy", "omega")
)
_BODY = ("x", "y", "theta", *_MOTION, "static", "base_radius", "arm_joint", "arm_length")
_GRIPPER = ("gripper_base_width", "gripper_base_height", "finger_gap", "finger_height", "finger_width")
ROBOT = Type("kin_robot", (*_BODY, *_GRIPPER))
_FEATURES = ("x", "y", "theta", "vx", "vy", "omega", "static", "held", "color_r", "color_g", "color_b")
SURFACE = Type("target_surface", (*_FEATURES, "z_order", "width", "height"))
BLOCK = Type("dyn_rectangle", (*SURFACE.features, "mass"))
TARGET = Type("target_block", BLOCK.features, BLOCK)

TABLE = CONFIG.table_height
BASE, ARM = CONFIG.robot_base_radius, CONFIG.robot_arm_length_max
FINGER = CONFIG.gripper_finger_width
# OUTER is half the distance between the outer sides of the open fingers, and INNER half the distance
# between their inner sides.
OUTER = (CONFIG.gripper_base_height + CONFIG.gripper_finger_height) / 2
INNER = (CONFIG.gripper_base_height - CONFIG.gripper_finger_height) / 2
DOWN = -math.pi / 2
MARGIN = 0.015  # a safety distance between the gripper, blocks, the table and walls
# At the height ALTITUDE, the robot with a held block passes above all other blocks. The robot turns its arm
# only where its base is at least TURNING away from the left and right walls.
ALTITUDE, TURNING = 1.45, 0.5
# A waypoint counts as reached if no coordinate of the robot differs by more than this, because KinDER's
# controller is not exact.
REACHED = 0.004
# If the robot has not reached a waypoint after this number of actions, an obstacle stops it, and the skill
# fails.
MAX_STEPS = 80
# The largest changes in one low-level action: x, y, direction, arm length and gap between the fingers.
LIMITS = np.array([CONFIG.max_dx, CONFIG.max_dy, CONFIG.max_dtheta, CONFIG.max_darm, CONFIG.max_dgripper])
# As in KinDER's goal test, a block is on a surface if its two lower corners, moved down by this distance,
# lie in the rectangle of the surface.
TOLERANCE = 0.025


def _box(state: State, obj: Object) -> Box:
    x, y, theta = state[obj][:3]
    return Box.around(x, y, state.get(obj, "width"), state.get(obj, "height"), theta)


def _span(state: State, obj: Object) -> tuple[float, float]:
    """Return the lowest and the highest x of a block."""
    xs = [x for x, _ in _box(state, obj).corners()]
    return min(xs), max(xs)


def _is_held(state: State, objects: Sequence[Object]) -> bool:
    return bool(state.get(objects[-1], "held") > 0.5)


def _hand_is_empty(state: State, objects: Sequence[Object]) -> bool:
    return not any(_is_held(state, (block,)) for block in state.of_type(BLOCK))


def _is_on(state: State, objects: Sequence[Object]) -> bool:
    """Return whether a block is on a surface; this is the goal test of KinDER (see `TOLERANCE`)."""
    block, surface = (_box(state, obj) for obj in objects)
    corners = sorted(block.corners(), key=lambda corner: corner[1])[:2]
    return all(
        abs(x - surface.x) <= surface.half_width and abs(y - TOLERANCE - surface.y) <= surface.half_height
        for x, y in corners
    )


@dataclass(frozen=True, slots=True)
class Step:
    """A low-level action, the state after it, and whether KinDER reports that the task is solved."""

    action: np.ndarray
    state: State
    terminated: bool


HAND_EMPTY = Predicate("HandEmpty", (ROBOT,), _hand_is_empty)
HOLDING = Predicate("Holding", (ROBOT, BLOCK), _is_held)
ON = Predicate("On", (BLOCK, SURFACE), _is_on)


def _approach(room: Room, state: State, x: float, closed: bool) -> Waypoints:
    """Return the motion to a pose at `x`, higher than all blocks, with the arm pointing down.

    The robot first rises. If the arm does not point down, the robot turns it at a safe distance from the
    walls. `closed` is whether the fingers are closed during the motion.
    """
    low, _, high, _ = room.bounds
    if not low + BASE < x < high - BASE:
        raise EnvironmentFailure("a wall is in the way")
    robot = state.of_type(ROBOT)[0]
    here = Pose(*(state.get(robot, name) for name in ("x", "y", "theta", "arm_joint")))
    up = replace(here, y=ALTITUDE)
    waypoints = [up, Pose(x, ALTITUDE, DOWN, BASE)]
    if abs(turn_between(here.theta, DOWN)) > REACHED:
        middle = min(max(here.x, low + TURNING), high - TURNING)
        waypoints[1:1] = [replace(up, x=middle), replace(waypoints[1], x=middle)]
    return tuple(Waypoint(pose, closed) for pose in waypoints)


def _pick(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Return the motion that grasps a block from above and lifts it."""
    _, block = objects
    if not _hand_is_empty(state, ()):
        raise EnvironmentFailure("the hand is not empty")
    low, high = _span(state, block)
    if high - low > 2 * (INNER - MARGIN):
        raise EnvironmentFailure(f"{block.name} is too wide for the fingers")
    x = (low + high) / 2
    _require_free(state, x - OUTER, x + OUTER, {block})
    top = max(y for _, y in _box(state, block).corners())
    grasp = Pose(x, top + CONFIG.gripper_base_width / 2 + MARGIN + ARM, DOWN, ARM)
    lifted = Waypoint(replace(grasp, y=ALTITUDE, arm=BASE), True)
    return (*_approach(room, state, x, False), Waypoint(grasp), Waypoint(grasp, True), lifted)


def _release(room: Room, state: State, block: Object, x: float) -> Waypoints:
    """Return the motion that puts the held block down with its centre at `x`."""
    robot = state.of_type(ROBOT)[0]
    if not _is_held(state, (block,)):
        raise EnvironmentFailure(f"the robot does not hold {block.name}")
    low, high = _span(state, block)
    reach = max(OUTER, (high - low) / 2)
    _require_free(state, x - reach, x + reach, {block})
    above = _approach(room, state, x + state.get(robot, "x") - (low + high) / 2, True)
    bottom = min(y for _, y in _box(state, block).corners())
    hanging = state.get(robot, "y") - state.get(robot, "arm_joint") - bottom
    down = replace(above[-1].pose, y=TABLE + REACHED + hanging + ARM, arm=ARM)
    return (*above, Waypoint(down, True), Waypoint(down), Waypoint(above[-1].pose))


def _place(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Put a block on the table, but not onto the target surface; the parameter is the x of its centre."""
    (surface,) = state.of_type(SURFACE)
    low, high = _span(state, surface)
    half = state.get(objects[1], "width") / 2
    if low - half < parameters[0] < high + half:
        raise EnvironmentFailure("this place is on the target surface")
    return _release(room, state, objects[1], parameters[0])


def _place_on(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Put a block onto the middle of a surface."""
    _, block, surface = objects
    return _release(room, state, block, state.get(surface, "x"))


def _push_on(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Push a block along the table onto the middle of a surface, with the side of a finger.

    The fingers need space behind the block. If another block is too close behind it, the robot puts the
    fingers behind this other block and pushes both. More blocks are added in the same way.
    """
    _, block, surface = objects
    if not _hand_is_empty(state, ()):
        raise EnvironmentFailure("the hand is not empty")
    low, high = _span(state, block)
    goal = state.get(surface, "x")
    sign = 1 if goal > (low + high) / 2 else -1
    # Coordinates along the direction of the push: `behind` is the back of the last pushed block. `depth` is
    # the total length of the pushed blocks.
    behind, depth = (low if sign > 0 else -high), high - low
    others = sorted(_ahead(state, one, sign) for one in state.of_type(BLOCK) if one != block)
    for back, front in reversed([span for span in others if span[0] < behind]):
        if front > behind - 2 * OUTER - 2 * MARGIN:
            behind, depth = back, depth + front - back
    _require_space(room, state, block, sign, goal)
    start = Pose(sign * (behind - OUTER - MARGIN), TABLE + MARGIN + FINGER + ARM, DOWN, ARM)
    end = replace(start, x=goal + sign * ((high - low) / 2 - depth - OUTER))
    above = _approach(room, state, start.x, False)
    return (*above, Waypoint(start), Waypoint(end), Waypoint(replace(end, y=ALTITUDE, arm=BASE)))


def _ahead(state: State, block: Object, sign: int) -> tuple[float, float]:
    """Return the back and the front of a block, as coordinates along the direction of the push.

    `sign` is 1 for a push in the direction +x, and -1 for -x.
    """
    low, high = _span(state, block)
    return (low, high) if sign > 0 else (-high, -low)


def _require_space(room: Room, state: State, block: Object, sign: int, goal: float) -> None:
    """Raise `EnvironmentFailure` if there is too little space for the blocks in front of the pushed block.

    When the pushed block is centred on x = `goal`, all blocks in front of it must fit between it and the
    wall. Otherwise, `offending` of the failure lists these blocks: the planner should remove them first.
    """
    low_x, _, high_x, _ = room.bounds
    wall = high_x if sign > 0 else -low_x
    low, high = _span(state, block)
    back, _ = _ahead(state, block, sign)
    others = [one for one in state.of_type(BLOCK) if one != block]
    before = [one for one in others if _ahead(state, one, sign)[0] > back]
    length = sum(high - low for low, high in (_span(state, one) for one in before))
    if sign * goal + (high - low) / 2 + length > wall - MARGIN:
        raise EnvironmentFailure("there is not enough space for the blocks in front", before)


def _require_free(state: State, low: float, high: float, ignored: set[Object]) -> None:
    """Raise `EnvironmentFailure` if the range of x from `low` to `high` is not free of blocks.

    Blocks in `ignored` do not count. `offending` of the failure lists the other blocks in this range.
    """
    hit = []
    for block in state.of_type(BLOCK):
        left, right = _span(state, block)
        if block not in ignored and left < high + MARGIN and right > low - MARGIN:
            hit.append(block)
    if hit:
        raise EnvironmentFailure(f"in the way: {', '.join(block.name for block in hit)}", hit)


class DynObstruction2D(KinderEnvironment):
    """Put or push a block onto a surface that other blocks occupy, with physics."""

    family = "DynObstruction2D"
    letter = "o"
    description = "With physics, a robot with two fingers puts or pushes a block onto a surface."
    gym_class = DynObstruction2DEnv
    size_argument = "num_obstructions"
    training_sizes = (0, 1, 2)
    types = (ROBOT, BLOCK, TARGET, SURFACE)
    predicates = (HAND_EMPTY, HOLDING, ON)
    skills = (
        Skill("Pick", (ROBOT, BLOCK), _pick),
        Skill("Place", (ROBOT, BLOCK), _place, (CONFIG.world_min_x,), (CONFIG.world_max_x,)),
        Skill("PlaceOn", (ROBOT, TARGET, SURFACE), _place_on),
        Skill("PushOn", (ROBOT, TARGET, SURFACE), _push_on),
    )

    def goal(self, state: State) -> AbstractState:
        """Return the goal: the target block is on the target surface."""
        (block,), (surface,) = state.of_type(TARGET), state.of_type(SURFACE)
        return frozenset((ON(block, surface),))

    def low_level_actions(self, state: State, action: GroundController) -> list[np.ndarray]:
        """Simulate a skill in KinDER from the given state, and return its low-level actions."""
        return [step.action for step in self._simulated(state, action)]

    def trace(self, state: State, action: GroundController) -> Iterator[State]:
        """Run a skill in KinDER's simulator; yield the state after each low-level action."""
        return (step.state for step in self._simulated(state, action))

    def confirms(self, task: Task, actions: Sequence[GroundController]) -> bool:
        """Run a plan in KinDER from `reset(seed=task.seed)`; return whether KinDER reports `terminated`.

        The skills compute their actions from the states of this run, and not from predicted states. So they
        correct small errors of the prediction.
        """
        environment, state = self._reset(task), task.initial_state
        try:
            for action in actions:
                for step in self._steps(environment, state, action):
                    if step.terminated:
                        return True
                    state = step.state
        except EnvironmentFailure:
            pass
        return False

    def _run(self, state: State, action: GroundController) -> tuple[State, int]:
        states = list(self.trace(state, action))
        return states[-1], len(states)

    def _simulated(self, state: State, action: GroundController) -> Iterator[Step]:
        simulator = self._simulator(self.size)
        with _restoring():
            simulator.reset(options={"init_state": self._to_kinder(state)})
        return self._steps(simulator, state, action)

    def _reset(self, task: Task) -> Any:
        with _restoring():
            return super()._reset(task)

    def _steps(self, environment: Any, state: State, action: GroundController) -> Iterator[Step]:
        """Run a skill in KinDER and yield its steps.

        `environment` is a Gymnasium environment or a simulator of KinDER. It must be in the state `state`.
        """

        def step(low_level: np.ndarray) -> Step:
            observation, _, terminated, _, _ = environment.step(low_level)
            if isinstance(observation, np.ndarray):
                observation = environment.observation_space.devectorize(observation)
            return Step(low_level, self._from_kinder(observation), terminated)

        for waypoint in self._waypoints(state, action):
            for _ in range(MAX_STEPS):
                low_level = _towards(state, waypoint)
                if low_level is None:
                    break
                done = step(low_level)
                yield done
                state = done.state
            else:
                raise EnvironmentFailure(f"the robot does not get to a waypoint of {action}")
        # Add an action that moves nothing, because KinDER reports a solved task one action late.
        yield step(np.zeros(len(LIMITS)))

    def oracle_model(self) -> PlanningModel:
        """Return a model with one operator per skill."""
        pick, place, place_on, push_on = self.vocabulary.controllers
        robot, block = Variable("?robot", ROBOT), Variable("?block", BLOCK)
        target, surface = Variable("?target", TARGET), Variable("?surface", SURFACE)
        empty, on = HAND_EMPTY.lifted(robot), ON.lifted(target, surface)
        operators = (
            oracle_operator(
                "Pick",
                (robot, block),
                (pick, (robot, block)),
                needs=[empty],
                adds=[HOLDING.lifted(robot, block)],
                deletes=[empty],
            ),
            oracle_operator(
                "Place",
                (robot, block),
                (place, (robot, block)),
                needs=[HOLDING.lifted(robot, block)],
                adds=[empty],
                deletes=[HOLDING.lifted(robot, block)],
            ),
            oracle_operator(
                "PlaceOn",
                (robot, target, surface),
                (place_on, (robot, target, surface)),
                needs=[HOLDING.lifted(robot, target)],
                adds=[on, empty],
                deletes=[HOLDING.lifted(robot, target)],
            ),
            oracle_operator(
                "PushOn",
                (robot, target, surface),
                (push_on, (robot, target, surface)),
                needs=[empty],
                adds=[on],
            ),
        )
        return uniform_model(self.vocabulary, operators)


@contextmanager
def _restoring() -> Iterator[None]:
    """Suppress KinDER's warning about restored states in a `with` block.

    KinDER warns that a restored state is not exact. The skills correct such small errors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PymunkNondeterminismWarning)
        yield


def _towards(state: State, waypoint: Waypoint) -> np.ndarray | None:
    """Return the low-level action that leads towards a waypoint; None if the robot has reached it."""
    robot, goal = state.of_type(ROBOT)[0], waypoint.pose
    x, y, theta = state[robot][:3]
    moves = [
        goal.x - x,
        goal.y - y,
        turn_between(theta, goal.theta),
        goal.arm - state.get(robot, "arm_joint"),
    ]
    if not waypoint.vacuum:
        fingers = CONFIG.gripper_base_height - state.get(robot, "finger_gap")
    else:  # close the fingers until they hold a block
        fingers = -1.0 if _hand_is_empty(state, ()) else 0.0
    error = np.array([*moves, fingers])
    return np.clip(error, -LIMITS, LIMITS) if np.abs(error).max() > REACHED else None
