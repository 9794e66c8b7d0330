"""Networks of samplers: losses, gradients, initial weights, and training with early stopping."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from needful.sampler_learning.sampling import Network
from needful.sampler_learning.training import (
    GAUSSIAN,
    HIDDEN_WIDTH,
    LOGISTIC,
    Adam,
    Backpropagation,
    Head,
    NetworkShape,
    TrainingProblem,
    TrainingSchedule,
    gaussian_losses,
    initial_weights,
    logistic_losses,
    network_layers,
    train_network,
    with_constant,
)

SHORT = TrainingSchedule(iterations=50, patience=1_000, tolerance=0.0)
UNTRAINED = TrainingSchedule(iterations=1, patience=1)


def problem(seed: int, examples: int, inputs: int, targets: int = 1) -> TrainingProblem:
    """Return a problem for one network, with random examples that are used for training and validation."""
    rng = np.random.default_rng(seed)
    weights = np.full((1, examples, targets), 1.0 / (examples * targets))
    values = rng.random((examples, inputs))
    return TrainingProblem(values, np.round(rng.random((examples, targets))), weights, weights, seed)


def opposite_validation(seed: int) -> TrainingProblem:
    """Return a problem whose validation targets are the opposite of the training targets."""
    half = problem(seed, examples=20, inputs=4)
    none, weight = np.zeros((1, 20, 1)), np.full((1, 20, 1), 1 / 20)
    return TrainingProblem(
        np.vstack([half.inputs, half.inputs]),
        np.vstack([half.targets, 1.0 - half.targets]),
        np.concatenate([weight, none], axis=1),
        np.concatenate([none, weight], axis=1),
        seed,
    )


def train(given: TrainingProblem, head: Head, schedule: TrainingSchedule) -> Network:
    weights, biases = zip(*train_network(given, head, schedule), strict=True)
    inputs = given.inputs.shape[1]
    return Network(np.zeros(inputs), np.ones(inputs), weights, biases)


def loss(network: Network, given: TrainingProblem, head: Head) -> float:
    """Return the validation loss of the last network."""
    return float((head.losses(network(given.inputs), given.targets) * given.validation_weights[-1]).sum())


def random_weights(shape: NetworkShape, networks: int) -> np.ndarray:
    """Return random weights of all layers, as 64-bit floats."""
    vector = initial_weights(shape, seed=3)
    return vector + np.random.default_rng(3).uniform(-0.2, 0.2, (networks, len(vector)))


def test_gaussian_losses_are_negative_log_likelihoods() -> None:
    outputs, targets = np.array([[[0.3, 1.5, -0.2, -2.0]]]), np.array([[1.0, 0.5]])
    variances = [1.5 + 1.0, np.exp(-2.0)]
    expected = [
        -np.log(np.exp(-((target - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance))
        - 0.5 * np.log(2 * np.pi)
        for mean, variance, target in zip((0.3, -0.2), variances, (1.0, 0.5), strict=True)
    ]
    assert gaussian_losses(outputs, targets)[0, 0] == pytest.approx(expected)


def test_the_variance_has_a_floor() -> None:
    outputs, targets = np.array([[[0.0, -100.0]]]), np.array([[0.0]])
    assert gaussian_losses(outputs, targets).item() == pytest.approx(0.5 * np.log(1e-6))
    assert GAUSSIAN.slopes(outputs, targets, np.ones((1, 1, 1)))[0, 0, 1] == 0.0


def test_logistic_losses_are_cross_entropies() -> None:
    found = logistic_losses(np.array([[[2.0], [2.0]]]), np.array([[1.0], [0.0]]))
    sigmoid = 1 / (1 + np.exp(-2.0))
    assert found.flatten().tolist() == pytest.approx([-np.log(sigmoid), -np.log(1 - sigmoid)])


def test_losses_and_slopes_of_extreme_outputs_are_finite() -> None:
    outputs = np.array([[[-1e4, 1e4], [1e4, -1e4]]], dtype=np.float32)
    for head, targets in ((LOGISTIC, np.eye(2)), (GAUSSIAN, np.ones((2, 1)))):
        weights = np.ones((1, 2, targets.shape[1]))
        assert np.isfinite(head.losses(outputs, targets)).all()
        assert np.isfinite(head.slopes(outputs, targets, weights)).all()


def test_outputs_are_those_of_the_samplers_network() -> None:
    shape = NetworkShape(5, 3)
    weights = random_weights(shape, networks=2)
    inputs = np.random.default_rng(0).random((7, 5))
    outputs = Backpropagation(shape, weights, 7).outputs(np.hstack([inputs, np.ones((7, 1))]))
    for own, vector in zip(outputs, weights, strict=True):
        matrices, biases = zip(*network_layers(shape, vector), strict=True)
        assert own == pytest.approx(Network(np.zeros(5), np.ones(5), matrices, biases)(inputs))


def total_loss(
    shape: NetworkShape, head: Head, inputs: np.ndarray, targets: np.ndarray, loss_weights: np.ndarray
) -> Callable[[np.ndarray], float]:
    def of(weights: np.ndarray) -> float:
        outputs = Backpropagation(shape, weights, len(inputs)).outputs(inputs)
        return float((head.losses(outputs, targets) * loss_weights).sum())

    return of


def gradient_case(head: Head) -> tuple[NetworkShape, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    shape = NetworkShape(4, 2 * head.outputs_per_target)
    inputs = np.hstack([rng.normal(size=(9, 4)), np.ones((9, 1))])
    targets = np.round(rng.random((9, 2)))
    return shape, random_weights(shape, networks=3), inputs, targets, rng.random((3, 9, 2))


@pytest.mark.parametrize("head", [GAUSSIAN, LOGISTIC])
def test_gradients_agree_with_finite_differences(head: Head) -> None:
    shape, weights, inputs, targets, loss_weights = gradient_case(head)
    networks = Backpropagation(shape, weights, len(inputs))
    found = networks.gradient(inputs, head.slopes(networks.outputs(inputs), targets, loss_weights))
    loss_at = total_loss(shape, head, inputs, targets, loss_weights)
    step = 1e-6
    for network in range(len(weights)):
        for index in range(weights.shape[1]):
            change = np.zeros_like(weights)
            change[network, index] = step
            expected = (loss_at(weights + change) - loss_at(weights - change)) / (2 * step)
            assert found[network, index] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("head", [GAUSSIAN, LOGISTIC])
def test_gradients_agree_with_torch(head: Head) -> None:
    torch = pytest.importorskip("torch")
    shape, weights, inputs, targets, loss_weights = gradient_case(head)
    networks = Backpropagation(shape, weights, len(inputs))
    found = networks.gradient(inputs, head.slopes(networks.outputs(inputs), targets, loss_weights))
    tensors = [torch.tensor(matrix, requires_grad=True) for matrix in shape.matrices(weights)]
    values = torch.tensor(inputs)[None]
    ones = torch.ones((3, len(inputs), 1), dtype=values.dtype)
    for tensor in tensors[:-1]:
        values = torch.cat([(values @ tensor).relu(), ones], dim=2)
    outputs, expected_targets = values @ tensors[-1], torch.tensor(targets).expand(3, -1, -1)
    if head is LOGISTIC:
        losses = torch.nn.functional.binary_cross_entropy_with_logits(
            outputs, expected_targets, reduction="none"
        )
    else:
        variance = torch.nn.functional.elu(outputs[..., 1::2]) + 1.0
        losses = torch.nn.functional.gaussian_nll_loss(
            outputs[..., 0::2], expected_targets, variance, reduction="none"
        )
    expected = torch.autograd.grad((losses * torch.tensor(loss_weights)).sum(), tensors)
    for own, other in zip(shape.matrices(found), expected, strict=True):
        assert own == pytest.approx(other.numpy(), abs=1e-12)


def test_adam_follows_its_definition() -> None:
    rng = np.random.default_rng(0)
    weights = rng.random((2, 5)).astype(np.float32)
    expected, mean, square = weights.astype(np.float64), np.zeros((2, 5)), np.zeros((2, 5))
    adam = Adam(weights, learning_rate=1e-3)
    for step in range(1, 21):
        gradient = (rng.random((2, 5)) - 0.3).astype(np.float32)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient.astype(np.float64) ** 2
        corrected = mean / (1 - 0.9**step), square / (1 - 0.999**step)
        expected -= 1e-3 * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
        adam.step(gradient)
    assert weights == pytest.approx(expected, abs=1e-6)


def test_untrained_outputs_do_not_depend_on_the_inputs() -> None:
    shape = NetworkShape(3, 2)
    inputs = with_constant(np.random.default_rng(0).random((20, 3)))
    outputs = Backpropagation(shape, initial_weights(shape, 1)[None], 20).outputs(inputs)
    assert np.array_equal(outputs, np.zeros((1, 20, 2)))


@pytest.mark.parametrize("inputs", [3, 100])
def test_initial_weights_fit_the_number_of_inputs(inputs: int) -> None:
    shape = NetworkShape(inputs, 2)
    for layer, count in zip(
        network_layers(shape, initial_weights(shape, 1))[:2], (inputs, HIDDEN_WIDTH), strict=True
    ):
        for values in layer:
            assert 0.7 * count**-0.5 < np.abs(values).max() <= count**-0.5


def test_other_networks_change_only_the_time_to_stop() -> None:
    """A network without validation examples stops where the validation loss of the others is lowest."""
    validated = opposite_validation(4)
    none = np.zeros_like(validated.validation_weights)
    schedule = TrainingSchedule(iterations=300, patience=300, tolerance=0.0)
    both = replace(
        validated,
        training_weights=np.concatenate([validated.training_weights] * 2),
        validation_weights=np.concatenate([validated.validation_weights, none]),
    )
    alone, together = (train_network(each, LOGISTIC, schedule) for each in (validated, both))
    # The validation loss increases from the first step on, so both networks keep their initial weights.
    start = train_network(validated, LOGISTIC, UNTRAINED)
    for one, other, first in zip(alone, together, start, strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[0], first[0])


@pytest.mark.parametrize("head", [GAUSSIAN, LOGISTIC])
def test_many_examples_are_trained_as_one_batch(head: Head) -> None:
    """Each example is repeated, so that they need several batches. This does not change the gradient."""
    few = problem(1, examples=30, inputs=6)
    times = 3 * NetworkShape(6, head.outputs_per_target).most_rows // 30
    many = TrainingProblem(
        np.tile(few.inputs, (times, 1)),
        np.tile(few.targets, (times, 1)),
        np.tile(few.training_weights, (1, times, 1)) / times,
        np.tile(few.validation_weights, (1, times, 1)) / times,
        few.seed,
    )
    one, other = (train(each, head, SHORT) for each in (few, many))
    # Adam amplifies rounding errors of tiny gradients in the weights, so the losses are compared.
    assert loss(one, few, head) == pytest.approx(loss(other, few, head), abs=1e-3)
    assert loss(one, few, head) < loss(train(few, head, UNTRAINED), few, head) - 0.02


def test_the_loss_falls() -> None:
    given = problem(1, examples=30, inputs=6)
    schedule = TrainingSchedule(iterations=1_000, patience=1_000, tolerance=0.0)
    start, end = train(given, LOGISTIC, UNTRAINED), train(given, LOGISTIC, schedule)
    assert loss(end, given, LOGISTIC) < 0.1 * loss(start, given, LOGISTIC)


def test_examples_of_weight_zero_do_not_change_training() -> None:
    given = problem(1, examples=30, inputs=6)
    none = np.zeros((1, 5, 1))
    odd = TrainingProblem(
        np.vstack([given.inputs, np.full((5, 6), 9.0)]),
        np.vstack([given.targets, np.full((5, 1), 7.0)]),
        np.concatenate([given.training_weights, none], axis=1),
        np.concatenate([given.validation_weights, none], axis=1),
        given.seed,
    )
    with_odd, without = (train_network(each, GAUSSIAN, SHORT) for each in (odd, given))
    for one, other in zip(with_odd, without, strict=True):
        assert one[0] == pytest.approx(other[0], abs=1e-4)
        assert one[1] == pytest.approx(other[1], abs=1e-4)


def test_the_weights_with_the_lowest_validation_loss_are_kept() -> None:
    given = opposite_validation(4)
    kept = train(given, LOGISTIC, TrainingSchedule(iterations=200, patience=200, tolerance=0.0))
    # With long patience and the training examples for validation, the last weights are kept.
    same = replace(given, validation_weights=given.training_weights)
    losses = [
        loss(
            train(same, LOGISTIC, TrainingSchedule(steps, patience=10_000, tolerance=0.0)), given, LOGISTIC
        )
        for steps in range(10, 210, 10)
    ]
    best = min(loss(train(given, LOGISTIC, UNTRAINED), given, LOGISTIC), *losses)
    assert loss(kept, given, LOGISTIC) == pytest.approx(best, abs=1e-3)
    assert losses[-1] > best + 0.1


def test_training_stops_when_patience_ends() -> None:
    counted = []

    def counting(outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        counted.append(len(outputs))
        return LOGISTIC.slopes(outputs, targets, weights)

    schedule = TrainingSchedule(iterations=400, patience=50, tolerance=1e-3)
    train(opposite_validation(4), replace(LOGISTIC, slopes=counting), schedule)
    assert 50 < len(counted) < 400
    counted.clear()
    train(problem(1, 30, 6), replace(LOGISTIC, slopes=counting), schedule)
    assert len(counted) == 401


def test_training_stops_when_the_networks_overfit() -> None:
    alone = opposite_validation(4)
    none = np.zeros_like(alone.validation_weights)
    given = replace(
        alone,
        training_weights=np.concatenate([alone.training_weights, alone.training_weights]),
        validation_weights=np.concatenate([alone.validation_weights, none]),
    )
    schedule = TrainingSchedule(iterations=5_000, patience=5_000, tolerance=0.0)
    counted = []

    def counting(outputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        counted.append(len(outputs))
        return LOGISTIC.slopes(outputs, targets, weights)

    kept = train(given, replace(LOGISTIC, slopes=counting), schedule)
    assert len(counted) < 5_000
    # Without cross-validation, training goes on, but the further steps are no better.
    steps = len(counted) + 300
    counted.clear()
    patient = train(alone, replace(LOGISTIC, slopes=counting), replace(schedule, iterations=steps))
    assert len(counted) == steps + 1
    assert loss(kept, alone, LOGISTIC) == pytest.approx(loss(patient, alone, LOGISTIC))


def trained_bytes() -> str:
    """Return the weights of a network with many inputs, trained on many examples, as hexadecimal digits."""
    layers = train_network(problem(1, 2_000, 40), LOGISTIC, SHORT)
    return "".join(array.tobytes().hex() for layer in layers for array in layer)


def test_the_number_of_threads_changes_no_bit() -> None:
    program = f"import sys; sys.path[:0] = {[str(Path(__file__).parent)]!r}\n"
    program += "from test_sampler_networks import trained_bytes; print(trained_bytes())"
    here = trained_bytes()
    for threads in ("1", "2", "4"):
        environment = {
            **os.environ,
            **{f"{library}_NUM_THREADS": threads for library in ("OPENBLAS", "OMP", "MKL")},
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-c", program]
        ran = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert ran.stdout.strip() == here


def test_initial_weights_of_the_last_layer_are_zero_or_random() -> None:
    shape = NetworkShape(3, 2)
    zero, random = (network_layers(shape, initial_weights(shape, 1, chosen)) for chosen in (True, False))
    assert not np.vstack(zero[2]).any()
    assert np.vstack(random[2]).all()
    assert np.abs(np.vstack(random[2])).max() <= HIDDEN_WIDTH**-0.5
    for one, other in zip(zero[:2], random[:2], strict=True):
        assert np.array_equal(one[0], other[0])
