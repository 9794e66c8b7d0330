"""A trained graph network as a policy: it maps a state and a goal to the next action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState
from needful.core.controllers import Controller, GroundController
from needful.core.model import Named, Vocabulary, find_equal
from needful.core.state import State
from needful.errors import CheckedSettings, InvalidInputError, UnknownNameError, at_least
from needful.policies.graph_encoding import GraphEncoding
from needful.policies.network import NetworkSize, NumpyBackend, evaluate_network, weight_shapes


@dataclass(frozen=True, slots=True)
class PolicyConfig(CheckedSettings):
    """How long to train a policy, and which weights to keep.

    Attributes:
        epochs: the number of passes over the examples; the learning rate decreases to 0 over all of them.
        batch: the number of examples per gradient step.
        held_out: the fraction of the examples that is used only for validation (the first
            examples). The weights with the lowest validation loss are kept. If `held_out` is 0, there is no
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
