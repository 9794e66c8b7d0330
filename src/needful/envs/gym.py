"""Wrap domains as Gymnasium environments, for learners that need arrays and rewards.

An action runs a whole controller, not one low-level step, so episodes are short and plans can be replayed.
The rest of this package uses `Environment` directly. `needful.register_all` registers all built-in
domains with Gymnasium.

States, goals and actions are encoded as arrays. Tasks differ in their numbers of objects, but Gymnasium
spaces have a fixed size. So an array of objects has a fixed number of rows, the maximum number of objects.
The objects of a task take the first rows, sorted by name, and a mask marks these rows. Goals and actions
refer to an object by its row index. Unused entries are zero.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.model import Vocabulary
from needful.core.objects import Object
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment, Split
from needful.errors import InvalidInputError, UnknownNameError, check_at_least, importing_extra

with importing_extra("gym", "The Gymnasium view"):
    import gymnasium
    from gymnasium import spaces

# `reset` samples at most this number of tasks to find one that is small enough.
MAX_TASK_DRAWS = 1000
TASK_INDEX_LIMIT = 2**31
# Observations and actions map names to arrays; only the entry `controller` of an action is an integer.
Observation: TypeAlias = dict[str, Any]
Action: TypeAlias = dict[str, Any]

# The bound of all features: the true bounds are unknown, but many learners require finite bounds.
MAX_FEATURE = float(np.finfo(np.float32).max)


class GymView(gymnasium.Env[Observation, Action]):
    """Wraps an `Environment` as a `gymnasium.Env`.

    `GymEncoding` describes the arrays of observations and actions. The reward is 0 for the step that
    reaches the goal and -1 for every other step, so that shorter plans have higher returns. An episode
    terminates when the goal holds, and is truncated at the horizon. An invalid action, such as one with
    objects of wrong types, leaves the state unchanged and costs a step.

    `info` contains the current `State` as `state`, and the episode's `Task` as `task`. If the controller
    failed, `failure` is the reason, else None. If the action was invalid, `invalid` is the reason, else
    None. If the argument `atoms` is true, `info` also has `abstract`, the set of atoms that hold.

    `reset` samples a task, or takes `options={"task": task}`. Sampled tasks have at most `max_objects`
    objects and `max_goal_atoms` goal atoms. The default limits are the maxima over the first
    `environment.size_sample_count` tasks of the split.

    Args:
        environment: an environment, or the name of one in the catalogue.
        split: the split to sample tasks from.
        horizon: maximum number of actions per episode.
        max_objects: maximum number of objects per task.
        max_goal_atoms: maximum number of goal atoms per task.
        atoms: whether `info` contains the abstract state.
        render_mode: None, or `rgb_array` for pictures.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        environment: Environment | str,
        split: Split | str = Split.TRAIN,
        horizon: int = 100,
        max_objects: int | None = None,
        max_goal_atoms: int | None = None,
        atoms: bool = False,
        render_mode: str | None = None,
    ) -> None:
        _check_render_mode(render_mode)
        check_at_least(1, horizon=horizon, max_objects=max_objects, max_goal_atoms=max_goal_atoms)
        self.environment = make_environment(environment) if isinstance(environment, str) else environment
        self.split = Split.from_name(split)
        self.horizon = horizon
        self.atoms = atoms
        self.render_mode = render_mode
        if max_objects is None or max_goal_atoms is None:
            sample = self.environment.tasks(self.split, self.environment.size_sample_count, seed=0)
            max_objects = max_objects or max(len(task.objects) for task in sample)
            max_goal_atoms = max_goal_atoms or max(len(task.goal) for task in sample)
        self.encoding = GymEncoding(self.environment.vocabulary, max_objects, max_goal_atoms)
        self.observation_space = self.encoding.observation_space
        self.action_space = self.encoding.action_space
        self._episode: tuple[Task, State] | None = None
        self._steps = 0

    @property
    def task(self) -> Task:
        """The task of the current episode."""
        return self._current_episode()[0]

    @property
    def state(self) -> State:
        """The current state."""
        return self._current_episode()[1]

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode with a sampled task or `options["task"]`; return its observation and `info`."""
        options = options or {}
        _check_options(options)
        super().reset(seed=seed)
        task = options.get("task") or self._sample_fitting_task()
        if not self.encoding.fits(task):
            raise InvalidInputError(
                f"The task has {len(task.objects)} objects and {len(task.goal)} goal atoms; this view "
                f"allows at most {self.encoding.max_objects} and {self.encoding.max_goal_atoms}. "
                "Make the view with a larger max_objects or max_goal_atoms."
            )
        self._episode, self._steps = (task, task.initial_state), 0
        return self._observe(), self._info()

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Execute an action; return observation, reward, terminated, truncated and `info`."""
        task, state = self._current_episode()
        self.encoding.check_action(action)
        failure = invalid = None
        try:
            decoded = self.decode_action(action)
        except InvalidInputError as error:
            invalid = str(error)
        else:
            execution = self._execute(state, decoded)
            state, failure = execution.state, execution.failure
        self._episode = (task, state)
        self._steps += 1
        terminated = task.achieved_in(state)
        truncated = not terminated and self._steps >= self.horizon
        reward = 0.0 if terminated else -1.0
        return self._observe(), reward, terminated, truncated, self._info(failure, invalid)

    def render(self) -> np.ndarray | None:
        """Return a picture of the current state as an array of height x width x 3 bytes.

        Returns None if the render mode is None.
        """
        if self.render_mode is None:
            return None
        from matplotlib.image import imread

        from needful.envs.drawing.pictures import draw_state

        task, state = self._current_episode()
        picture = imread(io.BytesIO(draw_state(self.environment, state, task.goal)))
        return (picture[:, :, :3] * 255.0).round().astype(np.uint8)

    def encode_action(self, action: GroundController) -> Action:
        """Convert an action on objects of the current task to the arrays that `step` takes."""
        return self.encoding.encode_action(action, self.task.objects)

    def decode_action(self, action: Action) -> GroundController:
        """Convert the arrays that `step` takes to an action on objects of the current task.

        Raises `InvalidInputError` for an invalid action.
        """
        return self.encoding.decode_action(action, self.task.objects)

    def _sample_fitting_task(self) -> Task:
        for _ in range(MAX_TASK_DRAWS):
            # Draw a random index: in some domains, the index determines the kind of task.
            index = int(self.np_random.integers(TASK_INDEX_LIMIT))
            task = self.environment.sample_task(self.split, index, self.np_random)
            if self.encoding.fits(task):
                return task
        raise InvalidInputError(
            f"None of {MAX_TASK_DRAWS} sampled tasks had at most {self.encoding.max_objects} objects and "
            f"{self.encoding.max_goal_atoms} goal atoms. Increase max_objects or max_goal_atoms."
        )

    def _execute(self, state: State, action: GroundController) -> Execution:
        if not action.initiable(state):
            return Execution(state, steps=0, failure=f"{action} cannot start in this state.")
        return self.environment.execute(state, action)

    def _current_episode(self) -> tuple[Task, State]:
        if self._episode is None:
            raise InvalidInputError("No episode has started. Call reset first.")
        return self._episode

    def _observe(self) -> Observation:
        return self.encoding.observe(self.state, self.task.goal)

    def _info(self, failure: str | None = None, invalid: str | None = None) -> dict[str, Any]:
        info = {"state": self.state, "task": self.task, "failure": failure, "invalid": invalid}
        if self.atoms:
            info["abstract"] = abstract(self.state, self.environment.vocabulary.predicates)
        return info


