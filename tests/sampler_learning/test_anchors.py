from __future__ import annotations

import numpy as np

from needful.sampler_learning.sampling import NO_ANCHOR, anchor_values, choose_anchors


def test_a_parameter_that_copies_a_feature_is_anchored_to_it() -> None:
    rng = np.random.default_rng(0)
    inputs = np.hstack([np.ones((30, 1)), rng.uniform(0, 10, (30, 3))])
    copied, near = inputs[:, 2], inputs[:, 3] + rng.uniform(-1, 1, 30)
    unrelated, constant = rng.uniform(0, 10, 30), np.full(30, 0.1)
    anchors = choose_anchors(inputs, np.stack([copied, near, unrelated, constant], axis=1))
    assert anchors.tolist() == [2, 3, NO_ANCHOR, NO_ANCHOR]


def test_of_equal_features_the_first_is_taken() -> None:
    feature = np.linspace(0, 1, 5)
    inputs = np.stack([np.ones(5), feature, feature], axis=1)
    assert choose_anchors(inputs, feature[:, None]).tolist() == [1]


def test_a_slight_gain_is_taken_for_chance() -> None:
    rng = np.random.default_rng(1)
    inputs = np.stack([np.ones(200), rng.normal(0, 0.1, 200)], axis=1)
    parameters = inputs[:, [1]] + rng.normal(0, 1, (200, 1))
    assert np.std(parameters[:, 0] - inputs[:, 1]) < np.std(parameters)
    assert choose_anchors(inputs, parameters).tolist() == [NO_ANCHOR]


def test_values_are_zero_without_an_anchor() -> None:
    anchors = np.array([NO_ANCHOR, 2])
    assert anchor_values(np.array([1.0, 5.0, 7.0]), anchors).tolist() == [0.0, 7.0]
    assert anchor_values(np.array([[1.0, 5.0, 7.0], [1.0, 6.0, 8.0]]), anchors).tolist() == [[0, 7], [0, 8]]
