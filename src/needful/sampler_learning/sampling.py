"""Learned samplers: how they draw parameters, and their conversion to named arrays for files.

The value of a controller parameter is often close to a feature of an object. For example, the target of a
movement is close to the position of the object to reach. Such a feature is called the parameter's anchor.
The sampler predicts the offset, which is the parameter minus its anchor: θ − v[anchor] for the input
vector v. Offsets vary less than parameters, and they also apply to objects that were not in the
demonstrations.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needful.core.controllers import Parameters
from needful.core.model import Sampler
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

NO_ANCHOR = -1
# A parameter is constant if its values in the examples differ by less than this. The same holds for an
# offset: the parameter minus a feature that it is close to, its anchor (see the top of this file).
CONSTANT_RANGE = 1e-6
# A feature can be the anchor of a parameter only if the standard deviation of parameter minus feature is
# less than this fraction of the standard deviation of the parameter.
LARGEST_SPREAD = 0.9

VARIANCE_FLOOR = 1e-6
# The maximum number of draws per call of `sample`: one, and up to 100 more while all draws are rejected.
MAX_DRAWS = 101
# The first draws are classified as one batch of this size; the others only if the whole batch is rejected.
FIRST_BATCH = 8

# The names of the two kinds of samplers (`AnchoredSampler` and `NeuralSampler`) in files.
ANCHORED = "anchored"
NEURAL = "neural"
# The number of layers of every sampler network.
LAYERS = 3


def input_width(operator: Operator) -> int:
    """Return the length of the vector that `input_vector` returns for the given operator."""
    return 1 + sum(len(variable.type.features) for variable in operator.parameters)


def input_vector(operator: Operator, state: State, objects: Sequence[Object]) -> np.ndarray:
    """Return the input vector v of a sampler: a 1, then the features of the operator's objects, in order.

    The paper writes v = [1] ⊕ x[δ(a1)] ⊕ ... ⊕ x[δ(ak)]: x is the state, a1 to ak are the operator's
    parameters, and δ maps each parameter to its object. If the object's type is a subtype of the
    parameter's type, only the features of the parameter's type are used.
    """
    values = [1.0]
    for variable, obj in zip(operator.parameters, objects, strict=True):
        if obj.type == variable.type:
            values.extend(state[obj])
        else:
            values.extend(state.get(obj, feature) for feature in variable.type.features)
    return np.array(values)


def choose_anchors(inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return, for each parameter, the index of its anchor in the input vector, or `NO_ANCHOR`.

    The rows of `inputs` and `parameters` are examples. The anchor is the input for which the difference
    parameter − input has the smallest standard deviation over the examples. On a tie, the first such input
    is the anchor. A parameter has no anchor if it is constant, or if the smallest standard deviation is at
    least `LARGEST_SPREAD` times the standard deviation of the parameter.
    """
    anchors = np.full(parameters.shape[1], NO_ANCHOR)
    for index, column in enumerate(parameters.T):
        if np.ptp(column) < CONSTANT_RANGE:
            continue
        spreads = np.std(column[:, None] - inputs, axis=0)
        if spreads.min() < LARGEST_SPREAD * np.std(column):
            anchors[index] = int(np.argmin(spreads))
    return anchors


