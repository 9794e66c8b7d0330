"""Wrap the domains as Gymnasium environments, for learners that need arrays and rewards.

An action runs a whole controller, not one low-level step, so episodes are short and plans can be replayed.
The rest of this package uses `Environment` directly. `needful.register_all` registers all domains with
Gymnasium.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from needful.abstraction import abstract
from needful.core.controllers import Execution, GroundController
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment, Split
from needful.envs.gym_encoding import Action, GymEncoding, Observation
from needful.errors import InvalidInputError, UnknownNameError, check_at_least, importing_extra

with importing_extra("gym", "The Gymnasium view"):
    import gymnasium

# `reset` samples at most this number of tasks to find one that is small enough.
MAX_TASK_DRAWS = 1000
TASK_INDEX_LIMIT = 2**31


class GymView(gymnasium.Env[Observation, Action]):
    """Wraps an `Environment` as a `gymnasium.Env`.

    `GymEncoding` describes the arrays of observations and actions. The reward is 0 for the step that
    reaches the goal and -1 for every other step, so that shorter plans have higher returns. An episode
    terminates when the goal holds, and is truncated at the horizon. An invalid action, such as one with
    objects of wrong types, leaves the state unchanged and costs a step.

    `info` contains the `State` of the episode as `state`, and its `Task` as `task`. If the controller
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
