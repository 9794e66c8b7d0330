"""Samplers as named arrays and back, for files."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from needful.core.model import Sampler
from needful.core.operators import Operator
from needful.errors import InvalidInputError, UnknownNameError
from needful.sampler_learning.sampling import (
    NO_ANCHOR,
    AnchoredSampler,
    Network,
    NeuralSampler,
    input_width,
)

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
