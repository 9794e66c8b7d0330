"""The adapter of KinDER's kinematic 2D environments: states, tasks, simulation, replay and drawing.

A domain is a subclass of `KinderEnvironment` with types, predicates, skills and a goal. One call of
`simulate` predicts the state after one whole skill. `confirms` runs all low-level actions of a plan in
KinDER.

The tasks are KinDER's own: test task number k of a run with seed s is `reset(seed=s + k)`. Tasks differ in
size, such as the number of buttons: test tasks have the size of the environment, and training tasks take
the sizes in `training_sizes` in turn. The seeds of training tasks are at least `TRAINING_SEED`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from kinder.envs.utils import render_2dstate_on_ax
from relational_structs import Object as KinderObject
from relational_structs import ObjectCentricState

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController, Parameters
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.envs.kinder.bodies import Body, Box, Pose, Scene, make_scene, object_bodies
from needful.envs.kinder.motion import StepLimits, Waypoints, rollout, steps, turn_between
from needful.errors import EnvironmentFailure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRAINING_SEED = 1_000_000
# KinDER refuses a low-level action that leads to a collision. If the robot is further than this from the
# expected pose after an action, KinDER refused the action.
REACHED = 1e-3

_ARM_FEATURES = ("arm_joint", "arm_length", "vacuum", "gripper_height", "gripper_width")
ROBOT = Type("crv_robot", ("x", "y", "theta", "base_radius", *_ARM_FEATURES))
_SHAPE_FEATURES = ("x", "y", "theta", "static", "color_r", "color_g", "color_b", "z_order")
RECTANGLE = Type("rectangle", (*_SHAPE_FEATURES, "width", "height"))
CIRCLE = Type("circle", (*_SHAPE_FEATURES, "radius"))


@dataclass(frozen=True, slots=True)
class Room:
    """The parts of an environment that are equal in all states, so states do not contain them.

    Attributes:
        constants: the walls and tables.
        limits: the largest changes in one low-level action.
        bounds: the bounds of the world: low x, low y, high x and high y.
    """

    constants: tuple[Body, ...]
    limits: StepLimits
    bounds: tuple[float, float, float, float]

    def scene(self, state: State) -> Scene:
        """Return the scene of a state: its shapes, and the walls and tables of the room."""
        return make_scene(state, self.constants)


# A function that returns the waypoints of a skill, given the room, the state, the objects and the
# parameters. It raises `EnvironmentFailure` if the skill has no motion without collisions. If only movable
# objects are in the way, `offending` of this failure may list them, so that the planner removes them first.
PlanMotion: TypeAlias = Callable[[Room, State, Sequence[Object], Parameters], Waypoints]


@dataclass(frozen=True, slots=True)
class Skill:
    """The definition of a controller: name, argument types, parameter bounds, and a motion planner."""

    name: str
    types: tuple[Type, ...]
    plan_motion: PlanMotion
    low: Parameters = ()
    high: Parameters = ()


class SkillMotion:
    """Plans the motions of a skill in a room, and is also the initiation test of its controller.

    The last result is cached, because each motion is needed twice: for the initiation test, and to execute
    the skill.
    """

    def __init__(self, skill: Skill, room: Room) -> None:
        self._skill, self._room = skill, room
        self._last: tuple[State, Sequence[Object], Parameters, Waypoints | EnvironmentFailure] | None = None

    def plan(self, state: State, objects: Sequence[Object], parameters: Parameters) -> Waypoints:
        """Return the waypoints of the skill; raise `EnvironmentFailure` if there is no motion."""
        last = self._last
        if last is None or last[0] is not state or last[1:3] != (objects, parameters):
            result: Waypoints | EnvironmentFailure
            try:
                result = self._skill.plan_motion(self._room, state, objects, parameters)
            except EnvironmentFailure as failure:
                result = failure
            self._last = last = (state, objects, parameters, result)
        if isinstance(last[3], EnvironmentFailure):
            raise EnvironmentFailure(last[3].reason, last[3].offending)
        return last[3]

    def __call__(self, state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
        """Return whether the controller can start.

        It can start if the skill has a motion, or if only movable objects are in the way. In the second
        case, the controller starts and fails, and the planner learns which objects to remove first.
        """
        return self.rejection_reason(state, objects, parameters) is None

    def rejection_reason(
        self, state: State, objects: Sequence[Object], parameters: Parameters
    ) -> str | None:
        """Return why the controller cannot start, or None if it can; see `__call__`."""
        try:
            self.plan(state, objects, parameters)
        except EnvironmentFailure as failure:
            return None if failure.offending else failure.reason
        return None


@dataclass(frozen=True, slots=True)
class KinderTask(Task):
    """A task that KinDER's `reset(seed=seed)` creates; `size` is, for example, the number of buttons."""

    size: int
    seed: int


