"""Samplers as named arrays, for files."""

from __future__ import annotations

import numpy as np
import pytest

from handmade_samplers import random_sampler
from needful.core.objects import Variable
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError
from needful.sampler_learning.sampling import (
    NO_ANCHOR,
    AnchoredSampler,
    sampler_from_arrays,
    sampler_to_arrays,
)
from toy_world import BALL, MOVE_TO, NEAR, ROBOT, operator

R, B = Variable("?r", ROBOT), Variable("?b", BALL)
OPERATOR = operator(MOVE_TO, (R, B), adds=[NEAR.lifted(R, B)])
ROBBY, BALL_0 = ROBOT("robby"), BALL("ball0")
STATE = State({ROBBY: (0.5,), BALL_0: (1.0, 0.0, 0.0)})


@pytest.mark.parametrize("classifier", [True, False])
def test_neural_samplers_survive_the_round_trip(classifier: bool) -> None:
    sampler = random_sampler(OPERATOR, seed=3, classifier=classifier)
    kind, arrays = sampler_to_arrays(sampler)
    again = sampler_from_arrays(kind, arrays, OPERATOR)
    assert kind == "neural"
    for seed in range(10):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        assert sampler.sample(STATE, (ROBBY, BALL_0), one) == again.sample(STATE, (ROBBY, BALL_0), other)


@pytest.mark.parametrize(("anchor", "expected"), [(NO_ANCHOR, 0.1), (2, 1.1)])
def test_anchored_samplers_survive_the_round_trip(anchor: int, expected: float) -> None:
    kind, arrays = sampler_to_arrays(AnchoredSampler(OPERATOR, np.array([anchor]), np.array([0.1])))
    again = sampler_from_arrays(kind, arrays, OPERATOR)
    assert kind == "anchored"
    assert again.sample(STATE, (ROBBY, BALL_0), np.random.default_rng(0)) == (expected,)


def test_handwritten_samplers_cannot_be_stored() -> None:
    class Handwritten:
        def sample(self, *_: object) -> tuple[float, ...]:
            return (0.0,)

    with pytest.raises(InvalidInputError, match="Handwritten cannot be stored"):
        sampler_to_arrays(Handwritten())


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'neural'"):
        sampler_from_arrays("neurall", {}, OPERATOR)


def every_array() -> dict[str, np.ndarray]:
    return sampler_to_arrays(random_sampler(OPERATOR, seed=0))[1]


@pytest.mark.parametrize("name", sorted(every_array()))
def test_every_array_is_needed_in_its_shape(name: str) -> None:
    arrays = every_array()
    whole = arrays.pop(name)
    with pytest.raises(InvalidInputError, match=f"'{name}' is missing"):
        sampler_from_arrays("neural", arrays, OPERATOR)
    for wrong in (whole[..., None], np.concatenate([whole, whole])):
        with pytest.raises(InvalidInputError, match="has shape"):
            sampler_from_arrays("neural", {**arrays, name: wrong}, OPERATOR)
    for wrong in (np.full_like(whole, np.nan), np.ones(whole.shape, dtype=np.int64)):
        with pytest.raises(InvalidInputError, match=f"'{name}' must hold finite floating-point numbers"):
            sampler_from_arrays("neural", {**arrays, name: wrong}, OPERATOR)


def test_arrays_that_do_not_belong_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="'foreign' does not belong to a sampler of kind 'neural'"):
        sampler_from_arrays("neural", {**every_array(), "foreign": np.zeros(1)}, OPERATOR)
    with pytest.raises(InvalidInputError, match=r"'generator.scale' must be positive, got 0"):
        sampler_from_arrays("neural", {**every_array(), "generator.scale": np.zeros(5)}, OPERATOR)
    with pytest.raises(InvalidInputError, match=r"'offsets' has shape \[2\], not \[1\]"):
        sampler_from_arrays("anchored", {"anchors": np.zeros(1), "offsets": np.zeros(2)}, OPERATOR)
    for wrong in (0.5, -2.0, 99.0):
        with pytest.raises(InvalidInputError, match="'anchors' must hold integers from -1 to 4"):
            sampler_from_arrays("neural", {**every_array(), "anchors": np.array([wrong])}, OPERATOR)
