"""Networks of samplers: losses, padding, and training with early stopping."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from needful.sampler_learning.learn_samplers import TrainingSchedule
from needful.sampler_learning.networks import (
    GAUSSIAN,
    LOGISTIC,
    Head,
    NetworkShape,
    forward,
    gaussian_losses,
    initial_layers,
    logistic_losses,
    unpadded_layers,
)
from needful.sampler_learning.sampling import Network
from needful.sampler_learning.training import TrainingProblem, train_networks

SHORT = TrainingSchedule(iterations=50, patience=1_000, tolerance=0.0)


def problem(seed: int, examples: int, inputs: int, targets: int = 1) -> TrainingProblem:
    rng = np.random.default_rng(seed)
    weights = np.full((examples, targets), 1.0 / (examples * targets))
    values = rng.random((examples, inputs))
    return TrainingProblem(
        values, np.round(rng.random((examples, targets))), weights, weights, seed, group=seed
    )


def network(layers: list[np.ndarray], inputs: int) -> Network:
    weights, biases = layers[0::2], [bias[0] for bias in layers[1::2]]
    return Network(np.zeros(inputs), np.ones(inputs), tuple(weights), tuple(biases))


def loss(layers: list[np.ndarray], given: TrainingProblem, head: Head) -> float:
    outputs = torch.from_numpy(network(layers, given.inputs.shape[1])(given.inputs))
    return float(
        (
            head.losses(outputs, torch.from_numpy(given.targets))
            * torch.from_numpy(given.validation_weights)
        ).sum()
    )


def test_gaussian_losses_are_negative_log_likelihoods() -> None:
    outputs = torch.tensor([[0.3, 1.5, -0.2, -2.0]])
    targets = torch.tensor([[1.0, 0.5]])
    mean, raw = outputs[:, 0::2], outputs[:, 1::2]
    deviation = torch.where(raw > 0, raw + 1, raw.exp()).sqrt()
    expected = -torch.distributions.Normal(mean, deviation).log_prob(targets) - 0.5 * np.log(2 * np.pi)
    assert gaussian_losses(outputs, targets).numpy() == pytest.approx(expected.numpy(), abs=1e-6)


def test_the_variance_has_a_floor() -> None:
    found = gaussian_losses(torch.tensor([[0.0, -100.0]]), torch.tensor([[0.0]]))
    assert found.item() == pytest.approx(0.5 * np.log(1e-6))


def test_logistic_losses_are_cross_entropies() -> None:
    found = logistic_losses(torch.tensor([[2.0], [2.0]]), torch.tensor([[1.0], [0.0]]))
    sigmoid = 1 / (1 + np.exp(-2.0))
    assert found.flatten().tolist() == pytest.approx([-np.log(sigmoid), -np.log(1 - sigmoid)])


def test_padding_changes_no_output() -> None:
    shapes = [NetworkShape(3, 2), NetworkShape(7, 4), NetworkShape(1, 6)]
    layers = initial_layers(shapes, [1, 2, 3])
    for index, shape in enumerate(shapes):
        for layer in unpadded_layers(layers, index, shape)[4:]:
            layer.uniform_(-1.0, 1.0, generator=torch.Generator().manual_seed(index))
    inputs = torch.rand((3, 5, 7), generator=torch.Generator().manual_seed(0))
    for index, shape in enumerate(shapes):
        inputs[index, :, shape.inputs :] = 0.0
    outputs = forward(layers, inputs)
    for index, shape in enumerate(shapes):
        hidden = inputs[index, :, : shape.inputs]
        own = unpadded_layers(layers, index, shape)
        for weight, bias in zip(own[0:4:2], own[1:4:2], strict=True):
            hidden = functional.linear(hidden, weight.T, bias[0]).relu()
        alone = functional.linear(hidden, own[4].T, own[5][0])
        assert alone.shape == (5, shape.outputs)
        assert torch.allclose(outputs[index, :, : shape.outputs], alone, atol=1e-6)


def test_untrained_outputs_do_not_depend_on_the_inputs() -> None:
    layers = initial_layers([NetworkShape(3, 2)], [1])
    inputs = torch.rand((1, 20, 3), generator=torch.Generator().manual_seed(0))
    assert torch.equal(forward(layers, inputs), torch.zeros((1, 20, 2)))


def test_networks_of_a_group_stop_at_the_same_step() -> None:
    """One network has validation examples, the other has none and gets the weights of the same step."""
    validated = opposite_validation(4)
    unvalidated = problem(1, 20, 4)
    unvalidated = TrainingProblem(
        unvalidated.inputs, unvalidated.targets, unvalidated.training_weights, np.zeros((20, 1)), 1, group=4
    )
    schedule = TrainingSchedule(iterations=300, patience=300, tolerance=0.0)
    alone = train_networks([validated], LOGISTIC, schedule)[0]
    together, same_group = train_networks([validated, unvalidated], LOGISTIC, schedule)
    for one, other in zip(alone, together, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    # The validation loss increases from the first step on, so both networks keep their initial weights.
    start = train_networks([unvalidated], LOGISTIC, TrainingSchedule(iterations=1, patience=1))[0]
    for one, other in zip(same_group, start, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


def test_initial_weights_fit_the_number_of_inputs() -> None:
    for index, shape in enumerate([NetworkShape(3, 2), NetworkShape(100, 4)]):
        weight = unpadded_layers(
            initial_layers([NetworkShape(3, 2), NetworkShape(100, 4)], [1, 2]), index, shape
        )[0]
        bound = shape.inputs**-0.5
        assert 0.8 * bound < weight.abs().max() <= bound


def test_numpy_agrees_with_torch() -> None:
    given = problem(1, examples=40, inputs=6)
    (layers,) = train_networks([given], LOGISTIC, SHORT)
    tensors = [torch.from_numpy(layer)[None] for layer in layers]
    by_torch = forward(tensors, torch.from_numpy(given.inputs.astype(np.float32))[None])[0].numpy()
    exact = network([layer.astype(np.float64) for layer in layers], 6)
    assert exact(given.inputs) == pytest.approx(by_torch, abs=1e-5)


@pytest.mark.parametrize("head", [GAUSSIAN, LOGISTIC])
def test_training_together_is_training_alone(head: Head) -> None:
    problems = [problem(1, 30, 6), problem(2, 12, 3), problem(3, 50, 9, targets=2)]
    together = train_networks(problems, head, SHORT)
    for given, layers in zip(problems, together, strict=True):
        (alone,) = train_networks([given], head, SHORT)
        # Adam amplifies rounding errors of tiny gradients in the weights, so the losses are compared.
        assert loss(layers, given, head) == pytest.approx(loss(alone, given, head), abs=2e-3)
        (start,) = train_networks([given], head, TrainingSchedule(iterations=1, patience=1))
        assert loss(alone, given, head) < loss(start, given, head) - 0.02


def test_the_loss_falls() -> None:
    given = problem(1, examples=30, inputs=6)
    schedule = TrainingSchedule(iterations=1_000, patience=1_000, tolerance=0.0)
    (start,) = train_networks([given], LOGISTIC, TrainingSchedule(iterations=1, patience=1))
    (end,) = train_networks([given], LOGISTIC, schedule)
    assert loss(end, given, LOGISTIC) < 0.1 * loss(start, given, LOGISTIC)


def test_examples_of_weight_zero_do_not_change_training() -> None:
    given = problem(1, examples=30, inputs=6)
    odd = TrainingProblem(
        np.vstack([given.inputs, np.full((5, 6), 9.0)]),
        np.vstack([given.targets, np.full((5, 1), 7.0)]),
        np.vstack([given.training_weights, np.zeros((5, 1))]),
        np.vstack([given.validation_weights, np.zeros((5, 1))]),
        given.seed,
    )
    (with_odd,), (without,) = (
        train_networks([odd], GAUSSIAN, SHORT),
        train_networks([given], GAUSSIAN, SHORT),
    )
    for one, other in zip(with_odd, without, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def opposite_validation(seed: int) -> TrainingProblem:
    """Return a problem whose validation targets are the opposite of the training targets."""
    half = problem(seed, examples=20, inputs=4)
    none, weight = np.zeros((20, 1)), np.full((20, 1), 1 / 20)
    return TrainingProblem(
        np.vstack([half.inputs, half.inputs]),
        np.vstack([half.targets, 1.0 - half.targets]),
        np.vstack([weight, none]),
        np.vstack([none, weight]),
        seed,
        group=seed,
    )


def test_the_weights_with_the_lowest_validation_loss_are_kept() -> None:
    given = opposite_validation(4)
    (kept,) = train_networks(
        [given], LOGISTIC, TrainingSchedule(iterations=200, patience=200, tolerance=0.0)
    )
    losses = []
    for steps in range(10, 210, 10):
        # With long patience and the training examples for validation, the last weights are kept.
        same = TrainingProblem(
            given.inputs, given.targets, given.training_weights, given.training_weights, given.seed
        )
        (layers,) = train_networks(
            [same], LOGISTIC, TrainingSchedule(steps, patience=10_000, tolerance=0.0)
        )
        losses.append(loss(layers, given, LOGISTIC))
    (start,) = train_networks([given], LOGISTIC, TrainingSchedule(iterations=1, patience=1))
    best = min(loss(start, given, LOGISTIC), *losses)
    assert loss(kept, given, LOGISTIC) == pytest.approx(best, abs=1e-3)
    assert losses[-1] > best + 0.1


def test_patience_stops_one_network_and_not_the_others() -> None:
    counted = []

    def counting(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        counted.append(len(outputs))
        return logistic_losses(outputs, targets)

    head = Head(1, counting)
    hopeless, easy = opposite_validation(4), problem(1, 30, 6)
    schedule = TrainingSchedule(iterations=400, patience=50, tolerance=1e-3)
    train_networks([hopeless], head, schedule)
    assert 50 < len(counted) < 400
    counted.clear()
    together = train_networks([hopeless, easy], head, schedule)
    assert len(counted) == 401
    (alone,) = train_networks([easy], head, schedule)
    assert loss(together[1], easy, LOGISTIC) == pytest.approx(loss(alone, easy, LOGISTIC), abs=1e-2)


def test_training_has_no_side_effects_on_torch() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        state = torch.random.get_rng_state()
        with torch.no_grad():
            train_networks([problem(1, 5, 2)], GAUSSIAN, SHORT)
            assert not torch.is_grad_enabled()
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.random.get_rng_state(), state)
    finally:
        torch.set_num_threads(threads)


def test_the_number_of_threads_changes_no_bit() -> None:
    given = [problem(1, 200, 12), problem(2, 150, 9)]
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            layers = train_networks(given, LOGISTIC, SHORT)
            found.append([layer.tobytes() for own in layers for layer in own])
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1]
