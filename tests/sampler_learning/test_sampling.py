"""Samplers in planning: inputs, anchors and rejection sampling."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from handmade_samplers import linear_network, random_sampler
from needful.core.controllers import Controller
from needful.core.objects import Type, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.sampler_learning.sampling import (
    FIRST_BATCH,
    NO_ANCHOR,
    AnchoredSampler,
    NeuralSampler,
    anchor_values,
    choose_anchors,
    input_vector,
    input_width,
)

ROBOT = Type("robot", ("x",))
THING = Type("thing", ("x", "size"))
# A subtype may have its features in a different order.
CUP = Type("cup", ("full", "size", "x"), THING)
REACH = Controller("Reach", (ROBOT, THING), low=(-1.0, 0.0), high=(1.0, 2.0))
R, T = Variable("?r", ROBOT), Variable("?t", THING)
OPERATOR = Operator("Reach", (R, T), frozenset(), frozenset(), frozenset(), frozenset(), REACH, (R, T))
ROBBY, BOX, MUG = ROBOT("robby"), THING("box"), CUP("mug")
STATE = State({ROBBY: (5.0,), BOX: (2.0, 3.0), MUG: (1.0, 7.0, 8.0)})

UNANCHORED = np.array([NO_ANCHOR, NO_ANCHOR])


def gaussian(mean: tuple[float, float], raw: tuple[float, float]) -> NeuralSampler:
    """Return a sampler whose generator returns the same Gaussian for every state."""
    outputs = [mean[0], raw[0], mean[1], raw[1]]
    generator = linear_network(np.zeros((input_width(OPERATOR), 4)), outputs)
    return NeuralSampler(OPERATOR, UNANCHORED, generator, np.zeros(2), np.ones(2), None)


def test_inputs_are_a_one_and_the_features_of_all_parameters() -> None:
    assert input_width(OPERATOR) == 4
    assert input_vector(OPERATOR, STATE, (ROBBY, BOX)).tolist() == [1.0, 5.0, 2.0, 3.0]


def test_a_subtype_contributes_the_features_of_the_parameters_type() -> None:
    assert input_vector(OPERATOR, STATE, (ROBBY, MUG)).tolist() == [1.0, 5.0, 8.0, 7.0]


def test_a_parameter_that_copies_a_feature_is_anchored_to_it() -> None:
    rng = np.random.default_rng(0)
    inputs = np.hstack([np.ones((30, 1)), rng.uniform(0, 10, (30, 3))])
    copied, near = inputs[:, 2], inputs[:, 3] + rng.uniform(-1, 1, 30)
    unrelated, constant = rng.uniform(0, 10, 30), np.full(30, 0.1)
    anchors = choose_anchors(inputs, np.stack([copied, near, unrelated, constant], axis=1))
    assert anchors.tolist() == [2, 3, NO_ANCHOR, NO_ANCHOR]


def test_the_first_of_equal_features_is_the_anchor() -> None:
    feature = np.linspace(0, 1, 5)
    inputs = np.stack([np.ones(5), feature, feature], axis=1)
    assert choose_anchors(inputs, feature[:, None]).tolist() == [1]


def test_a_feature_that_reduces_the_spread_only_slightly_is_no_anchor() -> None:
    rng = np.random.default_rng(1)
    inputs = np.stack([np.ones(200), rng.normal(0, 0.1, 200)], axis=1)
    parameters = inputs[:, [1]] + rng.normal(0, 1, (200, 1))
    assert np.std(parameters[:, 0] - inputs[:, 1]) < np.std(parameters)
    assert choose_anchors(inputs, parameters).tolist() == [NO_ANCHOR]


def test_anchor_values_are_zero_without_an_anchor() -> None:
    anchors = np.array([NO_ANCHOR, 2])
    assert anchor_values(np.array([1.0, 5.0, 7.0]), anchors).tolist() == [0.0, 7.0]
    assert anchor_values(np.array([[1.0, 5.0, 7.0], [1.0, 6.0, 8.0]]), anchors).tolist() == [[0, 7], [0, 8]]


def test_a_network_normalises_and_applies_relu_between_layers() -> None:
    network = linear_network(np.array([[2.0], [3.0]]), [0.5])
    assert network(np.array([[1.0, 1.0], [-1.0, 4.0]])).tolist() == [[5.5], [10.5]]
    shifted = replace(network, shift=np.array([1.0, 0.0]), scale=np.array([2.0, 1.0]))
    assert shifted(np.array([3.0, 1.0])).tolist() == [5.5]
    clipped = replace(
        network,
        weights=(np.eye(2), np.eye(2), np.ones((2, 1))),
        biases=(np.zeros(2), np.zeros(2), np.zeros(1)),
    )
    assert clipped(np.array([-5.0, 2.0])).tolist() == [2.0]


def test_the_variance_is_elu_plus_one_with_a_floor() -> None:
    mean, deviation = gaussian((0.3, 0.4), (2.0, -1.5)).distribution(np.ones(4))
    assert mean.tolist() == [0.3, 0.4]
    assert deviation == pytest.approx([math.sqrt(3.0), math.sqrt(math.exp(-1.5))])
    _, deviation = gaussian((0.0, 0.0), (-50.0, -1e9)).distribution(np.ones(4))
    assert deviation == pytest.approx([1e-3, 1e-3])


def test_parameters_are_denormalised() -> None:
    sampler = replace(
        gaussian((0.5, 9.0), (0.0, 0.0)), shift=np.array([1.0, 7.0]), scale=np.array([4.0, 0.0])
    )
    mean, deviation = sampler.distribution(np.ones(4))
    assert mean.tolist() == [3.0, 7.0]
    assert deviation.tolist() == [4.0, 0.0]


def test_parameters_follow_their_anchors() -> None:
    sampler = replace(gaussian((0.5, 0.25), (0.0, 0.0)), anchors=np.array([2, NO_ANCHOR]))
    mean, _ = sampler.distribution(np.array([1.0, 5.0, 2.0, 3.0]))
    assert mean.tolist() == [2.5, 0.25]


def rejection_loop(sampler: NeuralSampler, rng: np.random.Generator) -> tuple[list[float], int]:
    """Return the parameters that the definition of a sampler draws, and the number of rejected draws."""
    vector = input_vector(OPERATOR, STATE, (ROBBY, BOX))
    mean, deviation = sampler.distribution(vector)
    rejections = 0
    while True:
        theta = mean + deviation * rng.standard_normal(2)
        inside = -1.0 <= theta[0] <= 1.0 and 0.0 <= theta[1] <= 2.0
        anchored = [0.0 if index == NO_ANCHOR else vector[index] for index in sampler.anchors]
        seen = np.concatenate([vector, theta, theta - anchored])
        logit = sampler.classifier(seen)[0] if sampler.classifier else 1.0
        if (inside and logit > 0.0) or rejections == 100:
            return theta.tolist(), rejections
        rejections += 1


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("classifier", [True, False])
def test_sampling_is_the_rejection_loop(seed: int, classifier: bool) -> None:
    sampler = random_sampler(OPERATOR, seed, classifier)
    drawn = sampler.sample(STATE, (ROBBY, BOX), np.random.default_rng(seed))
    expected, _ = rejection_loop(sampler, np.random.default_rng(seed))
    assert drawn == pytest.approx(expected, abs=1e-12)


def test_sampling_is_the_rejection_loop_after_many_rejections() -> None:
    # Accepts only first parameters above 0.9, which within the bounds have a probability of 1 in 60.
    picky = linear_network(np.array([[0.0]] * 4 + [[1.0], [0.0], [0.0], [0.0]]), [-0.9])
    sampler = replace(gaussian((0.0, 1.0), (0.0, 0.0)), classifier=picky)
    rejections = []
    for seed in range(60):
        drawn = sampler.sample(STATE, (ROBBY, BOX), np.random.default_rng(seed))
        expected, count = rejection_loop(sampler, np.random.default_rng(seed))
        assert list(drawn) == expected
        rejections.append(count)
    assert min(rejections) < FIRST_BATCH - 1
    assert any(FIRST_BATCH < count < 100 for count in rejections)
    assert max(rejections) == 100


@pytest.mark.parametrize("classifier", [True, False])
def test_sampling_always_draws_101_times(classifier: bool) -> None:
    rng = np.random.default_rng(0)
    random_sampler(OPERATOR, 0, classifier).sample(STATE, (ROBBY, BOX), rng)
    skipped = np.random.default_rng(0)
    skipped.standard_normal((101, 2))
    assert rng.random() == skipped.random()


def test_the_last_of_101_draws_is_returned_if_none_is_accepted() -> None:
    far_away = gaussian((50.0, 50.0), (0.0, 0.0))
    drawn = far_away.sample(STATE, (ROBBY, BOX), np.random.default_rng(1))
    assert drawn == tuple((50.0 + np.random.default_rng(1).standard_normal((101, 2)))[100])


def test_draws_come_from_the_accepted_part_of_the_gaussian() -> None:
    upper = linear_network(np.array([[0.0]] * 4 + [[1.0], [0.0], [0.0], [0.0]]), [0.0])
    sampler = replace(gaussian((0.0, 1.0), (0.0, 0.0)), classifier=upper)
    rng = np.random.default_rng(0)
    draws = np.array([sampler.sample(STATE, (ROBBY, BOX), rng) for _ in range(500)])
    assert np.all((draws[:, 0] > 0.0) & (draws[:, 0] <= 1.0))
    assert np.all((draws[:, 1] >= 0.0) & (draws[:, 1] <= 2.0))
    # The mean of a standard normal between 0 and 1 is (φ(0) - φ(1)) / (Φ(1) - Φ(0)).
    assert draws[:, 0].mean() == pytest.approx(0.4599, abs=0.04)
    assert draws[:, 1].mean() == pytest.approx(1.0, abs=0.08)


def test_reprs_are_short() -> None:
    operator = replace(OPERATOR, name="Reach" * 50)
    sampler = random_sampler(operator, seed=0)
    plain = random_sampler(operator, seed=0, classifier=False)
    anchored = AnchoredSampler(operator, UNANCHORED, np.zeros(2))
    for each in (sampler, plain, anchored, sampler.generator):
        assert repr(each).startswith(type(each).__name__ + "(")
        assert len(repr(each)) <= 120
        assert "\n" not in repr(each)
    assert repr(random_sampler(OPERATOR, seed=0)) == "NeuralSampler('Reach', 2 parameters, with classifier)"
    assert "no classifier" in repr(plain)
