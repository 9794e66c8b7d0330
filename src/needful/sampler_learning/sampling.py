"""Samplers as they are used in planning: numpy alone, so that planning needs no torch.

Parameters relative to features: where to paint, place or go is mostly said by an object.

A parameter often follows a feature of an argument: paint with the box's colour, place near the robot,
move to where the object is. Each parameter may have one such feature as its anchor; what is learned is
then the offset θ − v[anchor]. Offsets vary less than parameters and hold for objects never seen.

Samplers as named arrays and back, for files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from needful.core.controllers import Parameters
from needful.core.model import Sampler
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

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


ANCHORED = "anchored"
NEURAL = "neural"
LAYERS = 3


def sampler_to_arrays(sampler: Sampler) -> tuple[str, dict[str, np.ndarray]]:
    """Return the kind of a learnt sampler, and its arrays by name."""
    if isinstance(sampler, AnchoredSampler):
        return ANCHORED, {"anchors": sampler.anchors.astype(np.float64), "offsets": sampler.offsets}
    if isinstance(sampler, NeuralSampler):
        anchors = sampler.anchors.astype(np.float64)
        arrays = {"anchors": anchors, "shift": sampler.shift, "scale": sampler.scale}
        arrays |= _network_to_arrays("generator", sampler.generator)
        if sampler.classifier is not None:
            arrays |= _network_to_arrays("classifier", sampler.classifier)
        return NEURAL, arrays
    raise InvalidInputError(
        f"A sampler of class {type(sampler).__name__} cannot be stored: it is code. "
        "Only samplers that were learnt can; leave the others out of the model."
    )


def sampler_from_arrays(kind: str, arrays: Mapping[str, np.ndarray], operator: Operator) -> Sampler:
    """Return the sampler of an operator; raises unless the arrays are exactly those it needs."""
    dimension, width = operator.controller.dimension, input_width(operator)
    remaining = dict(arrays)
    if kind not in (ANCHORED, NEURAL):
        raise UnknownNameError("kind of sampler", kind, [ANCHORED, NEURAL])
    anchors = _take_anchors(remaining, dimension, width)
    sampler: Sampler
    if kind == ANCHORED:
        sampler = AnchoredSampler(operator, anchors, _take(remaining, "offsets", (dimension,)))
    else:
        sampler = NeuralSampler(
            operator,
            anchors,
            _network_from_arrays("generator", remaining, width, 2 * dimension),
            _take(remaining, "shift", (dimension,)),
            _take(remaining, "scale", (dimension,)),
            _network_from_arrays("classifier", remaining, width + 2 * dimension, 1)
            if any(name.startswith("classifier.") for name in arrays)
            else None,
        )
    if remaining:
        raise InvalidInputError(f"The array {min(remaining)!r} does not belong to a {kind} sampler.")
    return sampler


def _network_to_arrays(name: str, network: Network) -> dict[str, np.ndarray]:
    arrays = {f"{name}.shift": network.shift, f"{name}.scale": network.scale}
    # Trained in 32 bits, so nothing is lost.
    for index in range(LAYERS):
        arrays[f"{name}.weight{index}"] = network.weights[index].astype(np.float32)
        arrays[f"{name}.bias{index}"] = network.biases[index].astype(np.float32)
    return arrays


def _network_from_arrays(name: str, arrays: dict[str, np.ndarray], inputs: int, outputs: int) -> Network:
    shift = _take(arrays, f"{name}.shift", (inputs,))
    scale = _take(arrays, f"{name}.scale", (inputs,))
    if not np.all(scale > 0):
        raise InvalidInputError(f"The array '{name}.scale' must be positive.")
    weights, biases, width = [], [], inputs
    for index in range(LAYERS):
        last = index == LAYERS - 1
        weight = _take(arrays, f"{name}.weight{index}", (width, outputs if last else None))
        width = weight.shape[1]
        weights.append(weight)
        biases.append(_take(arrays, f"{name}.bias{index}", (width,)))
    return Network(shift, scale, tuple(weights), tuple(biases))


def _take_anchors(arrays: dict[str, np.ndarray], dimension: int, width: int) -> np.ndarray:
    anchors = _take(arrays, "anchors", (dimension,))
    if not np.all(np.isin(anchors, np.arange(NO_ANCHOR, width))):
        raise InvalidInputError(
            f"The array 'anchors' must hold whole numbers from {NO_ANCHOR} to {width - 1}."
        )
    return anchors.astype(np.int64)


def _take(arrays: dict[str, np.ndarray], name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Remove an array from the mapping and return it in 64 bits; None in a shape stands for any size."""
    if name not in arrays:
        raise InvalidInputError(f"The array {name!r} is missing.")
    array = arrays.pop(name)
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted_shape = ["any" if size is None else size for size in shape]
        raise InvalidInputError(f"The array {name!r} has shape {list(array.shape)}, not {wanted_shape}.")
    if array.dtype.kind != "f" or not np.all(np.isfinite(array)):
        raise InvalidInputError(f"The array {name!r} must hold finite floating-point numbers.")
    return array.astype(np.float64)
