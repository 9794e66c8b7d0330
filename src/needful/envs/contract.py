"""The contract of an environment: the members that a domain must provide, and those that it inherits.

A new domain is one file: a subclass of `Environment` with a vocabulary and four methods. If controllers
run as closed loops over many low-level actions, derive from `MultiStepEnvironment` and write `step` instead
of `simulate`. `check_environment` reports violations of the contract. `oracle_operator` is a compact
notation for the operators of an oracle model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from needful.core.atoms import AbstractState, LiftedAtom, Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import EnvironmentFailure, InvalidInputError, UnknownNameError
from needful.seeding import rng_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# When a controller's closed loop fails: after more than MAX_STEPS low-level actions, or after one that
# changes all features by at most STUCK_TOLERANCE.
MAX_STEPS = 1000
STUCK_TOLERANCE = 1e-3


class Split(Enum):
    """Whether a task is for training or for evaluation; test tasks may be larger."""

    TRAIN = "train"
    TEST = "test"

    @classmethod
    def from_name(cls, split: Split | str) -> Split:
        """Return the split with the given name; a `Split` is returned unchanged."""
        names = [one.value for one in cls]
        if not isinstance(split, Split) and split not in names:
            raise UnknownNameError("split", str(split), names)
        return cls(split)


class Environment(ABC):
    """A domain: its vocabulary, its simulator f(x, u) → x', its tasks and its oracle model.

    Environments are stateless: the result of every method depends on its arguments only.

    Attributes:
        name: letters a-z, digits and hyphens, as in the catalogue.
        description: one line of text.
        vocabulary: the types, predicates and controllers.
        picture_size: width and height of pictures in inches.
        size_sample_count: number of tasks to sample to find the numbers of objects and goal atoms per task.
    """

    name: str
    description: str
    vocabulary: Vocabulary
    picture_size: tuple[float, float] = (6.0, 4.0)
    size_sample_count: int = 100

    @abstractmethod
    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state after an action; the action's parameters lie within the controller's bounds.

        The result depends on the arguments only. If the action is not possible, return the state
        unchanged, or raise `EnvironmentFailure` with the objects that caused the failure.
        """

    @abstractmethod
    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample a task; use random numbers from `rng` only.

        `index` is the position of the task in its split; a domain may use the index to alternate between
        kinds of tasks.
        """

    @abstractmethod
    def oracle_model(self) -> PlanningModel:
        """Return a model of hand-written operators and samplers that solves the tasks of this domain."""

    @abstractmethod
    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw a state on empty axes and highlight the objects of the goal."""

    def execute(self, state: State, action: GroundController) -> Execution:
        """Run an action, with its parameters clipped to the controller's bounds, and return the result.

        An `EnvironmentFailure` is returned in the `Execution`, not raised.
        """
        clipped = action.controller.clip(action.parameters)
        if clipped != action.parameters:
            action = replace(action, parameters=clipped)
        try:
            after, steps = self._run(state, action)
        except EnvironmentFailure as failure:
            return Execution(state, steps=0, failure=failure.reason, offending=failure.offending)
        return Execution(after, steps)

    def tasks(self, split: Split | str, count: int, seed: int) -> tuple[Task, ...]:
        """Return the first `count` tasks of a split; task number k depends on the seed and k only."""
        split = Split.from_name(split)
        if count < 0:
            raise InvalidInputError(f"The count of tasks must be at least 0, got {count}.")
        return tuple(self.task(split, index, seed) for index in range(count))

    def task(self, split: Split | str, index: int, seed: int) -> Task:
        """Return the task number `index` of a split, without sampling the tasks before it."""
        split = Split.from_name(split)
        if index < 0:
            raise InvalidInputError(f"The index of a task must be at least 0, got {index}.")
        return self.sample_task(split, index, rng_for(seed, "tasks", self.name, split.value, index))

    def _run(self, state: State, action: GroundController) -> tuple[State, int]:
        """Run an action; return the state after it and the number of low-level actions that it took."""
        return self.simulate(state, action), 1


class MultiStepEnvironment(Environment):
    """A domain in which every controller has a policy, which chooses low-level actions one by one."""

    @abstractmethod
    def step(self, state: State, low_level_action: np.ndarray) -> State:
        """Return the state after one low-level action; may raise `EnvironmentFailure`."""

    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state in which the controller's policy terminates.

        Raises `EnvironmentFailure` if the policy gets stuck or exceeds `MAX_STEPS`.
        """
        return self._run(state, action)[0]

    def _run(self, state: State, action: GroundController) -> tuple[State, int]:
        policy = action.controller.policy
        if policy is None:
            raise InvalidInputError(
                f"Controller {action.controller.name!r} has no policy, so {self.name!r} cannot run it. "
                "Give it a policy, or derive the environment from Environment and write `simulate`."
            )
        memory: dict[str, object] = {}
        for steps in range(1, MAX_STEPS + 1):
            after = self.step(state, policy.act(state, action, memory))
            # Call `terminal` only after an action, because a result of 0 steps means a failure.
            if policy.terminal(after, action, memory):
                return after, steps
            if after.allclose(state, STUCK_TOLERANCE):
                raise EnvironmentFailure(f"{action} got stuck: step {steps} changed nothing.")
            state = after
        raise EnvironmentFailure(f"{action} did not finish within {MAX_STEPS} steps.")


def oracle_operator(
    name: str,
    parameters: Sequence[Variable],
    call: tuple[Controller, Sequence[Variable]],
    *,
    needs: Iterable[LiftedAtom] = (),
    forbids: Iterable[LiftedAtom] = (),
    adds: Iterable[LiftedAtom] = (),
    deletes: Iterable[LiftedAtom] = (),
    forgets: Iterable[Predicate | DeletePattern] = (),
) -> Operator:
    """Return an operator for an oracle model.

    Args:
        name: the name of the operator.
        parameters: the variables of the operator.
        call: the controller and the variables that are its arguments.
        needs: the preconditions.
        forbids: the negative preconditions, atoms that must not hold.
        adds: the add effects.
        deletes: the delete effects.
        forgets: the atoms that become unknown. A predicate stands for all its atoms. A delete pattern is
            an atom with wildcards, and stands for all atoms that match it.
    """
    controller, arguments = call
    return Operator(
        name,
        tuple(parameters),
        preconditions=frozenset(needs),
        add_effects=frozenset(adds),
        delete_effects=frozenset(deletes),
        delete_patterns=frozenset(map(_as_pattern, forgets)),
        controller=controller,
        controller_arguments=tuple(arguments),
        negative_preconditions=frozenset(forbids),
    )


def _as_pattern(item: Predicate | DeletePattern) -> DeletePattern:
    if isinstance(item, DeletePattern):
        return item
    return DeletePattern(item, tuple(map(Wildcard, item.types)))