def anchor_values(inputs: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return, for each parameter, the value of its anchor (see `choose_anchors`); 0 if it has none.

    `inputs` is one input vector, or a matrix with one input vector per row.
    """
    values: np.ndarray = np.where(anchors == NO_ANCHOR, 0.0, inputs.take(anchors, axis=-1))
    return values


def classifier_inputs(inputs: np.ndarray, parameters: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return the inputs of a sampler's classifier, one row per example.

    A row consists of the input vector v, the parameters θ, and θ minus the values of their anchors (see
    `choose_anchors`).
    """
    return np.concatenate((inputs, parameters, parameters - anchor_values(inputs, anchors)), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A fully connected network with ReLU between its layers.

    Attributes:
        shift: subtracted from the inputs, before the first layer.
        scale: divides the shifted inputs, before the first layer.
        weights: one matrix (inputs, outputs) per layer.
        biases: one vector per layer.
    """

    shift: np.ndarray
    scale: np.ndarray
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __repr__(self) -> str:
        widths = [len(self.shift), *(len(bias) for bias in self.biases)]
        return f"Network({reprlib.repr(widths)})"

    def with_ignored_inputs(self, count: int) -> Network:
        """Return this network with further inputs, after the others, that do not affect its outputs."""
        first, *others = self.weights
        return replace(
            self,
            shift=np.append(self.shift, np.zeros(count)),
            scale=np.append(self.scale, np.ones(count)),
            weights=(np.vstack([first, np.zeros((count, first.shape[1]))]), *others),
        )

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Return the outputs for one input vector, or for a matrix with one input vector per row."""
        values = (inputs - self.shift) / self.scale
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = np.maximum(values.dot(weight) + bias, 0.0)
        result: np.ndarray = values.dot(self.weights[-1]) + self.biases[-1]
        return result


@dataclass(frozen=True, slots=True, eq=False)
class AnchoredSampler:
    """A deterministic sampler: each parameter is its anchor (a feature) plus a constant offset."""

    operator: Operator
    anchors: np.ndarray
    offsets: np.ndarray

    def __repr__(self) -> str:
        return f"AnchoredSampler({reprlib.repr(self.operator.name)}, {len(self.anchors)} parameters)"

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the values of the anchors plus the constant offsets; `rng` is not used."""
        vector = input_vector(self.operator, state, objects)
        return tuple((anchor_values(vector, self.anchors) + self.offsets).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class NeuralSampler:
    """A sampler that draws from a Gaussian, which depends on the state, until a classifier accepts a draw.

    Attributes:
        operator: the operator; its controller has the bounds of the parameters θ.
        anchors: for each parameter, the index of its anchor in the input vector v, or `NO_ANCHOR`; see
            `choose_anchors`. The offset of a parameter is the parameter minus the value of its anchor.
        generator: a network that maps v to (μ1, r1, μ2, r2, ...). For each parameter, μ is the mean and
            ELU(r) + 1 the variance of the normalised offset.
        shift, scale: an offset is shift + scale * normalised offset; the scale is 0 for constant offsets.
        classifier: a network that maps v, the parameters θ and their offsets to a logit. If it is None, all
            parameters within bounds are accepted.
    """

    operator: Operator
    anchors: np.ndarray
    generator: Network
    shift: np.ndarray
    scale: np.ndarray
    classifier: Network | None

    def __repr__(self) -> str:
        parameters = (
            f"{len(self.anchors)} parameters, {'no' if self.classifier is None else 'with'} classifier"
        )
        return f"NeuralSampler({reprlib.repr(self.operator.name)}, {parameters})"

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Draw parameters up to `MAX_DRAWS` times; return the first accepted draw, or else the last draw.

        The method `accepts` decides which draws are accepted.
        """
        vector = input_vector(self.operator, state, objects)
        mean, deviation = self.distribution(vector)
        noise = rng.standard_normal((MAX_DRAWS, len(mean)))
        for batch in (noise[:FIRST_BATCH], noise[FIRST_BATCH:]):
            draws = mean + deviation * batch
            for draw, accepted in zip(draws.tolist(), self.accepts(vector, draws).tolist(), strict=True):
                if accepted:
                    return tuple(draw)
        return tuple(draws[-1].tolist())

    def distribution(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation of the parameters for the given input vector."""
        outputs = self.generator(vector)
        mean, raw = outputs[0::2], outputs[1::2]
        # The variance is ELU(r) + 1, which equals exp(min(r, 0)) + max(r, 0).
        variance = np.maximum(np.exp(np.minimum(raw, 0.0)) + np.maximum(raw, 0.0), VARIANCE_FLOOR)
        centre = anchor_values(vector, self.anchors) + self.shift + self.scale * mean
        return centre, self.scale * np.sqrt(variance)

    def accepts(self, vector: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Return, for each row of `draws`, whether it is within bounds and the classifier accepts it.

        The classifier accepts a row if its logit is positive. `vector` is the sampler's input vector v.
        """
        controller = self.operator.controller
        inside: np.ndarray = np.all((draws >= controller.low) & (draws <= controller.high), axis=1)
        if self.classifier is None:
            return inside
        rows = vector[None].repeat(len(draws), axis=0)
        return inside & (self.classifier(classifier_inputs(rows, draws, self.anchors))[:, 0] > 0.0)


def sampler_to_arrays(sampler: Sampler) -> tuple[str, dict[str, np.ndarray]]:
    """Return the kind of a learned sampler (`ANCHORED` or `NEURAL`) and its arrays by name, for a file."""
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
        f"A sampler of class {type(sampler).__name__} cannot be stored, only learned samplers can. "
        "Remove it from the model before writing the model."
    )


def sampler_from_arrays(kind: str, arrays: Mapping[str, np.ndarray], operator: Operator) -> Sampler:
    """Create an operator's sampler from its kind and its arrays, as returned by `sampler_to_arrays`.

    Raises if an array is missing, unknown or has the wrong shape.
    """
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
        raise InvalidInputError(
            f"The array {min(remaining)!r} does not belong to a sampler of kind {kind!r}. Remove it."
        )
    return sampler


def _network_to_arrays(name: str, network: Network) -> dict[str, np.ndarray]:
    arrays = {f"{name}.shift": network.shift, f"{name}.scale": network.scale}
    # The weights were trained as 32-bit floats, so storing them as 32-bit floats loses no precision.
    for index in range(LAYERS):
        arrays[f"{name}.weight{index}"] = network.weights[index].astype(np.float32)
        arrays[f"{name}.bias{index}"] = network.biases[index].astype(np.float32)
    return arrays


def _network_from_arrays(name: str, arrays: dict[str, np.ndarray], inputs: int, outputs: int) -> Network:
    shift = _take(arrays, f"{name}.shift", (inputs,))
    scale = _take(arrays, f"{name}.scale", (inputs,))
    if not np.all(scale > 0):
        raise InvalidInputError(
            f"All numbers of the array '{name}.scale' must be positive, got {scale.min():g}."
        )
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
            f"The array 'anchors' must hold integers from {NO_ANCHOR} to {width - 1}, "
            f"got {reprlib.repr(anchors.tolist())}."
        )
    return anchors.astype(np.int64)


def _take(arrays: dict[str, np.ndarray], name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Remove the array `name` from `arrays`, check its shape, and return it as 64-bit floats.

    A None in `shape` allows any size of that dimension.
    """
    if name not in arrays:
        raise InvalidInputError(f"The array {name!r} is missing.")
    array = arrays.pop(name)
    fits = len(array.shape) == len(shape) and all(
        expected in (None, size) for size, expected in zip(array.shape, shape, strict=True)
    )
    if not fits:
        expected_shape = ["any" if size is None else size for size in shape]
        raise InvalidInputError(f"The array {name!r} has shape {list(array.shape)}, not {expected_shape}.")
    if array.dtype.kind != "f" or not np.all(np.isfinite(array)):
        raise InvalidInputError(f"The array {name!r} must hold finite floating-point numbers.")
    return array.astype(np.float64)