class KinderEnvironment(Environment):
    """A kinematic 2D environment of KinDER.

    Attributes:
        family: the name of the environment in KinDER, without the size, such as `StickButton2D`.
        letter: the letter before the size in the name of the environment, such as `b` in
            `StickButton2D-b5`; empty if there is only one size.
        gym_class: KinDER's Gymnasium environment.
        size_argument: the argument of `gym_class` that sets the size; empty if there is only one size.
        training_sizes: the sizes of training tasks.
        types: the types of the objects in states, with KinDER's names and features.
        predicates: the predicates of the domain.
        skills: the skills, each of which becomes a controller of the domain.
        size: the size of test tasks, such as the number of buttons.
        room: the walls, tables and limits.
    """

    family: ClassVar[str]
    letter: ClassVar[str]
    gym_class: ClassVar[Callable[..., Any]]
    size_argument: ClassVar[str]
    training_sizes: ClassVar[tuple[int, ...]]
    types: ClassVar[tuple[Type, ...]]
    predicates: ClassVar[tuple[Predicate, ...]]
    skills: ClassVar[tuple[Skill, ...]]
    # The horizon counts low-level actions. Plans for the largest tasks have several hundred of them.
    horizon = 10_000
    size_sample_count = 12

    def __init__(self, size: int) -> None:
        self.size = size
        self.name = f"kinder/{self.family}" + (f"-{self.letter}{size}" if self.letter else "")
        self._environments: dict[int, Any] = {}
        simulator = self._simulator(size)
        self._kinder_types = {kind.name: kind for kind in simulator.type_features}
        self.room = _room(simulator)
        self._motions = {skill.name: SkillMotion(skill, self.room) for skill in self.skills}
        controllers = tuple(
            Controller(skill.name, skill.types, skill.low, skill.high, self._motions[skill.name])
            for skill in self.skills
        )
        self.vocabulary = Vocabulary(self.types, self.predicates, controllers)
        low_x, low_y, high_x, high_y = self.room.bounds
        self.picture_size = (5.0, 5.0 * (high_y - low_y) / (high_x - low_x))

    @abstractmethod
    def goal(self, state: State) -> AbstractState:
        """Return the goal of the task with this initial state.

        The goal must describe the states in which KinDER reports `terminated`.
        """

    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state after a skill, as predicted with the geometry in `bodies`.

        The prediction is about 50 times as fast as KinDER's simulator. Predicted states agree with KinDER's
        up to rounding errors, but some motions that KinDER allows are rejected; see the limits in
        docs/kinder.md. Raises `EnvironmentFailure` if the skill has no motion, or if the robot collides
        during this motion.
        """
        return self._run(state, action)[0]

    def reactions(self, scene: Scene) -> Mapping[Object, dict[str, float]]:
        """Return the features that change because of the robot's position in `scene`; by default none.

        An example is the colour of a button that the robot touches.
        """
        return {}

    def task(self, split: Split | str, index: int, seed: int) -> Task:
        """Return the task number `index` of a split; a test task is KinDER's `reset(seed=seed + index)`."""
        if Split.from_name(split) is Split.TEST and index >= 0 and seed >= 0:
            return self.seeded_task(self.size, seed + index)
        return super().task(split, index, seed)

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample a task with a random seed; the sizes of training tasks cycle through `training_sizes`."""
        train = split is Split.TRAIN
        size = self.training_sizes[index % len(self.training_sizes)] if train else self.size
        return self.seeded_task(size, int(rng.integers(TRAINING_SEED, 2**31)))

    def seeded_task(self, size: int, seed: int) -> KinderTask:
        """Return the task that `reset(seed=seed)` of KinDER's environment with the given size creates."""
        environment = self._environment(size)
        observation, _ = environment.reset(seed=seed)
        state = self._from_kinder(environment.observation_space.devectorize(observation))
        return KinderTask(state, self.goal(state), size, seed)

    def low_level_actions(self, state: State, action: GroundController) -> list[np.ndarray]:
        """Return the low-level actions of a skill, each (dx, dy, dtheta, darm, vacuum)."""
        return [step for step, _ in self._low_level(state, action)]

    def confirms(self, task: Task, actions: Sequence[GroundController]) -> bool:
        """Run the low-level actions of a plan in KinDER; return whether KinDER reports `terminated`.

        The run starts with `reset(seed=task.seed)`. If the task is not a `KinderTask`, the run starts in
        the initial state of the task. The low-level actions of each skill are computed from the state that
        KinDER returned after the previous skill.
        """
        environment, state = self._reset(task), task.initial_state
        for action in actions:
            try:
                log = self.low_level_actions(state, action)
            except EnvironmentFailure:
                return False
            for low_level in log:
                observation, _, terminated, _, _ = environment.step(low_level)
                if terminated:
                    return True
            state = self._from_kinder(environment.observation_space.devectorize(observation))
        return False

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw a state with KinDER's renderer."""
        simulator = self._simulator(self.size)
        full = simulator.get_state_with_constant_objects(self._to_kinder(state))
        render_2dstate_on_ax(full, axes)
        low_x, low_y, high_x, high_y = self.room.bounds
        margin = 0.02 * (high_x - low_x)
        axes.set(
            xlim=(low_x - margin, high_x + margin), ylim=(low_y - margin, high_y + margin), aspect="equal"
        )
        axes.axis("off")

    def trace(self, state: State, action: GroundController) -> Iterator[State]:
        """Run a skill in KinDER's simulator; yield the state after each low-level action."""
        simulator = self._simulator(self.size)
        simulator.reset(options={"init_state": self._to_kinder(state)})
        for low_level, expected in self._low_level(state, action):
            observation = simulator.step(low_level)[0]
            after = self._from_kinder(observation)
            robot = after.of_type(ROBOT)[0]
            if not _is_at(after, robot, expected, bool(low_level[-1])):
                raise _collision(action, tuple(self.room.scene(after).collisions(expected)))
            yield after

    def _run(self, state: State, action: GroundController) -> tuple[State, int]:
        scene = self.room.scene(state)
        waypoints = self._waypoints(state, action)
        changes: dict[Object, dict[str, float]] = {}
        moved: set[Object] = set()
        count = 0
        for after, hit in rollout(scene, waypoints, self.room.limits):
            if hit:
                raise _collision(action, hit)
            moved |= {body.obj for body in scene.held() if body.obj is not None}
            changes |= self.reactions(after)
            scene = after
            count += 1
        return _rounded(state, changes | dict(_positions(state, scene, moved))), count

    def _waypoints(self, state: State, action: GroundController) -> Waypoints:
        return self._motions[action.controller.name].plan(state, action.objects, action.parameters)

    def _low_level(self, state: State, action: GroundController) -> Iterator[tuple[np.ndarray, Pose]]:
        """Yield the low-level actions of a skill, each with the pose of the robot after it."""
        scene, limits = self.room.scene(state), self.room.limits
        high = np.array([limits.move, limits.move, limits.turn, limits.extend], dtype=np.float32)
        pose = scene.pose
        for step in steps(scene, self._waypoints(state, action), limits):
            goal = step.pose
            change = (goal.x - pose.x, goal.y - pose.y, goal.theta - pose.theta, goal.arm - pose.arm)
            motion = np.clip(np.array(change, dtype=np.float32), -high, high)
            yield np.append(motion, np.float32(step.vacuum)), goal
            pose = goal

    def _reset(self, task: Task) -> Any:
        """Return KinDER's Gymnasium environment in the initial state of a task."""
        if isinstance(task, KinderTask):
            environment = self._environment(task.size)
            environment.reset(seed=task.seed)
        else:
            environment = self._environment(self.size)
            environment.reset(options={"init_state": self._to_kinder(task.initial_state)})
        return environment

    def _environment(self, size: int) -> Any:
        """Return KinDER's Gymnasium environment for tasks of this size; it is cached, so reset it first."""
        if size not in self._environments:
            arguments = {self.size_argument: size} if self.size_argument else {}
            self._environments[size] = type(self).gym_class(**arguments)
        return self._environments[size]

    def _simulator(self, size: int) -> Any:
        return self._environment(size)._object_centric_env

    def _from_kinder(self, state: ObjectCentricState) -> State:
        types = {kind.name: kind for kind in self.types}
        return State(
            {
                Object(obj.name, types[obj.type.name]): np.asarray(values, dtype=np.float32).tolist()
                for obj, values in state.data.items()
            }
        )

    def _to_kinder(self, state: State) -> ObjectCentricState:
        data = {
            KinderObject(obj.name, self._kinder_types[obj.type.name]): np.array(
                state[obj], dtype=np.float32
            )
            for obj in state
        }
        return ObjectCentricState(data, self._simulator(self.size).type_features)


