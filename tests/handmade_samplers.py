"""Samplers with random or given weights."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from needful.core.operators import Operator
from needful.sampler_learning.sampling import NO_ANCHOR, Network, NeuralSampler, input_width

HIDDEN = 4


def random_network(inputs: int, outputs: int, rng: np.random.Generator) -> Network:
    """Return a network whose weights are exact in 32 bits, as those of trained networks."""
    sizes = [inputs, HIDDEN, HIDDEN, outputs]
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in pairwise(sizes)]
    biases = [rng.standard_normal(size).astype(np.float32) for size in sizes[1:]]
    return Network(
        rng.standard_normal(inputs),
        1.0 + rng.random(inputs),
        tuple(weight.astype(np.float64) for weight in weights),
        tuple(bias.astype(np.float64) for bias in biases),
    )


def random_sampler(operator: Operator, seed: int, classifier: bool = True) -> NeuralSampler:
    """Return an untrained sampler of an operator."""
    rng = np.random.default_rng(seed)
    width, dimension = input_width(operator), operator.controller.dimension
    return NeuralSampler(
        operator,
        rng.integers(NO_ANCHOR, width, dimension),
        random_network(width, 2 * dimension, rng),
        rng.standard_normal(dimension),
        rng.random(dimension),
        random_network(width + 2 * dimension, 1, rng) if classifier else None,
    )


def linear_network(weight: np.ndarray, bias: Sequence[float]) -> Network:
    """Return the network inputs -> inputs @ weight + bias, unaffected by ReLU.

    The hidden layers hold the inputs' positive and negative parts.
    """
    inputs = len(weight)
    parts = np.hstack([np.eye(inputs), -np.eye(inputs)])
    whole = np.vstack([np.eye(inputs), -np.eye(inputs)])
    zeros = np.zeros(2 * inputs)
    return Network(
        np.zeros(inputs),
        np.ones(inputs),
        (parts, np.eye(2 * inputs), whole @ weight),
        (zeros, zeros, np.array(bias)),
    )
