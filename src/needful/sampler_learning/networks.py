"""Networks that are trained together on the same inputs, and their gradients by backpropagation.

Each network has two hidden layers with ReLU. The weights of all networks are one matrix with one row per
network. A row holds three matrices, one per layer. The last row of a matrix holds the biases: each layer
gets the constant 1 as an additional last input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from needful.sampler_learning.sampling import VARIANCE_FLOOR

HIDDEN_WIDTH = 32
# OpenBLAS, the matrix library of numpy, uses one thread for products (m x k) (k x n) with m*k*n up to this
# limit. With more threads, the rounding of a product can depend on the number of threads.
LARGEST_PRODUCT = 2**18


@dataclass(frozen=True, slots=True)
class Head:
    """How the outputs of a network are compared with the targets, the values to learn.

    Both functions get outputs of shape (networks, examples, outputs) and targets of shape
    (examples, targets).

    Attributes:
        outputs_per_target: the number of outputs that predict one target; these outputs are adjacent.
        losses: returns the loss of each target, with the shape (networks, examples, targets).
        slopes: returns the derivatives of the weighted losses with respect to the outputs. The third
            argument of this function has the weight of each loss.
    """

    outputs_per_target: int
    losses: Callable[[np.ndarray, np.ndarray], np.ndarray]
    slopes: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def gaussian_losses(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the Gaussian negative log-likelihood of each target, up to a constant.

    The outputs for a target are the mean μ and a number r; the variance is σ² = ELU(r) + 1.
    """
    mean, variance, _ = _gaussian(outputs)
    losses: np.ndarray = 0.5 * (np.log(variance) + np.square(targets - mean) / variance)
    return losses


