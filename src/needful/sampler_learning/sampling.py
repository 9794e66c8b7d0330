"""Samplers as they are used in planning: numpy alone, so that planning needs no torch.

Parameters relative to features: where to paint, place or go is mostly said by an object.

A parameter often follows a feature of an argument: paint with the box's colour, place near the robot,
move to where the object is. Each parameter may have one such feature as its anchor; what is learned is
then the offset θ − v[anchor]. Offsets vary less than parameters and hold for objects never seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from needful.core.controllers import Parameters
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.state import State

# What varies by less is constant, and follows nothing.
CONSTANT_RANGE = 1e-6
# A feature is an anchor only if offsets from it spread clearly less than the parameter itself.
LARGEST_SPREAD = 0.9
NO_ANCHOR = -1


def choose_anchors(inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return for each parameter the input whose offsets spread least, or `NO_ANCHOR`.

    Rows are examples. The spread is the standard deviation; of equal ones the first input counts.
    """
    anchors = np.full(parameters.shape[1], NO_ANCHOR)
    for place, column in enumerate(parameters.T):
        if np.ptp(column) < CONSTANT_RANGE:
            continue
        spreads = np.std(column[:, None] - inputs, axis=0)
        if spreads.min() < LARGEST_SPREAD * np.std(column):
            anchors[place] = int(np.argmin(spreads))
    return anchors


def anchor_values(inputs: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return the values that offsets are relative to, 0 where there is no anchor.

    `inputs` is one vector or a matrix of rows.
    """
    values: np.ndarray = np.where(anchors == NO_ANCHOR, 0.0, inputs.take(anchors, axis=-1))
    return values


VARIANCE_FLOOR = 1e-6
# One draw and at most 100 rejections, made at once: a batch costs little more than a single draw.
DRAWS = 101
# So many are judged before the others are: mostly one of them will do.
FIRST_DRAWS = 8


def input_width(operator: Operator) -> int:
    """Return the length of an operator's input vectors."""
    return 1 + sum(len(variable.type.features) for variable in operator.parameters)


def input_vector(operator: Operator, state: State, objects: Sequence[Object]) -> np.ndarray:
    """Return v = [1] ⊕ x[δ(a1)] ⊕ ... ⊕ x[δ(ak)] over the objects of all operator parameters.

    Of an object of a subtype only the features that the parameter's type has are taken, in its order.
    """
    values = [1.0]
    for variable, obj in zip(operator.parameters, objects, strict=True):
        if obj.type == variable.type:
            values.extend(state[obj])
        else:
            values.extend(state.get(obj, feature) for feature in variable.type.features)
    return np.array(values)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A fully connected network with ReLU between its layers.

    Attributes:
        shift: subtracted from the inputs.
        scale: divides what is left of them.
        weights: a matrix (inputs, outputs) for each layer.
        biases: a vector for each layer.
    """

    shift: np.ndarray
    scale: np.ndarray
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Return the outputs for the rows of `inputs`."""
        values = (inputs - self.shift) / self.scale
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = np.maximum(values.dot(weight) + bias, 0.0)
        result: np.ndarray = values.dot(self.weights[-1]) + self.biases[-1]
        return result


def classifier_inputs(inputs: np.ndarray, parameters: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return v ⊕ θ ⊕ (θ − v[anchors]) for rows of v and θ."""
    return np.concatenate((inputs, parameters, parameters - anchor_values(inputs, anchors)), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class AnchoredSampler:
    """Returns constant offsets from the anchors: the same parameters each time in the same state."""

    operator: Operator
    anchors: np.ndarray
    offsets: np.ndarray

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the parameters."""
        vector = input_vector(self.operator, state, objects)
        return tuple((anchor_values(vector, self.anchors) + self.offsets).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class NeuralSampler:
    """Draws from a Gaussian that depends on the state until a classifier is content.

    Attributes:
        operator: whose parameters' features are the inputs, and in whose controller's box θ should lie.
        anchors: for each parameter the input that its offset is relative to.
        generator: v -> (μ1, r1, μ2, r2, ...) of normalised offsets, with variance ELU(r) + 1.
        shift: what normalised offsets are shifted by,
        scale: after multiplication with this; zero for offsets that never varied.
        classifier: v ⊕ θ ⊕ offsets -> logit; None accepts everything.
    """

    operator: Operator
    anchors: np.ndarray
    generator: Network
    shift: np.ndarray
    scale: np.ndarray
    classifier: Network | None

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the first of 101 draws that lies in the box and is accepted, or else the last."""
        vector = input_vector(self.operator, state, objects)
        mean, deviation = self.distribution(vector)
        noise = rng.standard_normal((DRAWS, len(mean)))
        for some in (noise[:FIRST_DRAWS], noise[FIRST_DRAWS:]):
            draws = mean + deviation * some
            for draw, accepted in zip(draws.tolist(), self.accepts(vector, draws).tolist(), strict=True):
                if accepted:
                    return tuple(draw)
        return tuple(draws[-1].tolist())

    def distribution(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of the parameters for an input vector."""
        outputs = self.generator(vector)
        mean, raw = outputs[0::2], outputs[1::2]
        # ELU(r) + 1: one of the two terms is always that of r = 0.
        variance = np.maximum(np.exp(np.minimum(raw, 0.0)) + np.maximum(raw, 0.0), VARIANCE_FLOOR)
        centre = anchor_values(vector, self.anchors) + self.shift + self.scale * mean
        return centre, self.scale * np.sqrt(variance)

    def accepts(self, vector: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Return for each row of parameters whether it is in the box and the classifier is above 1/2."""
        controller = self.operator.controller
        inside: np.ndarray = np.all((draws >= controller.low) & (draws <= controller.high), axis=1)
        if self.classifier is None:
            return inside
        rows = vector[None].repeat(len(draws), axis=0)
        return inside & (self.classifier(classifier_inputs(rows, draws, self.anchors))[:, 0] > 0.0)
