"""The Gymnasium view of an environment: for learners that want arrays and rewards.

An action is a whole controller, not one of its low-level steps, so episodes are short and plans can be
replayed. Planners and the rest of this package use `Environment` itself.

Make the catalogue known to Gymnasium.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from needful.abstraction.abstract import abstract
from needful.core.controllers import Execution, GroundController
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import CATALOGUE, make_environment
from needful.envs.contract import Environment, Split
from needful.envs.gym_encoding import Action, GymEncoding, Observation
from needful.errors import InvalidInputError, UnknownNameError

# How many tasks are drawn at most until one fits.
MOST_DRAWS = 1000
TASK_INDEX_LIMIT = 2**31


class GymView(gymnasium.Env[Observation, Action]):
    """An environment as a `gymnasium.Env`; `GymEncoding` says what the arrays mean.

    The reward is 0 for the step that reaches the goal and -1 for every other step, so that the best
    policy is the one with the shortest plans. Episodes terminate where the goal holds and are truncated
    at the horizon. An action that makes no sense, because the objects are of wrong types, changes
    nothing but costs a step.

    `info` is the object-centric view: `state` and `task` as values of this package; `failure`, why the
    controller failed, if it did; `invalid`, why the action made no sense, if so; and with `atoms` also
    `abstract`, the atoms that hold.

    `reset` draws a task, or takes `options={"task": task}`. Larger ones than `max_objects` and
    `max_goal_atoms` allow are never drawn. If left out, those are the sizes of the largest of the first
    tasks of the split, as many as the environment has for `examples`.

    Args:
        environment: an environment, or the name of one in the catalogue.
        split: where tasks are drawn from.
        horizon: the actions an episode may take.
        max_objects: the objects a task may have.
        max_goal_atoms: the atoms a goal may have.
        atoms: whether `info` has the abstract state.
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
        _check_positive(horizon=horizon, max_objects=max_objects, max_goal_atoms=max_goal_atoms)
        self.environment = make_environment(environment) if isinstance(environment, str) else environment
        self.split = Split.named(split)
        self.horizon = horizon
        self.atoms = atoms
        self.render_mode = render_mode
        if max_objects is None or max_goal_atoms is None:
            examples = self.environment.tasks(self.split, self.environment.examples, seed=0)
            max_objects = max_objects or max(len(task.objects) for task in examples)
            max_goal_atoms = max_goal_atoms or max(len(task.goal) for task in examples)
        self.encoding = GymEncoding(self.environment.vocabulary, max_objects, max_goal_atoms)
        self.observation_space = self.encoding.observation_space
        self.action_space = self.encoding.action_space
        self._episode: tuple[Task, State] | None = None
        self._steps = 0

    @property
    def task(self) -> Task:
        """The task of this episode."""
        return self._current_episode()[0]

    @property
    def state(self) -> State:
        """The present state."""
        return self._current_episode()[1]

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with a task of the split, or with `options["task"]`."""
        options = options or {}
        _check_options(options)
        super().reset(seed=seed)
        task = options.get("task") or self._sample_fitting_task()
        if not self.encoding.fits(task):
            raise InvalidInputError(
                f"The task has {len(task.objects)} objects and {len(task.goal)} goal atoms; "
                f"this view was made for at most {self.encoding.max_objects} and "
                f"{self.encoding.max_goal_atoms}. Give it a larger max_objects or max_goal_atoms."
            )
        self._episode, self._steps = (task, task.initial_state), 0
        return self._observe(), self._info()

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Execute an action of the action space; see the class for what comes back."""
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
        """Return a picture of the present state as height x width x 3 bytes, if that was asked for."""
        if self.render_mode is None:
            return None
        from matplotlib.image import imread

        from needful.envs.drawing.pictures import draw_state

        task, state = self._current_episode()
        picture = imread(io.BytesIO(draw_state(self.environment, state, task.goal)))
        return (picture[:, :, :3] * 255.0).round().astype(np.uint8)

    def encode_action(self, action: GroundController) -> Action:
        """Return an action over objects of the present task as `step` takes it."""
        return self.encoding.encode_action(action, self.task.objects)

    def decode_action(self, action: Action) -> GroundController:
        """Return what an action of `step` means in the present task; raise if it makes no sense there."""
        return self.encoding.decode_action(action, self.task.objects)

    def _sample_fitting_task(self) -> Task:
        for _ in range(MOST_DRAWS):
            # A number without an end to it, because some domains let kinds of tasks take turns.
            index = int(self.np_random.integers(TASK_INDEX_LIMIT))
            task = self.environment.sample_task(self.split, index, self.np_random)
            if self.encoding.fits(task):
                return task
        raise InvalidInputError(
            f"None of {MOST_DRAWS} tasks had at most {self.encoding.max_objects} objects and "
            f"{self.encoding.max_goal_atoms} goal atoms. Allow more with max_objects or max_goal_atoms."
        )

    def _execute(self, state: State, action: GroundController) -> Execution:
        if not action.initiable(state):
            return Execution(state, steps=0, failure=f"{action} cannot start in this state.")
        return self.environment.execute(state, action)

    def _current_episode(self) -> tuple[Task, State]:
        if self._episode is None:
            raise InvalidInputError("There is no episode yet. Call reset first.")
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
            raise InvalidInputError(f"The option 'task' takes a Task, got {value!r}.")


def _check_render_mode(render_mode: str | None) -> None:
    modes = GymView.metadata["render_modes"]
    if render_mode is not None and render_mode not in modes:
        raise UnknownNameError("render mode", render_mode, modes)


def _check_positive(**settings: int | None) -> None:
    for name, value in settings.items():
        if value is not None and value < 1:
            raise InvalidInputError(f"{name} must be at least 1, got {value}.")


def register_all() -> tuple[str, ...]:
    """Register every domain with Gymnasium and return the ids, such as `needful/Screws-v0`.

    `gymnasium.make` takes the arguments of `needful.envs.gym.GymView`. Calling this again does nothing.
    """
    import gymnasium  # takes long, so not before it is wanted

    ids = {f"needful/{entry.class_name}-v0": name for name, entry in sorted(CATALOGUE.items())}
    for identifier, name in ids.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier, entry_point="needful.envs.gym:GymView", kwargs={"environment": name}
            )
    return tuple(ids)
