"""StickButton2D: a robot presses all buttons; it reaches those on the table only with a stick."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from kinder.envs.kinematic2d.stickbutton2d import StickButton2DEnv, StickButton2DEnvConfig

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Parameters
from needful.core.model import PlanningModel
from needful.core.objects import Object, Variable
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.blocks import (
    HAND_EMPTY,
    HOLDING,
    ROBOT_VARIABLE,
    pick_operator,
    release_operator,
)
from needful.envs.kinder.bodies import Box, Disc, Pose, Scene, Shape, carry, overlap
from needful.envs.kinder.environment import CIRCLE, RECTANGLE, ROBOT, KinderEnvironment, Room, Skill
from needful.envs.kinder.motion import CLEARANCE, Waypoint, Waypoints, find_path, first_collision
from needful.errors import EnvironmentFailure

TABLE_EDGE = StickButton2DEnvConfig().table_pose.y
PRESSED_COLOUR = StickButton2DEnvConfig().button_pressed_rgb
# When a motion is planned, a button counts as touched only if the shapes overlap by at least this distance.
TOUCH = 0.01
# To press a button with its base, the robot stands at one of these distances from the button's centre, in
# one of `DIRECTIONS` evenly spaced directions.
DISTANCES = (0.12, 0.06, 0.0)
DIRECTIONS = 12
# To press a button with its base, the robot first tries to drive straight to each of several positions. If
# all straight lines are blocked, it searches paths around obstacles to this number of nearest positions.
MAX_DETOURS = 3
# The gap between the gripper and the stick in a grasp, in gripper widths. Suction works at gaps from 0.5 to
# 1.5 gripper widths.
GRASP_GAP = 0.9
# The number of points along the stick that are tried to press a button, and the number of directions to
# which the stick is turned.
STICK_POINTS, TURNS = 26, 16


def _is_pressed(state: State, objects: Sequence[Object]) -> bool:
    colour = (state.get(objects[0], f"color_{part}") for part in "rgb")
    return bool(np.allclose(tuple(colour), PRESSED_COLOUR))


def _is_on_floor(state: State, objects: Sequence[Object]) -> bool:
    return bool(state.get(objects[0], "y") < TABLE_EDGE)


def _is_on_table(state: State, objects: Sequence[Object]) -> bool:
    return not _is_on_floor(state, objects)


PRESSED = Predicate("Pressed", (CIRCLE,), _is_pressed)
ON_FLOOR = Predicate("OnFloor", (CIRCLE,), _is_on_floor)
ON_TABLE = Predicate("OnTable", (CIRCLE,), _is_on_table)


def _shape(scene: Scene, obj: Object) -> Shape:
    return next(body.shape for body in scene.bodies if body.obj == obj)


def _pick_stick(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Grasp the stick at a point on its axis.

    Parameters: the direction of the arm, which points to this point, and the position of the point along
    the stick, from 0 (lower end) to 1 (upper end).
    """
    scene = room.scene(state)
    if scene.held():
        raise EnvironmentFailure("The hand is not empty.")
    theta, position = parameters
    stick = _shape(scene, objects[1])
    assert isinstance(stick, Box)
    along = (2 * position - 1) * stick.half_height
    x, y = stick.x - stick.sin * along, stick.y + stick.cos * along
    grasp = _grasp_pose(scene, stick, x, y, theta)
    path = find_path(scene, grasp, room.limits, room.bounds)
    if path is None:
        raise EnvironmentFailure("There is no way to the stick.")
    reached = (*path, Waypoint(grasp))
    if first_collision(scene, reached, room.limits) is not None:
        raise EnvironmentFailure("The arm would collide.")
    return (*reached, Waypoint(grasp, vacuum=True))


def _grasp_pose(scene: Scene, stick: Box, x: float, y: float, theta: float) -> Pose:
    """Return the pose at which the robot grasps the stick, with the arm fully extended.

    The arm points in the direction `theta`, towards (x, y), a point on the axis of the stick. The gap
    between the gripper and the stick is given by `GRASP_GAP`.
    """
    robot = scene.robot
    cos, sin, arm = math.cos(theta), math.sin(theta), robot.arm_length
    near, far = 0.0, 2 * max(stick.half_width, stick.half_height)
    pose = Pose(x, y, theta, arm)
    while far - near > CLEARANCE / 4:
        middle = (near + far) / 2
        distance = arm + robot.gripper_width / 2 + middle
        pose = Pose(x - cos * distance, y - sin * distance, theta, arm)
        gripper = robot.parts(pose)[1][0]
        if overlap(gripper, stick, GRASP_GAP * robot.gripper_width):
            near = middle
        else:
            far = middle
    if not overlap(robot.suction(pose), stick):
        raise EnvironmentFailure("The gripper would not touch the stick.")
    return pose


