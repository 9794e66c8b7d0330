"""What a domain must provide, and what it gets for it.

A new domain is one file: a subclass of `Environment` with a vocabulary and four methods. A domain
whose controllers are closed loops over many small actions derives from `MultiStepEnvironment` and
writes `step` in the place of `simulate`. `check_environment` tells whether the contract is kept.

The words in which oracle models are written down.
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

MAX_STEPS = 1000
STUCK_TOLERANCE = 1e-3


class Split(Enum):
    """Whether a task is to learn from or to be judged by; domains may make the latter larger."""

    TRAIN = "train"
    TEST = "test"

    @classmethod
    def named(cls, split: Split | str) -> Split:
        """Return the split of a name; a split is returned as it is."""
        names = [one.value for one in cls]
        if not isinstance(split, Split) and split not in names:
            raise UnknownNameError("split", str(split), names)
        return cls(split)


class Environment(ABC):
    """A domain: its vocabulary, its simulator f(x, u) → x', its tasks and its oracle model.

    Environments keep no state of their own: every method is a function of its arguments.

    Attributes:
        name: as in the catalogue.
        description: one line for people.
        vocabulary: the types, predicates and controllers.
        picture_size: the width and height in inches that suit `draw`.
        examples: how many tasks are looked at to tell how large tasks are.
    """

    name: str
    description: str
    vocabulary: Vocabulary
    picture_size: tuple[float, float] = (6.0, 4.0)
    examples: int = 100

    @abstractmethod
    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state after an action whose parameters lie in the controller's box.

        The result depends on the arguments alone. If a requirement of the controller fails, it is
        the state unchanged. Raises `EnvironmentFailure` where objects are to be blamed for it.
        """

    @abstractmethod
    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Draw a task; `index` is its number in its split, for domains whose tasks take turns."""

    @abstractmethod
    def oracle_model(self) -> PlanningModel:
        """Return the hand-written operators with their samplers."""

    @abstractmethod
    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw a state on empty axes and mark what the goal speaks of."""

    def execute(self, state: State, action: GroundController) -> Execution:
        """Run an action with its parameters clipped to the controller's box; a failure is a value."""
        clipped = action.controller.clip(action.parameters)
        if clipped != action.parameters:
            action = replace(action, parameters=clipped)
        try:
            after, steps = self._run(state, action)
        except EnvironmentFailure as failure:
            return Execution(state, steps=0, failure=failure.reason, offending=failure.offending)
        return Execution(after, steps)

    def tasks(self, split: Split | str, count: int, seed: int) -> tuple[Task, ...]:
        """Return the first tasks of a split. Task k depends on the seed and on k, not on the count."""
        split = Split.named(split)
        if count < 0:
            raise InvalidInputError(f"The count of tasks must be at least 0, got {count}.")
        return tuple(self.task(split, index, seed) for index in range(count))

    def task(self, split: Split | str, index: int, seed: int) -> Task:
        """Return the task of a split at an index, without drawing those before it."""
        split = Split.named(split)
        if index < 0:
            raise InvalidInputError(f"The index of a task must be at least 0, got {index}.")
        return self.sample_task(split, index, rng_for(seed, "tasks", self.name, split.value, index))

    def _run(self, state: State, action: GroundController) -> tuple[State, int]:
        """Return the state after an action and how many low-level actions it took."""
        return self.simulate(state, action), 1


class MultiStepEnvironment(Environment):
    """A domain whose every controller has a policy, run in a closed loop of low-level actions."""

    @abstractmethod
    def step(self, state: State, low_level_action: np.ndarray) -> State:
        """Return the state after one low-level action. Like `simulate`, it may raise."""

    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state in which the controller's policy has finished; raise if it never does."""
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
            # Asked only after an action: an execution of no steps would count as a failure.
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
    adds: Iterable[LiftedAtom] = (),
    deletes: Iterable[LiftedAtom] = (),
    forgets: Iterable[Predicate | DeletePattern] = (),
) -> Operator:
    """Return an operator written as one row of a domain's table: name | call | P | E+ | E- | Q.

    `call` is the controller with its arguments. Of each predicate in `forgets` (Q) all atoms become
    unknown, as in the paper; of a pattern, those that match it.
    """
    controller, arguments = call
    return Operator(
        name,
        tuple(parameters),
        preconditions=frozenset(needs),
        add_effects=frozenset(adds),
        delete_effects=frozenset(deletes),
        delete_patterns=frozenset(map(_pattern, forgets)),
        controller=controller,
        controller_arguments=tuple(arguments),
    )


def _pattern(forgotten: Predicate | DeletePattern) -> DeletePattern:
    if isinstance(forgotten, DeletePattern):
        return forgotten
    return DeletePattern(forgotten, tuple(map(Wildcard, forgotten.types)))
