"""Train networks with numpy: full-batch Adam, gradients by backpropagation, and cross-validation to stop.

The networks of a `TrainingProblem`, for example one per fold of cross-validation, are evaluated together on
all examples. The weights of the losses select the examples that a network is trained on. Each network has
two hidden layers with ReLU. All network weights are stored in one array with one row per network. A row is
the concatenation of three weight matrices, one per layer. The last row of a weight matrix holds the biases:
each layer gets the constant 1 as an additional last input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from needful.core.limits import NO_DEADLINE, Deadline
from needful.errors import InvalidInputError, check_at_least
from needful.sampler_learning.sampling import VARIANCE_FLOOR

MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8
# The validation losses are checked only every ten steps, because they change little in ten steps.
CHECK_EVERY = 10
# With cross-validation, training stops when the mean validation loss of the folds is this far above the
# lowest one: the networks overfit, and further steps hardly ever make them better again.
MAX_OVERFITTING = 0.5
HIDDEN_WIDTH = 32
# OpenBLAS, the matrix library of numpy, uses one thread for products (m x k) (k x n) with m*k*n up to this
# limit. With more threads, the rounding of a product can depend on the number of threads.
LARGEST_PRODUCT = 2**18


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """When to stop training a network, and which of its weights to keep.

    Attributes:
        iterations: the maximum number of full-batch steps.
        patience: stop after this many steps in which the validation loss has not improved.
        tolerance: the validation loss must decrease by more than this to count as an improvement.
        folds: the number of folds of cross-validation. For each fold, one network is trained on all other
            folds and validated on this fold. These networks only determine when to stop: at the step with
            the lowest sum of their validation losses. The sampler uses another network, which is trained
            on all examples up to this step. If `folds` is 0, there is no cross-validation, and the loss on
            the training examples is used as the validation loss.
        learning_rate: the step size of Adam.
    """

    iterations: int
    patience: int
    tolerance: float = 1e-3
    folds: int = 5
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_at_least(1, iterations=self.iterations, patience=self.patience)
        if not 0.0 < self.learning_rate < np.inf:
            raise InvalidInputError(f"learning_rate must be a positive number, got {self.learning_rate}.")
        if self.folds < 0 or self.folds == 1:
            raise InvalidInputError(
                f"folds must be at least 2, or 0 for no cross-validation, got {self.folds}."
            )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TrainingProblem:
    """What to train networks on: examples, the weights of their losses, and a seed.

    All networks start from the same initial weights. They differ in the examples that they are trained on.

    Attributes:
        inputs: the normalised inputs, one example per row.
        targets: the outputs to learn, one example per row.
        training_weights: the weights in the training losses, of shape (networks, examples, targets). The
            weights of one network sum to one.
        validation_weights: the weights in the validation losses, of the same shape.
        seed: the seed of the initial weights.
        zero_outputs: whether the networks return zero before training; see `initial_weights`.
    """

    inputs: np.ndarray
    targets: np.ndarray
    training_weights: np.ndarray
    validation_weights: np.ndarray
    seed: int
    zero_outputs: bool = True

    def __repr__(self) -> str:
        sizes = (
            f"{len(self.inputs)} examples, {self.inputs.shape[1]} inputs, {self.targets.shape[1]} targets"
        )
        return f"TrainingProblem({sizes}, {len(self.training_weights)} networks, seed={self.seed})"

    @classmethod
    def with_folds(
        cls, inputs: np.ndarray, targets: np.ndarray, learned: np.ndarray, folds: np.ndarray, seed: int
    ) -> TrainingProblem:
        """Return the problem of cross-validation: one network per fold, then one for all examples.

        `folds` holds the number of each example's fold. The network of a fold is validated on this fold and
        trained on the others. If there are no folds (all numbers are -1), the last network is also
        validated on all examples. `learned` is a mask of the targets that count in the losses.
        """
        everything = np.ones(len(inputs), dtype=bool)
        validation = [folds == fold for fold in range(folds.max() + 1)]
        training = [~chosen for chosen in validation]
        training.append(everything)
        validation.append(~everything if validation else everything)
        return cls(
            inputs,
            targets,
            np.stack([_loss_weights(chosen, learned) for chosen in training]),
            np.stack([_loss_weights(chosen, learned) for chosen in validation]),
            seed,
        )


def _loss_weights(chosen: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """Return the loss weights, a matrix with one row per example and one column per target.

    `chosen` is a mask of the examples, and `learned` a mask of the targets. The weights of chosen examples
    and targets are equal and sum to 1; all other weights are 0.
    """
    weights: np.ndarray = np.outer(chosen, learned).astype(np.float64)
    weights /= max(weights.sum(), 1.0)
    return weights


def train_network(
    problem: TrainingProblem, head: Head, schedule: TrainingSchedule, deadline: Deadline = NO_DEADLINE
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Train the networks of a problem; return the weights and biases of the last network, layer by layer.

    The network is returned as it was after the step at which the sum of the validation losses of all
    networks was lowest. Training stops when this sum has not improved for `schedule.patience` steps or,
    with cross-validation, when it is far above the lowest one (`MAX_OVERFITTING`). The result does not
    depend on the number of threads or cores.
    """
    shape = NetworkShape(problem.inputs.shape[1], problem.targets.shape[1] * head.outputs_per_target)
    initial = initial_weights(shape, problem.seed, problem.zero_outputs)
    weights = np.tile(initial, (len(problem.training_weights), 1))
    batches = _batches(problem, shape.most_rows)
    networks = Backpropagation(shape, weights, max(len(batch.inputs) for batch in batches))
    adam = Adam(weights, schedule.learning_rate)
    gradient = np.empty_like(weights)
    folds = np.count_nonzero(problem.validation_weights.any(axis=(1, 2)))
    # In cross-validation, the last network is not validated: it is trained on all examples.
    max_increase = np.inf if problem.validation_weights[-1].any() else MAX_OVERFITTING * folds
    best, best_loss, best_step = weights[-1].copy(), np.inf, 0
    for step in range(schedule.iterations + 1):
        deadline.check()
        loss = 0.0
        gradient.fill(0.0)
        for batch in batches:
            outputs = networks.outputs(batch.inputs)
            if step % CHECK_EVERY == 0:
                loss += float((head.losses(outputs, batch.targets) * batch.validation_weights).sum())
            slopes = head.slopes(outputs, batch.targets, batch.training_weights)
            gradient += networks.gradient(batch.inputs, slopes)
        if step % CHECK_EVERY == 0:
            if loss < best_loss - schedule.tolerance:
                best, best_loss, best_step = weights[-1].copy(), loss, step
            if step - best_step >= schedule.patience or loss > best_loss + max_increase:
                break
        adam.step(gradient)
    return network_layers(shape, best)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Batch:
    """Consecutive examples of a training problem, as 32-bit floats; the last input is the constant 1."""

    inputs: np.ndarray
    targets: np.ndarray
    training_weights: np.ndarray
    validation_weights: np.ndarray