def gaussian_slopes(outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the derivatives of the weighted `gaussian_losses` with respect to the outputs."""
    mean, variance, variance_slope = _gaussian(outputs)
    slopes = np.empty_like(outputs)
    scaled_error = (mean - targets) / variance
    np.multiply(scaled_error, weights, out=slopes[..., 0::2])
    by_variance = 0.5 * (1.0 / variance - np.square(scaled_error))
    np.multiply(by_variance * variance_slope, weights, out=slopes[..., 1::2])
    return slopes


def _gaussian(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean μ, the variance σ² and the derivative of σ² with respect to r, for each target."""
    mean, raw = outputs[..., 0::2], outputs[..., 1::2]
    # ELU(r) + 1 equals exp(min(r, 0)) + max(r, 0), and its derivative equals exp(min(r, 0)).
    slope = np.exp(np.minimum(raw, 0.0))
    variance = slope + np.maximum(raw, 0.0)
    slope *= variance >= VARIANCE_FLOOR
    return mean, np.maximum(variance, VARIANCE_FLOOR, out=variance), slope


def logistic_losses(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the binary cross-entropy of each target, which is 0 or 1; the outputs are logits."""
    losses: np.ndarray = np.maximum(outputs, 0.0) - outputs * targets + np.log1p(np.exp(-np.abs(outputs)))
    return losses


def logistic_slopes(outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the derivatives of the weighted `logistic_losses` with respect to the outputs."""
    # The sigmoid of x is (tanh(x / 2) + 1) / 2, which does not overflow.
    slopes: np.ndarray = (0.5 * np.tanh(0.5 * outputs) + (0.5 - targets)) * weights
    return slopes


GAUSSIAN = Head(outputs_per_target=2, losses=gaussian_losses, slopes=gaussian_slopes)
LOGISTIC = Head(outputs_per_target=1, losses=logistic_losses, slopes=logistic_slopes)


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The number of inputs and outputs of a network."""

    inputs: int
    outputs: int

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """The numbers of rows and columns of each layer's matrix; the last row holds the biases."""
        hidden = HIDDEN_WIDTH
        return (self.inputs + 1, hidden), (hidden + 1, hidden), (hidden + 1, self.outputs)

    @property
    def most_rows(self) -> int:
        """The largest number of examples for which all products of matrices use one thread."""
        return max(1, LARGEST_PRODUCT // max(rows * columns for rows, columns in self.layers))

    def matrices(self, weights: np.ndarray) -> list[np.ndarray]:
        """Return views of the matrices of each layer, of shape (networks, rows, columns).

        `weights` is a matrix with one row per network.
        """
        sizes = [rows * columns for rows, columns in self.layers]
        bounds = pairwise(accumulate(sizes, initial=0))
        return [
            weights[:, start:end].reshape(len(weights), *size)
            for (start, end), size in zip(bounds, self.layers, strict=True)
        ]


def initial_weights(shape: NetworkShape, seed: int, zero_outputs: bool = True) -> np.ndarray:
    """Return the initial weights of a network as a vector.

    Weights and biases are drawn uniformly from [-1/√n, 1/√n], where n is the number of inputs of the layer.
    With `zero_outputs`, those of the third layer are zero instead, so that an untrained network returns
    zero for all inputs.
    """
    rng = np.random.default_rng(seed)
    drawn = []
    for rows, columns in shape.layers[:-1] if zero_outputs else shape.layers:
        bound = (rows - 1) ** -0.5
        drawn.append(rng.uniform(-bound, bound, rows * columns))
    if zero_outputs:
        rows, columns = shape.layers[-1]
        drawn.append(np.zeros(rows * columns))
    return np.concatenate(drawn).astype(np.float32)


class Backpropagation:
    """Computes outputs and gradients of networks, for up to `rows` examples at once.

    All intermediate values are kept in arrays that are reused by the next call: allocating them in each
    call takes longer than the products of matrices. The results are valid until the next call.
    """

    def __init__(self, shape: NetworkShape, weights: np.ndarray, rows: int) -> None:
        self._matrices = shape.matrices(weights)
        self._gradient = np.empty_like(weights)
        self._gradient_matrices = shape.matrices(self._gradient)
        size = (len(weights), rows, HIDDEN_WIDTH + 1)
        # The last hidden unit is the constant 1.
        self._hidden = [np.ones(size, dtype=weights.dtype) for _ in range(2)]
        self._errors = [np.empty(size, dtype=weights.dtype) for _ in range(2)]
        self._active = np.empty(size, dtype=bool)

    def outputs(self, inputs: np.ndarray) -> np.ndarray:
        """Return the outputs of all networks: (networks, examples, outputs).

        `inputs` has one row per example; its last column is the constant 1.
        """
        values = inputs
        for buffer, matrix in zip(self._hidden, self._matrices[:-1], strict=True):
            hidden = buffer[:, : len(inputs)]
            np.matmul(values, matrix, out=hidden[..., :-1])
            values = np.maximum(hidden, 0.0, out=hidden)
        outputs: np.ndarray = values @ self._matrices[-1]
        return outputs

    def gradient(self, inputs: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return the gradient of a loss with respect to the weights, after a call of `outputs(inputs)`.

        `slopes` are the derivatives of the loss with respect to the outputs.
        """
        layer_inputs = [inputs[None], *(hidden[:, : len(inputs)] for hidden in self._hidden)]
        error = slopes
        for layer in (2, 1, 0):
            values = layer_inputs[layer]
            np.matmul(values.swapaxes(1, 2), error, out=self._gradient_matrices[layer])
            if layer > 0:
                back = self._errors[layer - 1][:, : len(inputs)]
                # A product with a contiguous copy of the transposed matrix is faster.
                np.matmul(error, self._matrices[layer].swapaxes(1, 2).copy(), out=back)
                active = np.greater(values, 0.0, out=self._active[:, : len(inputs)])
                error = np.multiply(back, active, out=back)[..., :-1]
        return self._gradient


def network_layers(shape: NetworkShape, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the weight matrix and the bias vector of each layer; `weights` is the vector of a network."""
    return [(matrix[0, :-1], matrix[0, -1]) for matrix in shape.matrices(weights[None])]


def with_constant(inputs: np.ndarray) -> np.ndarray:
    """Return the inputs as 32-bit floats with the constant 1 as an additional last column."""
    return np.hstack([inputs, np.ones((len(inputs), 1))]).astype(np.float32)