def _check_options(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if name != "task":
            raise UnknownNameError("reset option", str(name), ["task"])
        if value is not None and not isinstance(value, Task):
            raise InvalidInputError(f"The option 'task' must be a Task, got {value!r}.")


def _check_render_mode(render_mode: str | None) -> None:
    modes = GymView.metadata["render_modes"]
    if render_mode is not None and render_mode not in modes:
        raise UnknownNameError("render mode", render_mode, modes)


@dataclass(frozen=True)
class GymEncoding:
    """Encodes observations and actions as arrays.

    Tasks may have at most `max_objects` objects and `max_goal_atoms` goal atoms. An observation has

        features   one row per object, one column per name in `columns`; 0 if its type lacks the feature
        types      one row per object: index of the object's type in the vocabulary
        mask       1 for rows of `features` and `types` that are in use
        goal       one row per goal atom: index of the predicate, then the row of each argument (an object)
        goal_mask  1 for rows of `goal` that are in use

    and an action has

        controller index of the controller in the vocabulary
        objects    row of each argument in `features`; entries beyond the controller's arity are ignored
        parameters scaled from the controller's bounds to [-1, 1]; entries beyond its dimension are ignored
    """

    vocabulary: Vocabulary
    max_objects: int
    max_goal_atoms: int

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The feature name of each column of `features`; features with the same name use one column."""
        return tuple(sorted({feature for kind in self.vocabulary.types for feature in kind.features}))

    @cached_property
    def observation_space(self) -> spaces.Dict:
        """The space of all observations."""
        rows, atoms = self.max_objects, self.max_goal_atoms
        arity = max((len(predicate.types) for predicate in self.vocabulary.predicates), default=0)
        atom_sizes = [len(self.vocabulary.predicates), *[rows] * arity]
        limit = MAX_FEATURE
        return spaces.Dict(
            {
                "features": spaces.Box(-limit, limit, (rows, len(self.columns)), np.float32),
                "types": spaces.MultiDiscrete([len(self.vocabulary.types)] * rows),
                "mask": spaces.MultiBinary(rows),
                "goal": spaces.MultiDiscrete(np.tile(atom_sizes, (atoms, 1))),
                "goal_mask": spaces.MultiBinary(atoms),
            }
        )

    @cached_property
    def action_space(self) -> spaces.Dict:
        """The space of all actions, including those with objects of wrong types."""
        controllers = self.vocabulary.controllers
        arity = max(len(controller.types) for controller in controllers)
        dimension = max(controller.dimension for controller in controllers)
        return spaces.Dict(
            {
                "controller": spaces.Discrete(len(controllers)),
                "objects": spaces.MultiDiscrete(np.full(arity, self.max_objects)),
                # Parameters have double precision, as in the simulator.
                "parameters": spaces.Box(-1.0, 1.0, (dimension,), np.float64),
            }
        )

    def fits(self, task: Task) -> bool:
        """Return whether the task has at most `max_objects` objects and `max_goal_atoms` goal atoms."""
        return len(task.objects) <= self.max_objects and len(task.goal) <= self.max_goal_atoms

    def observe(self, state: State, goal: AbstractState) -> Observation:
        """Return the observation of a state and a goal; `fits` must be true for their task."""
        objects = state.objects
        features = np.zeros((self.max_objects, len(self.columns)), dtype=np.float32)
        types = np.zeros(self.max_objects, dtype=np.int64)
        for row, obj in enumerate(objects):
            indices = [self.columns.index(feature) for feature in obj.type.features]
            features[row, indices] = np.clip(state[obj], -MAX_FEATURE, MAX_FEATURE)
            types[row] = self.vocabulary.types.index(obj.type)
        atoms = np.zeros(self.observation_space["goal"].shape or (), dtype=np.int64)
        for row, atom in enumerate(sorted(goal)):
            rows = [objects.index(obj) for obj in atom.objects]
            atoms[row, : 1 + len(rows)] = self.vocabulary.predicates.index(atom.predicate), *rows
        return {
            "features": features,
            "types": types,
            "mask": _mask(len(objects), self.max_objects),
            "goal": atoms,
            "goal_mask": _mask(len(goal), self.max_goal_atoms),
        }

    def decode_state(self, observation: Mapping[str, Any]) -> State:
        """Return the state that an observation encodes; feature values are rounded to single precision.

        Observations have no object names. Objects are named after their rows: `object00`, `object01`, ...
        """
        digits = len(str(self.max_objects - 1))
        vectors: dict[Object, Sequence[float]] = {}
        for row in np.flatnonzero(observation["mask"]).tolist():
            kind = self.vocabulary.types[int(observation["types"][row])]
            indices = [self.columns.index(feature) for feature in kind.features]
            vectors[kind(f"object{row:0{digits}}")] = observation["features"][row, indices].tolist()
        return State(vectors)

    def decode_goal(self, observation: Mapping[str, Any], state: State) -> AbstractState:
        """Return the goal that an observation encodes.

        `state` is the result of `decode_state` for this observation.
        """
        atoms = []
        for row in np.flatnonzero(observation["goal_mask"]).tolist():
            predicate_index, *rows = observation["goal"][row].tolist()
            predicate = self.vocabulary.predicates[predicate_index]
            atoms.append(predicate(*(state.objects[index] for index in rows[: len(predicate.types)])))
        return frozenset(atoms)

    def encode_action(self, action: GroundController, objects: Sequence[Object]) -> Action:
        """Encode an action as arrays; its parameters are clipped to the controller's bounds.

        `objects` are the objects of the task, in the order of the rows.
        """
        controllers = self.vocabulary.controllers
        if action.controller not in controllers:
            raise UnknownNameError("controller", action.controller.name, (one.name for one in controllers))
        for obj in action.objects:
            if obj not in objects:
                raise UnknownNameError("object", obj.name, (one.name for one in objects))
        encoded: Action = {
            "controller": np.int64(controllers.index(action.controller)),
            "objects": np.zeros(self.action_space["objects"].shape or (), dtype=np.int64),
            "parameters": np.zeros(self.action_space["parameters"].shape or (), dtype=np.float64),
        }
        encoded["objects"][: len(action.objects)] = [objects.index(obj) for obj in action.objects]
        encoded["parameters"][: len(action.parameters)] = _scale(action.controller, action.parameters)
        return encoded

    def decode_action(self, action: Mapping[str, Any], objects: Sequence[Object]) -> GroundController:
        """Return the action that the arrays in `action` encode.

        `objects` are the objects of the task, in the order of the rows. Raises `InvalidInputError` unless
        the action's rows hold objects of the types that its controller takes.
        """
        controller = self.vocabulary.controllers[int(action["controller"])]
        rows = [int(row) for row in action["objects"][: len(controller.types)]]
        for row in rows:
            if not 0 <= row < len(objects):
                raise InvalidInputError(f"Row {row} holds no object: the task has {len(objects)} objects.")
        parameters = _unscale(controller, action["parameters"][: controller.dimension])
        return controller(*(objects[row] for row in rows), parameters=parameters)

    def check_action(self, action: Mapping[str, Any]) -> None:
        """Raise `InvalidInputError` unless the action has the keys and array shapes of the action space.

        The index of its controller must also be valid.
        """
        entries = action if isinstance(action, Mapping) else {}
        for name, space in self.action_space.items():
            if name not in entries or np.shape(entries[name]) != space.shape:
                raise InvalidInputError(f"Expected an action of {dict(self.action_space)}, got {action}.")
        if int(action["controller"]) not in range(len(self.vocabulary.controllers)):
            known = {index: one.name for index, one in enumerate(self.vocabulary.controllers)}
            raise InvalidInputError(f"Unknown controller index {action['controller']}. Known: {known}.")


def _mask(count: int, size: int) -> np.ndarray:
    return (np.arange(size) < count).astype(np.int8)


def _scale(controller: Controller, parameters: Sequence[float]) -> list[float]:
    """Scale parameters from the controller's bounds to [-1, 1]."""
    bounds = zip(controller.clip(parameters), controller.low, controller.high, strict=True)
    return [2.0 * (value - low) / (high - low) - 1.0 if low < high else 0.0 for value, low, high in bounds]


def _unscale(controller: Controller, scaled: Sequence[float]) -> list[float]:
    """Scale numbers from [-1, 1] to the controller's bounds; -1 and 1 map to the bounds exactly."""
    fractions = (np.clip(np.asarray(scaled, dtype=np.float64), -1.0, 1.0) + 1.0) / 2.0
    bounds = zip(fractions.tolist(), controller.low, controller.high, strict=True)
    return [(1.0 - fraction) * low + fraction * high for fraction, low, high in bounds]