def _place_stick(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Release the stick where it is, and retract the arm."""
    scene = room.scene(state)
    if all(body.obj != objects[1] for body in scene.held()):
        raise EnvironmentFailure("The robot does not hold the stick.")
    retracted = replace(scene.pose, arm=scene.robot.base_radius)
    return Waypoint(scene.pose), Waypoint(retracted)


def _robot_press(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Press a button: drive to a position at which the base touches the button."""
    scene = room.scene(state)
    if scene.held():
        raise EnvironmentFailure("The hand is not empty.")
    button = _shape(scene, objects[1])
    places = sorted(
        _places(scene, button), key=lambda pose: math.hypot(pose.x - scene.pose.x, pose.y - scene.pose.y)
    )
    if not places:
        raise EnvironmentFailure("The base cannot stand near the button.")
    for place in places:
        straight = (Waypoint(replace(scene.pose, arm=scene.robot.base_radius)), Waypoint(place))
        if first_collision(scene, straight, room.limits) is None:
            return straight
    for place in places[:MAX_DETOURS]:
        path = find_path(scene, place, room.limits, room.bounds)
        if path is not None:
            return path
    raise EnvironmentFailure("There is no way to the button.")


def _places(scene: Scene, button: Shape) -> Iterator[Pose]:
    """Yield poses without collisions at which the base touches a button; see `DISTANCES`."""
    for distance in DISTANCES:
        for number in range(DIRECTIONS if distance else 1):
            angle = 2 * math.pi * number / DIRECTIONS
            pose = Pose(
                button.x + distance * math.cos(angle),
                button.y + distance * math.sin(angle),
                scene.pose.theta,
                scene.robot.base_radius,
            )
            if next(scene.collisions(pose, CLEARANCE), None) is None:
                yield pose


def _stick_press(room: Room, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
    """Press a button with the held stick or with the base of the robot.

    The stick is turned only if necessary, and then as little as possible.
    """
    scene = room.scene(state)
    _, stick, button = objects
    if all(body.obj != stick for body in scene.held()):
        raise EnvironmentFailure("The robot does not hold the stick.")
    target = _shape(scene, button)
    assert isinstance(target, Disc)
    for turn in sorted((2 * math.pi * number / TURNS - math.pi for number in range(TURNS)), key=abs):
        for before in _turning_motions(scene, room, turn):
            end = before[-1].pose if before else scene.pose
            turned = scene.at(end, vacuum=True)
            place = _pressing_place(turned, room, stick, target)
            if place is None:
                break
            path = (*before, Waypoint(place, vacuum=True))
            if first_collision(scene, path, room.limits) is None:
                return path
    raise EnvironmentFailure("The stick does not reach the button.")


def _turning_motions(scene: Scene, room: Room, turn: float) -> Iterator[Waypoints]:
    """Yield collision-free motions that turn the robot with the held stick by the angle `turn`.

    The robot turns where it is, or first drives to the middle of the floor.
    """
    if abs(turn) < 1e-9:
        yield ()
        return
    low_x, low_y, high_x, _ = room.bounds
    pose = scene.pose
    middle = replace(pose, x=(low_x + high_x) / 2, y=(low_y + TABLE_EDGE) / 2)
    for place in (pose, middle):
        motion = (
            Waypoint(place, vacuum=True),
            Waypoint(replace(place, theta=place.theta + turn), vacuum=True),
        )
        if first_collision(scene, motion, room.limits) is None:
            yield motion


def _pressing_place(scene: Scene, room: Room, stick: Object, button: Disc) -> Pose | None:
    """Return a pose at which the held stick or the base touches a button; None if there is none.

    The direction of the robot does not change. Of all such poses that are tried, the result is the one
    nearest to the current pose.
    """
    held, pose = _shape(scene, stick), scene.pose
    assert isinstance(held, Box)
    low, high = _free_range(scene, room, held)
    targets = [(button.x, button.y)]
    for number in range(STICK_POINTS):
        along = (2 * number / (STICK_POINTS - 1) - 1) * held.half_height
        x, y = held.x - held.sin * along, held.y + held.cos * along
        targets.append((pose.x + button.x - x, pose.y + button.y - y))
    best: tuple[float, Pose] | None = None
    core = Disc(button.x, button.y, button.radius - TOUCH)
    for x, y in targets:
        x, y = min(max(x, low[0]), high[0]), min(max(y, low[1]), high[1])
        place = replace(pose, x=x, y=y)
        touches = overlap(core, carry(held, pose, place)) or overlap(core, scene.robot.parts(place)[0][0])
        distance = math.hypot(x - pose.x, y - pose.y)
        if touches and (best is None or distance < best[0]):
            best = (distance, place)
    return None if best is None else best[1]


def _free_range(scene: Scene, room: Room, held: Box) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the lowest and the highest (x, y) of the range in which the base may be.

    In this range, the base is on the floor and the held stick is in the room.
    """
    low_x, low_y, high_x, high_y = room.bounds
    pose, radius = scene.pose, scene.robot.base_radius + 2 * CLEARANCE
    corners = list(held.corners())
    left, right = (choose(x - pose.x for x, _ in corners) for choose in (min, max))
    down, up = (choose(y - pose.y for _, y in corners) for choose in (min, max))
    slack = 2 * CLEARANCE
    low = (low_x + max(radius, slack - left), low_y + max(radius, slack - down))
    high = (high_x - max(radius, slack + right), min(TABLE_EDGE - radius, high_y - slack - up))
    return low, high


PICK_STICK = Skill("PickStick", (ROBOT, RECTANGLE), _pick_stick, (0.0, 0.0), (math.pi, 1.0))
PLACE_STICK = Skill("PlaceStick", (ROBOT, RECTANGLE), _place_stick)
ROBOT_PRESS = Skill("RobotPress", (ROBOT, CIRCLE), _robot_press)
STICK_PRESS = Skill("StickPress", (ROBOT, RECTANGLE, CIRCLE), _stick_press)


@dataclass(frozen=True, slots=True)
class _GraspFromBelow:
    """Samples grasps near the lower end of the stick, mostly from below."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the direction of the arm, and the position of the grasped point along the stick."""
        return float(rng.normal(math.pi / 2, 0.4)), float(rng.uniform(0.0, 0.1))


class StickButton2D(KinderEnvironment):
    """A robot with an arm and a stick presses all buttons, on the floor and on the table."""

    family = "StickButton2D"
    letter = "b"
    description = "KinDER: a robot presses buttons on the floor and, with a stick, on a table."
    gym_class = StickButton2DEnv
    size_argument = "num_buttons"
    training_sizes = (1, 2, 3)
    types = (ROBOT, RECTANGLE, CIRCLE)
    predicates = (HAND_EMPTY, HOLDING, PRESSED, ON_FLOOR, ON_TABLE)
    skills = (PICK_STICK, PLACE_STICK, ROBOT_PRESS, STICK_PRESS)

    def goal(self, state: State) -> AbstractState:
        """Return the goal: all buttons are pressed."""
        return frozenset(PRESSED(button) for button in state.of_type(CIRCLE))

    def reactions(self, scene: Scene) -> Mapping[Object, dict[str, float]]:
        """Return the new colour of all buttons that the robot or the stick touches, and so presses."""
        robot = scene.robot
        touching = [shape for shape, _ in robot.parts(scene.pose)]
        touching += [robot.suction(scene.pose)] if scene.vacuum else []
        touching += [body.shape for body in scene.bodies if body.movable]
        colour = dict(zip(("color_r", "color_g", "color_b"), PRESSED_COLOUR, strict=True))
        return {
            body.obj: colour
            for body in scene.bodies
            if body.obj is not None
            and isinstance(body.shape, Disc)
            and any(overlap(shape, body.shape) for shape in touching)
        }

    def oracle_model(self) -> PlanningModel:
        """Return a model with one operator per skill."""
        pick, place, robot_press, stick_press = self.vocabulary.controllers
        robot, stick = ROBOT_VARIABLE, Variable("?stick", RECTANGLE)
        button = Variable("?button", CIRCLE)
        empty, holding = HAND_EMPTY.lifted(robot), HOLDING.lifted(robot, stick)
        pressed = PRESSED.lifted(button)
        operators = (
            pick_operator(pick, stick),
            release_operator(place, stick),
            oracle_operator(
                "RobotPress",
                (robot, button),
                (robot_press, (robot, button)),
                needs=[empty, ON_FLOOR.lifted(button)],
                adds=[pressed],
            ),
            oracle_operator(
                "StickPress",
                (robot, stick, button),
                (stick_press, (robot, stick, button)),
                needs=[holding],
                adds=[pressed],
            ),
        )
        return PlanningModel(self.vocabulary, operators, {"PickStick": _GraspFromBelow()})
