"""The contract of an environment: the members that a domain must provide, and those that it inherits.

A new domain is one file: a subclass of `Environment` with a vocabulary, `simulate` and `sample_task`. If
controllers run as closed loops over many low-level actions, derive from `MultiStepEnvironment` and write
`step` instead of `simulate`. Demonstrations come from an oracle model, from a scripted policy, or from
recordings, so `oracle_model` and `demonstrate` are optional. `check_environment` reports violations of the
contract. `oracle_operator` is a compact notation for the operators of an oracle model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from needful.core.atoms import AbstractState, LiftedAtom, NegatedAtom, Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import EnvironmentFailure, InvalidInputError, NotProvidedError, UnknownNameError
from needful.seeding import rng_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The closed loop of a controller fails if it takes more than MAX_STEPS low-level actions, or if a low-level
# action changes no feature by more than STUCK_TOLERANCE.
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
    """A domain: its vocabulary, its simulator f(x, u) → x', its tasks and, optionally, its demonstrator.

    Environments are stateless: the result of every method depends on its arguments only.

    Attributes:
        name: letters a-z, digits and hyphens, as in the catalogue.
        description: one line of text.
        vocabulary: the types, predicates and controllers.
        picture_size: width and height of pictures in inches.
        size_sample_count: how many tasks are sampled to find out how many objects and goal atoms tasks
            have.
        horizon: the maximum number of low-level actions in a plan, unless the user gives another maximum.
        tolerance: how much features may differ if the same simulation is repeated. Atoms must be equal.
            With the default 0, features must be exactly equal. Physics engines may need a larger value;
            `check_environment` reports the largest difference.
    """

    name: str
    description: str
    vocabulary: Vocabulary
    picture_size: tuple[float, float] = (6.0, 4.0)
    size_sample_count: int = 100
    horizon: int = 100
    tolerance: float = 0.0

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

    def oracle_model(self) -> PlanningModel:
        """Return a model of hand-written operators and samplers that solves the tasks of this domain.

        Optional; by default raises `NotProvidedError`.
        """
        raise NotProvidedError(
            f"{self.name!r} has no oracle model. Write `oracle_model`, or do without it: write a scripted "
            "policy `demonstrate`, or pass recorded demonstrations (--demonstrations FILE)."
        )

    def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterable[GroundController]:
        """Return the actions of a scripted policy that solves a task; use random numbers from `rng` only.

        Optional; by default raises `NotProvidedError`. Used only if there is no oracle model. For a closed
        loop, write a generator: `state = yield action` executes an action and receives the state after it.
        An action that fails leaves the state unchanged and is not recorded, so the policy may try another
        one. The demonstration ends as soon as the goal holds.
        """
        raise NotProvidedError(
            f"{self.name!r} has no demonstrator. Write `oracle_model` or a scripted policy `demonstrate`, "
            "or pass recorded demonstrations (--demonstrations FILE)."
        )

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw a state on empty axes and highlight the objects of the goal.

        By default, list the features of all objects as text.
        """
        wanted = {obj for atom in goal for obj in atom.objects}
        width, height = (72.0 * length / axes.figure.dpi for length in axes.bbox.size)  # in points
        for number, obj in enumerate(state):
            values = zip(obj.type.features, state[obj], strict=True)
            line = f"{obj}  {', '.join(f'{feature} {value:.4g}' for feature, value in values)}"
            axes.text(
                0.02,
                1.0 - (number + 0.5) / len(state.objects),
                line,
                transform=axes.transAxes,
                verticalalignment="center",
                fontsize=min(8.0, 0.8 * height / len(state.objects), 1.5 * width / len(line)),
                fontweight="bold" if obj in wanted else "normal",
            )
        axes.axis("off")

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

    def trace(self, state: State, action: GroundController) -> Iterable[State]:
        """Return the states that an action passes through, for films; the last one is the state after it.

        Optional; by default returns no states. Films then show straight motions from state to state.
        """
        return ()

    def confirms(self, task: Task, actions: Sequence[GroundController]) -> bool:
        """Return whether a plan that solves a task in `simulate` also solves it in the original simulator.

        By default True. Override it if `simulate` imitates a simulator of another package: run the plan in
        that simulator. Evaluation counts a task as solved only if this method returns True.
        """
        return True

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

    # In low-level actions: enough for 100 controller calls of MAX_STEPS low-level actions each.
    horizon: int = 100 * MAX_STEPS

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
            # Never call `terminal` before the first low-level action: 0 steps would count as a failure.
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
    needs: Iterable[LiftedAtom | NegatedAtom] = (),
    adds: Iterable[LiftedAtom] = (),
    deletes: Iterable[LiftedAtom] = (),
    forgets: Iterable[Predicate | DeletePattern] = (),
) -> Operator:
    """Return an operator for an oracle model.

    Args:
        name: the name of the operator.
        parameters: the variables of the operator.
        call: the controller and the variables that are its arguments.
        needs: the preconditions; `~atom` is a negative one, an atom that must not hold.
        adds: the add effects.
        deletes: the delete effects.
        forgets: the atoms, other than add effects, that may be true or false after the operator, because
            it does not predict them. A predicate stands for all its atoms. A delete pattern is an atom with
            wildcards, such as `OnTop(?book, *:obj)`, and stands for all atoms that match it.
    """
    controller, arguments = call
    conditions = tuple(needs)
    return Operator(
        name,
        tuple(parameters),
        preconditions=frozenset(one for one in conditions if isinstance(one, LiftedAtom)),
        add_effects=frozenset(adds),
        delete_effects=frozenset(deletes),
        delete_patterns=frozenset(map(_as_pattern, forgets)),
        controller=controller,
        controller_arguments=tuple(arguments),
        negative_preconditions=frozenset(one.atom for one in conditions if isinstance(one, NegatedAtom)),
    )


def _as_pattern(item: Predicate | DeletePattern) -> DeletePattern:
    if isinstance(item, DeletePattern):
        return item
    return DeletePattern(item, tuple(map(Wildcard, item.types)))
