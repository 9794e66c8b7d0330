"""PushPullHook2D: with a hook, a robot moves a button on a table onto another button.

The robot turns the L-shaped hook until the outward normal of one of its sides points in the direction from
the button to the target button. Then it moves the hook in this direction, and this side pushes the button.
So one skill can both push and pull: to pull, the robot uses a side of the hook that faces the robot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from kinder.envs.kinematic2d.pushpullhook2d import PushPullHook2DEnv, PushPullHook2DEnvConfig

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import GroundController, Parameters
from needful.core.model import PlanningModel
from needful.core.objects import Object, Type, Variable
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.blocks import (
    HAND_EMPTY,
    ROBOT_VARIABLE,
    drive,
    is_held,
    pick,
    pick_operator,
    require_held,
    uniform_model,
)
from needful.envs.kinder.bodies import Pose
from needful.envs.kinder.environment import CIRCLE, RECTANGLE, ROBOT, KinderEnvironment, Room, Skill
from needful.envs.kinder.motion import CLEARANCE, Waypoint, Waypoints, first_collision
from needful.errors import EnvironmentFailure

CONFIG = PushPullHook2DEnvConfig()
HOOK = Type("lobject", (*RECTANGLE.features[:-2], "width", "length_side1", "length_side2"))
# The maximum distance that the hook moves per low-level action of a push. If the hook overlaps the button
# after an action, KinDER moves the button away, so that the distance between its centre and the nearest
# point of the hook doubles. If the hook moved by more than half the button's radius in one action, the
# button could pass through the hook.
PUSH_STEP = 0.4 * CONFIG.movable_button_radius
# GAP is the distance between the hook and the button before the push. BEYOND is how far the hook moves on
# after the two buttons should touch.
GAP = 0.01
BEYOND = 0.05
# The number of points along each side of the hook that are tried for pushing.
POINTS = 9


def _is_pressed(state: State, objects: Sequence[Object]) -> bool:
    colour = tuple(state.get(objects[0], f"color_{part}") for part in "rgb")
    return bool(np.allclose(colour, CONFIG.target_button_pressed_rgb))


def _is_movable(state: State, objects: Sequence[Object]) -> bool:
    return bool(state.get(objects[0], "static") < 0.5)


HOLDING = Predicate("Holding", (ROBOT, HOOK), is_held)
PRESSED = Predicate("Pressed", (CIRCLE,), _is_pressed)
MOVABLE = Predicate("Movable", (CIRCLE,), _is_movable)


def _contacts(state: State, hook: Object, radius: float) -> Iterator[Pose]:
    """Yield the points on the sides of the hook that may push a button with this radius.

    The points are at least `radius` away from the ends of their side. In each result, `theta` is the
    direction of the side's outward normal; the arm length of these poses has no meaning.
    """
    corner_x, corner_y, theta, *_, width, first, second = state[hook]
    cos, sin = math.cos(theta), math.sin(theta)
    for share in np.linspace(0.0, 1.0, POINTS):
        outer = [-radius - share * (length - 2 * radius) for length in (first, second)]
        inner = [-width - radius - share * (length - width - 2 * radius) for length in (first, second)]
        for x, y, normal in (
            (outer[0], 0.0, math.pi / 2),
            (inner[0], -width, -math.pi / 2),
            (0.0, outer[1], 0.0),
            (-width, inner[1], math.pi),
        ):
            yield Pose(corner_x + cos * x - sin * y, corner_y + sin * x + cos * y, theta + normal, 0.0)


def _grasp_hook(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Grasp the longer part of the hook.

    The first parameter is the point to grasp, from 0 to 4. Its integer part selects a side of the hook's
    longer part, and its fractional part is the position along this side. The second parameter is the length
    of the arm, from 0 (retracted) to 1 (extended).
    """
    place, reach = parameters
    side = min(int(place), 3)
    try:
        return pick(_floor(room), state, objects[1], side, place - side, reach)
    except EnvironmentFailure as failure:  # no object can be removed, so drop the `offending` objects
        raise EnvironmentFailure(failure.reason) from failure