def _is_at(state: State, robot: Object, pose: Pose, vacuum: bool) -> bool:
    x, y, theta, _, arm, _, suction, *_ = state[robot]
    turned = abs(turn_between(theta, pose.theta))
    distance = max(abs(x - pose.x), abs(y - pose.y), turned, abs(arm - pose.arm))
    return distance <= REACHED and (suction > 0.5) == vacuum


def _collision(action: GroundController, hit: Sequence[Body]) -> EnvironmentFailure:
    names = ", ".join(sorted({body.name for body in hit})) or "something"
    offending = [body.obj for body in hit if body.obj is not None and body.movable]
    return EnvironmentFailure(f"{action} collides with {names}.", offending)


def _positions(state: State, scene: Scene, moved: Set[Object]) -> Iterator[tuple[Object, dict[str, float]]]:
    """Yield the new features of the robot and of the objects that it moved."""
    pose = scene.pose
    features = {"x": pose.x, "y": pose.y, "theta": _wrapped(pose.theta), "arm_joint": pose.arm}
    yield state.of_type(ROBOT)[0], features | {"vacuum": float(scene.vacuum)}
    for body in scene.bodies:
        if body.obj is not None and body.obj in moved:
            shape = body.shape
            if isinstance(shape, Box):  # KinDER stores the lower left corner of a rectangle
                x, y = next(shape.corners())
                yield body.obj, {"x": x, "y": y, "theta": math.atan2(shape.sin, shape.cos)}
            else:
                yield body.obj, {"x": shape.x, "y": shape.y}


def _wrapped(angle: float) -> float:
    return math.atan2(math.sin(angle), math.cos(angle))


def _rounded(state: State, changes: Mapping[Object, Mapping[str, float]]) -> State:
    """Return the state with the given changes; the new values are rounded to 32 bits, as in KinDER."""
    return state.replace(
        {
            obj: {name: float(np.float32(value)) for name, value in features.items()}
            for obj, features in changes.items()
        }
    )


def _room(simulator: Any) -> Room:
    constants = simulator.initial_constant_state
    features = simulator.type_features
    bodies = tuple(
        body
        for obj, values in sorted(constants.data.items(), key=lambda item: item[0].name)
        for body in object_bodies(obj.name, dict(zip(features[obj.type], map(float, values), strict=True)))
    )
    config, high = simulator.config, simulator.action_space.high
    limits = StepLimits(move=float(high[0]), turn=float(high[2]), extend=float(high[3]))
    bounds = (config.world_min_x, config.world_min_y, config.world_max_x, config.world_max_y)
    return Room(bodies, limits, bounds)
