"""A trained graph network as a policy: it maps a state and a goal to the next action.

A task is solved by following the policy from the initial state until the goal holds. `follow` is
model-free: it executes the policy's actions once, in the environment itself. `shoot` plans: it simulates
rollouts with noisy parameters until one reaches the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState
from needful.core.controllers import Controller, Execute, GroundController
from needful.core.model import Named, Vocabulary, find_equal
from needful.core.plans import Failure, Outcome, PlanningResult, SearchStatistics
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import CheckedSettings, InvalidInputError, UnknownNameError, at_least
from needful.policies.graph_network import (
    GraphEncoding,
    NetworkSize,
    NumpyBackend,
    evaluate_network,
    weight_shapes,
)

# The standard deviation of the Gaussian noise that `shoot` adds to the parameters of actions.
NOISE_DEVIATION = 0.1
# The maximum number of times that `shoot` draws the parameters of one action. If the controller cannot
# start with any of these draws, the rollout fails.
MAX_DRAWS = 100

# A function that takes a state and the action that the policy chose. It returns the action to execute, or
# None if the action cannot start in the state. It also returns how often it drew parameters.
Adjust: TypeAlias = Callable[[State, GroundController], tuple[GroundController | None, int]]


@dataclass(frozen=True, slots=True)
class PolicyConfig(CheckedSettings):
    """How long to train a policy, and which weights to keep.

    Attributes:
        epochs: the number of passes over the examples; the learning rate decreases to 0 over all of them.
        batch: the number of examples per gradient step.
        held_out: the fraction of the examples that is used only for validation: the first ones in
            order. The weights with the lowest validation loss are kept. If `held_out` is 0, there is no
            validation, and the weights after the last epoch are kept.
        check_every: the number of epochs between two computations of the validation loss.
        patience: stop after this number of epochs without a lower validation loss.
    """

    epochs: int = at_least(1, 3_000)
    batch: int = at_least(1, 128)
    held_out: float = 0.0
    check_every: int = at_least(1, 100)
    patience: int = at_least(1, 1_000)

    def __post_init__(self) -> None:
        CheckedSettings.__post_init__(self)
        if not 0.0 <= self.held_out < 1.0:
            raise InvalidInputError(f"held_out must be a fraction from 0 to below 1, got {self.held_out}.")


def network_size(vocabulary: Vocabulary) -> NetworkSize:
    """Return the size of the network for a vocabulary; raise if the vocabulary has no controllers.

    The number of outputs per node is the maximum number of arguments of a controller. The number of outputs
    per graph is the number of controllers plus the maximum number of parameters of a controller.
    """
    encoding = GraphEncoding.of(vocabulary)
    if not vocabulary.controllers:
        raise InvalidInputError("A policy needs at least one controller, but the vocabulary has none.")
    return NetworkSize(
        encoding.node_width,
        encoding.edge_width,
        encoding.global_width,
        max(len(controller.types) for controller in vocabulary.controllers),
        len(vocabulary.controllers) + max(controller.dimension for controller in vocabulary.controllers),
    )


@dataclass(frozen=True, slots=True, eq=False)
class GraphPolicy:
    """A policy that chooses a controller, its objects and its parameters with a graph neural network.

    `weights` are arrays of 32-bit floats, with the names and shapes that `weight_shapes` returns. The order
    of types, predicates and controllers in the vocabulary defines the network's inputs and outputs.
    """

    vocabulary: Vocabulary
    weights: Mapping[str, np.ndarray]
    _encoding: GraphEncoding = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_encoding", GraphEncoding.of(self.vocabulary))
        _check_weights(self.weights, weight_shapes(network_size(self.vocabulary)))

    def __repr__(self) -> str:
        sizes = (
            f"{len(self.vocabulary.predicates)} predicates, {len(self.vocabulary.controllers)} controllers"
        )
        return f"GraphPolicy({sizes}, {sum(weight.size for weight in self.weights.values()):,} weights)"

    def act(self, state: State, goal: AbstractState) -> GroundController | None:
        """Return the most likely applicable controller with its objects and parameters.

        A controller is applicable if the state has an object for each of its argument types. Returns None
        if no controller is applicable. For each argument, the most likely object of the argument's type is
        chosen. Parameters are clipped to their bounds.
        """
        atoms = abstract(state, self.vocabulary.predicates)
        graph = self._encoding.encode(state, atoms, goal)
        argument_logits, outputs = evaluate_network(self.weights, graph, NumpyBackend())
        logits, parameters = np.split(outputs[0], [len(self.vocabulary.controllers)])
        for index in np.argsort(-logits, kind="stable"):
            controller = self.vocabulary.controllers[index]
            if all(state.of_type(kind) for kind in controller.types):
                return _decode(controller, state, argument_logits, parameters)
        return None

    def bound_to(self, vocabulary: Vocabulary) -> GraphPolicy:
        """Return this policy with the types, predicates and controllers of a domain's vocabulary.

        A policy that was read from a file cannot be used without this step: its predicates have no
        classifiers, and its controllers no initiation tests. The order of the policy's own vocabulary is
        kept. Raises if one of its types, predicates or controllers is missing in `vocabulary` or is defined
        differently there.
        """
        return GraphPolicy(
            Vocabulary(
                _bound("type", self.vocabulary.types, vocabulary.types),
                _bound("predicate", self.vocabulary.predicates, vocabulary.predicates),
                _bound("controller", self.vocabulary.controllers, vocabulary.controllers),
            ),
            self.weights,
        )


def _bound(kind: str, trained: Sequence[Named], domain: Sequence[Named]) -> tuple[Named, ...]:
    """Return the items of `domain` with the same names as those of `trained`, in the order of `trained`.

    The items are types, predicates or controllers; `kind` is the word for them in error messages. Raises if
    an item of `trained` is missing in `domain` or is defined differently there.
    """
    by_name = {each.name: each for each in domain}
    return tuple(find_equal(kind, each, by_name, "of the policy") for each in trained)


def _decode(
    controller: Controller, state: State, argument_logits: np.ndarray, parameters: np.ndarray
) -> GroundController:
    node = {obj: index for index, obj in enumerate(state.objects)}
    objects = [
        max(state.of_type(kind), key=lambda obj: argument_logits[node[obj], argument])
        for argument, kind in enumerate(controller.types)
    ]
    return controller(*objects, parameters=controller.clip(parameters[: controller.dimension].tolist()))


def _check_weights(weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    unknown = sorted(set(weights) - set(shapes))
    if unknown:
        raise UnknownNameError("weight", unknown[0], shapes)
    for name, shape in shapes.items():
        if name not in weights:
            raise InvalidInputError(f"The weight {name!r} is missing.")
        if weights[name].shape != shape:
            raise InvalidInputError(
                f"The weight {name!r} has shape {list(weights[name].shape)}, not {list(shape)}."
            )
        if weights[name].dtype != np.float32 or not np.all(np.isfinite(weights[name])):
            raise InvalidInputError(f"The weight {name!r} must hold finite 32-bit floats.")


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """When a rollout gives up: after more than `horizon` low-level actions, or if `expired()` is true."""

    horizon: int
    expired: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Rollout:
    """The result of following a policy.

    Attributes:
        actions: the executed actions.
        states: the initial state, and the state after each action.
        failure: why the goal was not reached; None if it was reached.
        samples: how often parameters of actions were drawn at random.
    """

    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    failure: Failure | None
    samples: int

    def __repr__(self) -> str:
        outcome = "solved" if self.failure is None else self.failure.outcome.value
        return f"Rollout({outcome}, {len(self.actions)} actions, {self.samples} samples)"

    def result(self, statistics: SearchStatistics) -> PlanningResult:
        """Return the rollout as a planning result with the given statistics."""
        outcome = Outcome.SOLVED if self.failure is None else self.failure.outcome
        return PlanningResult(outcome, (), self.actions, self.states, (), self.failure, statistics)


def roll_out(
    policy: GraphPolicy, task: Task, execute: Execute, adjust: Adjust, limits: RolloutLimits
) -> Rollout:
    """Execute the policy's actions until the goal holds, an action fails or a limit is reached.

    `adjust` may change each action before it is executed, for example add noise to its parameters.
    """
    state, steps, samples = task.initial_state, 0, 0
    actions: list[GroundController] = []
    states = [state]

    def finish(outcome: Outcome | None = None, detail: str = "") -> Rollout:
        failure = None if outcome is None else Failure(len(actions), None, outcome, detail=detail)
        return Rollout(tuple(actions), tuple(states), failure, samples)

    while not task.achieved_in(state):
        if limits.expired():
            return finish(Outcome.TIMEOUT, "Time ran out before the next action was chosen.")
        proposed = policy.act(state, task.goal)
        if proposed is None:
            return finish(
                Outcome.NOT_INITIABLE, "The state has no objects for the arguments of any controller."
            )
        action, draws = adjust(state, proposed)
        samples += draws
        if action is None:
            return finish(Outcome.NOT_INITIABLE, f"{proposed} cannot start in the current state.")
        execution = execute(state, action)
        steps += execution.steps
        if execution.steps == 0:
            reason = execution.failure or "it executed no low-level action."
            return finish(Outcome.CONTROLLER_FAILED, f"{action} failed: {reason}")
        if steps > limits.horizon:
            detail = (
                f"After {action} the rollout exceeds the horizon of {limits.horizon} low-level actions."
            )
            return finish(Outcome.HORIZON_EXCEEDED, detail)
        state = execution.state
        actions.append(action)
        states.append(state)
    return finish()


def follow(
    policy: GraphPolicy, task: Task, execute: Execute, limits: RolloutLimits, rng: np.random.Generator
) -> PlanningResult:
    """Try to solve a task by executing the policy's actions, without noise, in the environment itself.

    `execute` runs an action in the environment. `rng` is not used; `follow` has this argument because it is
    called like `shoot`.
    """
    rollout = roll_out(policy, task, execute, _without_noise, limits)
    return rollout.result(SearchStatistics(samples=rollout.samples))


def _without_noise(state: State, proposed: GroundController) -> tuple[GroundController | None, int]:
    return (proposed if proposed.initiable(state) else None), 0


def shoot(
    policy: GraphPolicy, task: Task, execute: Execute, limits: RolloutLimits, rng: np.random.Generator
) -> PlanningResult:
    """Plan for a task: simulate rollouts with noisy parameters, and return the first that reaches the goal.

    If a rollout fails before any parameters were drawn, planning stops, because all further rollouts would
    be the same. If time runs out, the result is the longest rollout, with the outcome `TIMEOUT`.
    """
    statistics = SearchStatistics()
    longest: Rollout | None = None
    while True:
        rollout = roll_out(policy, task, execute, partial(_with_noise, limits, rng), limits)
        statistics.samples += rollout.samples
        if longest is None or len(rollout.actions) > len(longest.actions):
            longest = rollout
        if rollout.failure is None or not rollout.samples:
            return rollout.result(statistics)
        if limits.expired():
            return _out_of_time(longest).result(statistics)


def _with_noise(
    limits: RolloutLimits, rng: np.random.Generator, state: State, proposed: GroundController
) -> tuple[GroundController | None, int]:
    controller = proposed.controller
    if not controller.dimension:
        return (proposed if proposed.initiable(state) else None), 0
    for draw in range(1, MAX_DRAWS + 1):
        action = replace(
            proposed, parameters=controller.clip(rng.normal(proposed.parameters, NOISE_DEVIATION).tolist())
        )
        if action.initiable(state):
            return action, draw
        if limits.expired():
            break
    return None, draw


def _out_of_time(longest: Rollout) -> Rollout:
    """Return the longest rollout, with a timeout as the reason for its failure."""
    assert longest.failure is not None
    if longest.failure.outcome is Outcome.TIMEOUT:
        return longest
    detail = f"Time ran out. Longest rollout: {longest.failure.detail}"
    return replace(longest, failure=replace(longest.failure, outcome=Outcome.TIMEOUT, detail=detail))