def _move_button(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Push or pull a button with the held hook until the button touches the target button.

    Of all points of the hook that can push the button, the one that needs the smallest turn is used.
    """
    _, hook, button, target = objects
    scene = room.scene(state)
    require_held(scene, hook)
    if not _is_movable(state, (button,)):
        raise EnvironmentFailure(f"{button.name} is fixed")
    x, y, radius = (state.get(button, name) for name in ("x", "y", "radius"))
    dx, dy = state.get(target, "x") - x, state.get(target, "y") - y
    direction = math.atan2(dy, dx)
    cos, sin = math.cos(direction), math.sin(direction)
    behind = Pose(x - cos * (radius + GAP), y - sin * (radius + GAP), direction, 0.0)
    travel = GAP + math.hypot(dx, dy) - radius - state.get(target, "radius") + BEYOND
    starts = (_placed(scene.pose, contact, behind) for contact in _contacts(state, hook, radius))
    for start in sorted(starts, key=lambda pose: abs(pose.theta - scene.pose.theta)):
        if next(scene.collisions(start, CLEARANCE), None) is not None:
            continue
        count = math.ceil(travel / PUSH_STEP)
        push = tuple(
            Waypoint(replace(start, x=start.x + cos * way, y=start.y + sin * way), vacuum=True)
            for way in np.linspace(0.0, travel, count + 1).tolist()[1:]
        )
        if first_collision(scene.without({button}).at(start, True), push, room.limits) is not None:
            continue
        try:
            return (*drive(_floor(room), scene, start), *push)
        except EnvironmentFailure:
            continue
    raise EnvironmentFailure("the hook does not reach the button from the right side")


def _placed(robot: Pose, contact: Pose, goal: Pose) -> Pose:
    """Return the pose of the robot at which a point on a side of the held hook is at `goal`.

    `robot` is the current pose of the robot. `contact` has the current position of the point and the
    current direction of the side's normal; `goal` has this position and direction after the move.
    """
    turn = math.remainder(goal.theta - contact.theta, 2 * math.pi)
    cos, sin = math.cos(turn), math.sin(turn)
    dx, dy = contact.x - robot.x, contact.y - robot.y
    return replace(
        robot, x=goal.x - cos * dx + sin * dy, y=goal.y - sin * dx - cos * dy, theta=robot.theta + turn
    )


def _floor(room: Room) -> Room:
    """Return the room with bounds that exclude the table, because the base must stay in front of it."""
    low_x, low_y, high_x, _ = room.bounds
    return replace(room, bounds=(low_x, low_y, high_x, CONFIG.table_pose.y))


class PushPullHook2D(KinderEnvironment):
    """With a hook, a robot moves a button on a table onto another button."""

    family = "PushPullHook2D"
    letter = size_argument = ""
    description = "A robot moves a button on a table onto another one with a hook."
    gym_class = PushPullHook2DEnv
    training_sizes = (1,)
    types = (ROBOT, HOOK, CIRCLE)
    predicates = (HAND_EMPTY, HOLDING, PRESSED, MOVABLE)
    skills = (
        Skill("GraspHook", (ROBOT, HOOK), _grasp_hook, (0.0, 0.0), (4.0, 1.0)),
        Skill("MoveButton", (ROBOT, HOOK, CIRCLE, CIRCLE), _move_button),
    )

    def goal(self, state: State) -> AbstractState:
        """Return the goal: both buttons are pressed."""
        return frozenset(PRESSED(button) for button in state.of_type(CIRCLE))

    def _run(self, state: State, action: GroundController) -> tuple[State, int]:
        """Run a skill in KinDER's simulator, because the geometry in `bodies` does not model pushing."""
        states = list(self.trace(state, action))
        return states[-1], len(states)

    def oracle_model(self) -> PlanningModel:
        """Return a model with one operator per skill."""
        grasp, move = self.vocabulary.controllers
        hook = Variable("?hook", HOOK)
        button, target = (Variable(name, CIRCLE) for name in ("?button", "?target"))
        holding = HOLDING.lifted(ROBOT_VARIABLE, hook)
        operators = (
            pick_operator(grasp, hook, holding=HOLDING),
            oracle_operator(
                "MoveButton",
                (ROBOT_VARIABLE, hook, button, target),
                (move, (ROBOT_VARIABLE, hook, button, target)),
                needs=[holding, MOVABLE.lifted(button)],
                adds=[PRESSED.lifted(button), PRESSED.lifted(target)],
            ),
        )
        return uniform_model(self.vocabulary, operators)
