"""Train networks by full-batch Adam, and stop where cross-validation is best."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from needful.core.limits import NO_DEADLINE, Deadline
from needful.errors import InvalidInputError, check_at_least
from needful.sampler_learning.networks import (
    Backpropagation,
    Head,
    NetworkShape,
    initial_weights,
    network_layers,
    with_constant,
)

MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8
# The validation losses are checked once in ten steps, because they change little in ten steps.
CHECK_EVERY = 10
# With cross-validation, training stops when the mean validation loss of the folds is this far above the
# lowest one: the networks overfit, and further steps hardly ever make them better again.
MAX_OVERFITTING = 0.5


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


def assign_folds(count: int, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Assign `count` examples at random to folds of cross-validation; return each example's fold number.

    The sizes of the folds differ by at most one. If there are fewer examples than folds, each example is
    its own fold. Without cross-validation (`folds` is 0, or there is only one example), all numbers are -1.
    """
    folds = min(folds, count) if count > 1 else 0
    assigned: np.ndarray = rng.permutation(count) % folds if folds else np.full(count, -1)
    return assigned


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
    """Divide the examples of a problem into batches of about equal size, at most `most_rows`."""
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