def _batches(problem: TrainingProblem, most_rows: int) -> list[_Batch]:
    """Divide the examples of a problem into batches of about equal size with at most `most_rows` rows."""
    count = len(problem.inputs)
    bounds = np.linspace(0, count, -(-count // most_rows) + 1).astype(int).tolist()
    inputs, targets = with_constant(problem.inputs), problem.targets.astype(np.float32)
    training = problem.training_weights.astype(np.float32)
    validation = problem.validation_weights.astype(np.float32)
    return [
        _Batch(inputs[start:end], targets[start:end], training[:, start:end], validation[:, start:end])
        for start, end in pairwise(bounds)
    ]


class Adam:
    """Update weights in place by Adam's rule (Kingma and Ba, 2015).

    The running means are stored without their constant factors 1 − β1 and 1 − β2, which are part of the
    step size instead.
    """

    def __init__(self, weights: np.ndarray, learning_rate: float) -> None:
        self._weights = weights
        self._learning_rate = learning_rate
        self._mean = np.zeros_like(weights)
        self._square = np.zeros_like(weights)
        self._update = np.empty_like(weights)
        self._steps = 0

    def step(self, gradient: np.ndarray) -> None:
        """Update the weights by one step; `gradient` is the gradient of the loss, and is overwritten."""
        self._steps += 1
        mean_factor = (1.0 - MEAN_DECAY) / (1.0 - MEAN_DECAY**self._steps)
        square_factor = ((1.0 - SQUARE_DECAY) / (1.0 - SQUARE_DECAY**self._steps)) ** 0.5
        mean, square, update = self._mean, self._square, self._update
        mean *= MEAN_DECAY
        mean += gradient
        square *= SQUARE_DECAY
        square += np.multiply(gradient, gradient, out=gradient)
        np.sqrt(square, out=update)
        update += EPSILON / square_factor
        np.divide(mean, update, out=update)
        update *= self._learning_rate * mean_factor / square_factor
        self._weights -= update


@dataclass(frozen=True, slots=True)
class Head:
    """How the outputs of a network are compared with the targets, the values to learn.

    The functions `losses` and `slopes` get outputs of shape (networks, examples, outputs) and targets of
    shape (examples, targets).

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
    """Return, for each target, the mean μ, the variance σ² and the derivative of σ² with respect to r.

    The two outputs for a target are μ and r, and σ² = ELU(r) + 1.
    """
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
