"""A trained network as a policy: what to do next in a state, for a goal.

How policies are trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from needful.abstraction.abstract import abstract
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError
from needful.policies.graph_encoding import GraphEncoding
from needful.policies.network import NetworkSize, NumpyBackend, evaluate_network, weight_shapes


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """How long to train, and which weights to keep.

    Attributes:
        epochs: passes over the examples. The learning rate falls to 0 until then.
        batch: how many examples make one step.
        held_out: which share of the examples, the first ones, only judges. The weights with the
            lowest loss on them are kept; with 0 all examples train, and the last weights are kept.
        check_every: after so many epochs those that were held out judge the weights.
        patience: training ends when so many epochs brought nothing better for those held out.
    """

    epochs: int = 3_000
    batch: int = 128
    held_out: float = 0.0
    check_every: int = 100
    patience: int = 1_000

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "check_every", "patience"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0.0 <= self.held_out < 1.0:
            raise InvalidInputError(f"held_out must be a share from 0 to below 1, got {self.held_out}.")


Named = TypeVar("Named", Type, Predicate, Controller)


def network_size(vocabulary: Vocabulary) -> NetworkSize:
    """Return the size of the network of a vocabulary's policies.

    A node has an output for each argument of the controller with most arguments. The graph has one
    for each controller, followed by as many parameters as the controller with most of them.
    """
    encoding = GraphEncoding.of(vocabulary)
    if not vocabulary.controllers:
        raise InvalidInputError("A policy needs at least one controller to choose from.")
    return NetworkSize(
        encoding.node_width,
        encoding.edge_width,
        encoding.global_width,
        max(len(controller.types) for controller in vocabulary.controllers),
        len(vocabulary.controllers) + max(controller.dimension for controller in vocabulary.controllers),
    )


@dataclass(frozen=True, slots=True, eq=False)
class GraphPolicy:
    """Chooses a controller, its objects and the mean of its parameters.

    `weights` are arrays of 32-bit floats by name, exactly those of `weight_shapes`. The order of the
    vocabulary decides which input and output is which.
    """

    vocabulary: Vocabulary
    weights: Mapping[str, np.ndarray]
    _encoding: GraphEncoding = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_encoding", GraphEncoding.of(self.vocabulary))
        _check_weights(self.weights, weight_shapes(network_size(self.vocabulary)))

    def act(self, state: State, goal: AbstractState) -> GroundController | None:
        """Return the action of the likeliest controller that has objects to act on, or None.

        Each argument is the likeliest object of its type; parameters are pulled into the box.
        """
        atoms = abstract(state, self.vocabulary.predicates)
        graph = self._encoding.encode(state, atoms, goal)
        slots, outputs = evaluate_network(self.weights, graph, NumpyBackend())
        logits, parameters = np.split(outputs[0], [len(self.vocabulary.controllers)])
        for number in np.argsort(-logits, kind="stable"):
            controller = self.vocabulary.controllers[number]
            if all(state.of_type(kind) for kind in controller.types):
                return _decode(controller, state, slots, parameters)
        return None

    def bound_to(self, vocabulary: Vocabulary) -> GraphPolicy:
        """Return this policy over a domain's own predicates and controllers, in the policy's order.

        A policy read from a file knows only signatures; the domain's own have classifiers and
        initiation tests. Raises if the domain does not have what the policy was trained with, or has
        it otherwise.
        """
        return GraphPolicy(
            Vocabulary(
                tuple(_own("type", kind, vocabulary.types) for kind in self.vocabulary.types),
                tuple(_own("predicate", one, vocabulary.predicates) for one in self.vocabulary.predicates),
                tuple(
                    _own("controller", one, vocabulary.controllers) for one in self.vocabulary.controllers
                ),
            ),
            self.weights,
        )


def _own(what: str, trained: Named, domain: Sequence[Named]) -> Named:
    """Return the domain's own type, predicate or controller, which must equal that of training."""
    by_name = {one.name: one for one in domain}
    if trained.name not in by_name:
        raise UnknownNameError(f"{what} of the policy", trained.name, by_name)
    if by_name[trained.name] != trained:
        raise InvalidInputError(
            f"The policy and the domain disagree about the {what} {trained.name!r}: they differ in more "
            "than the name."
        )
    return by_name[trained.name]


def _decode(
    controller: Controller, state: State, slots: np.ndarray, parameters: np.ndarray
) -> GroundController:
    node = {obj: number for number, obj in enumerate(state.objects)}
    objects = [
        max(state.of_type(kind), key=lambda obj: slots[node[obj], slot])
        for slot, kind in enumerate(controller.types)
    ]
    return controller(*objects, parameters=controller.clip(parameters[: controller.dimension].tolist()))


def _check_weights(weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    stray = sorted(set(weights) - set(shapes))
    if stray:
        raise UnknownNameError("weight", stray[0], shapes)
    for name, shape in shapes.items():
        if name not in weights:
            raise InvalidInputError(f"The weight {name!r} is missing.")
        if weights[name].shape != shape:
            raise InvalidInputError(
                f"The weight {name!r} has shape {list(weights[name].shape)}, not {list(shape)}."
            )
        if weights[name].dtype != np.float32 or not np.all(np.isfinite(weights[name])):
            raise InvalidInputError(f"The weight {name!r} must hold finite 32-bit floats.")
