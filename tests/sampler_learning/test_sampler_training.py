"""Learning samplers from demonstrations: accuracy, special cases, cross-validation and reproducibility."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pushing_world import FORCE, PUSH, PUSHING, SPEED, THING, demonstrations, operator_data, right_distance

from needful.core.model import PlanningModel, Vocabulary
from needful.errors import InvalidInputError
from needful.sampler_learning.datasets import sampler_examples
from needful.sampler_learning.learn_samplers import SamplerConfig, assign_folds, learn_samplers
from needful.sampler_learning.sampling import (
    NO_ANCHOR,
    AnchoredSampler,
    NeuralSampler,
    input_vector,
    sampler_from_arrays,
    sampler_to_arrays,
)
from needful.sampler_learning.training import TrainingProblem, TrainingSchedule

QUICK = SamplerConfig(
    generator=TrainingSchedule(iterations=60, patience=60), classifier=TrainingSchedule(60, patience=60)
)


@pytest.fixture(scope="module")
def learned() -> NeuralSampler:
    demos = demonstrations(200)
    sampler = learn_samplers(operator_data(demos), demos, SamplerConfig(), seed=0)["Push"]
    assert isinstance(sampler, NeuralSampler)
    return sampler


def test_the_right_push_is_learned(learned: NeuralSampler) -> None:
    rng = np.random.default_rng(0)
    errors = []
    for demo in demonstrations(50, seed=99):
        assert demo.states is not None
        objects = demo.actions[1].objects
        drawn = learned.sample(demo.states[1], objects, rng)
        errors.append(abs(drawn[0] - right_distance(demo.states[1], *objects)))
        assert drawn[1] == FORCE
    assert np.median(errors) < 0.5


def test_the_classifier_accepts_right_and_rejects_wrong_pushes(learned: NeuralSampler) -> None:
    right = wrong = 0
    new = demonstrations(50, seed=99)
    for demo in new:
        assert demo.states is not None
        robot, target = demo.actions[1].objects
        theta = np.array([demo.actions[1].parameters])
        other = next(o for o in demo.objects if o.type == THING and o != target)
        right += bool(learned.accepts(input_vector(PUSHING, demo.states[1], (robot, target)), theta)[0])
        wrong += bool(learned.accepts(input_vector(PUSHING, demo.states[1], (robot, other)), theta)[0])
    assert right > 40
    assert wrong < 20


def test_constant_parameters_need_no_network() -> None:
    demos = demonstrations(3)
    samplers = learn_samplers(operator_data(demos), demos, QUICK, seed=0)
    assert list(samplers) == ["Push", "Wave"]
    assert isinstance(samplers["Wave"], AnchoredSampler)
    assert demos[0].states is not None
    drawn = samplers["Wave"].sample(
        demos[0].states[0], demos[0].actions[2].objects, np.random.default_rng(0)
    )
    assert drawn == (SPEED,)


def test_without_negatives_there_is_no_classifier() -> None:
    demos = demonstrations(3)
    reduced = [replace(demo, objects=demo.actions[1].objects) for demo in demos]
    one_thing = tuple(
        replace(demo, states=tuple(type(s)({o: s[o] for o in demo.objects}) for s in demo.states or ()))
        for demo in reduced
    )
    sampler = learn_samplers(operator_data(one_thing), one_thing, QUICK, seed=0)["Push"]
    assert isinstance(sampler, NeuralSampler)
    assert sampler.classifier is None


def test_operators_without_states_are_left_without_samplers() -> None:
    demos = tuple(replace(demo, states=None) for demo in demonstrations(2))
    data = operator_data(demos)
    samplers = learn_samplers(data, demos, QUICK, seed=0)
    assert samplers == {}
    operators = tuple(each.operator for each in data)
    assert PlanningModel(Vocabulary((), (), ()), operators, samplers).missing_samplers() == ("Push", "Wave")


def test_one_example_is_enough() -> None:
    demos = demonstrations(1)
    sampler = learn_samplers(operator_data(demos), demos, QUICK, seed=0)["Push"]
    assert demos[0].states is not None
    action = demos[0].actions[1]
    assert sampler.sample(demos[0].states[1], action.objects, np.random.default_rng(0)) == action.parameters


@pytest.mark.parametrize(
    ("count", "folds", "expected"), [(10, 5, 5), (11, 3, 3), (3, 5, 3), (1, 5, 0), (8, 0, 0)]
)
def test_each_example_is_in_one_validation_set(count: int, folds: int, expected: int) -> None:
    assigned = assign_folds(count, folds, np.random.default_rng(0))
    inputs, targets = np.zeros((count, 3)), np.zeros((count, 1))
    problem = TrainingProblem.with_folds(inputs, targets, np.array([True]), assigned, seed=0)
    training, validation = problem.training_weights[..., 0] > 0, problem.validation_weights[..., 0] > 0
    assert len(training) == expected + 1
    assert training[-1].all()
    assert validation[-1].all() == (expected == 0), "without folds, validate on the training examples"
    assert np.array_equal(training[:-1], ~validation[:-1])
    if expected:
        assert not validation[-1].any()
        assert np.all(validation.sum(axis=0) == 1)
        assert np.ptp(validation[:-1].sum(axis=1)) <= 1


def test_loss_weights_are_equal_and_sum_to_one() -> None:
    folds = np.array([0, 1, 1, 0])
    learned = np.array([True, False])
    problem = TrainingProblem.with_folds(np.zeros((4, 1)), np.zeros((4, 2)), learned, folds, seed=0)
    half, quarter, none = [0.5, 0], [0.25, 0], [0, 0]
    assert problem.training_weights.tolist() == [
        [none, half, half, none],
        [half, none, none, half],
        [quarter] * 4,
    ]
    assert problem.validation_weights.tolist() == [
        [half, none, none, half],
        [none, half, half, none],
        [none] * 4,
    ]


def test_noise_is_not_memorised() -> None:
    """If parameters are independent of the state, the best generator is one Gaussian for all states."""
    rng = np.random.default_rng(0)
    demos = tuple(
        replace(
            demo,
            actions=(
                demo.actions[0],
                PUSH(*demo.actions[1].objects, parameters=(rng.normal(3.0, 0.5), FORCE)),
                demo.actions[2],
            ),
        )
        for demo in demonstrations(25)
    )
    sampler = learn_samplers(operator_data(demos), demos, SamplerConfig(), seed=0)["Push"]
    assert isinstance(sampler, NeuralSampler)
    for demo in demonstrations(20, seed=7):
        assert demo.states is not None
        mean, deviation = sampler.distribution(
            input_vector(PUSHING, demo.states[1], demo.actions[1].objects)
        )
        assert mean[0] == pytest.approx(3.0, abs=0.4)
        assert deviation[0] == pytest.approx(0.5, abs=0.2)


def digest(seed: int) -> str:
    """Return a hash of all learned arrays and their order."""
    demos = demonstrations(120)
    found = hashlib.sha256()
    for name, sampler in learn_samplers(operator_data(demos), demos, QUICK, seed).items():
        for array_name, array in sampler_to_arrays(sampler)[1].items():
            found.update(f"{name} {array_name} ".encode() + array.tobytes())
    return found.hexdigest()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_any_process() -> None:
    here = digest(5)
    assert here != digest(6)
    program = f"import sys; sys.path[:0] = {[str(Path(__file__).parent)]!r}\n"
    program += "from test_sampler_training import digest; print(digest(5))"
    for hash_seed in ("0", "1"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-c", program]
        ran = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert ran.stdout.strip() == here


def test_reprs_are_short() -> None:
    demos = demonstrations(30)
    examples = sampler_examples(operator_data(demos), demos, seed=0)[0]
    named = replace(examples, operator=replace(PUSHING, name="Push" * 100))
    weights = np.zeros((6, *examples.parameters.shape))
    problem = TrainingProblem(examples.inputs, examples.parameters, weights, weights, seed=2**63)
    for each in (examples, named, problem):
        assert len(repr(each)) <= 120
    assert repr(examples) == "SamplerExamples('Push', 30 positive, 30 negative)"
    assert "30 examples, 4 inputs, 2 targets, 6 networks" in repr(problem)


def test_schedules_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="iterations must be at least 1, got 0"):
        TrainingSchedule(iterations=0, patience=1)
    for rate in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidInputError, match="learning_rate must be a positive number"):
            TrainingSchedule(iterations=1, patience=1, learning_rate=rate)
    for folds in (-1, 1):
        with pytest.raises(InvalidInputError, match=f"folds must be at least 2, or 0 .* got {folds}"):
            TrainingSchedule(iterations=1, patience=1, folds=folds)


def test_the_samplers_of_the_paper_learn_parameters_instead_of_offsets() -> None:
    demos = demonstrations(20)
    config = replace(QUICK, anchors=False)
    samplers = learn_samplers(operator_data(demos), demos, config, seed=0)
    assert list(samplers) == ["Push", "Wave"]
    for sampler in samplers.values():
        assert isinstance(sampler, NeuralSampler)
        assert set(sampler.anchors.tolist()) == {NO_ANCHOR}
    push = samplers["Push"]
    assert isinstance(push, NeuralSampler)
    assert push.classifier is not None
    values = np.array([demo.actions[1].parameters for demo in demos])
    assert np.array_equal(push.shift, values.min(axis=0))
    assert np.array_equal(push.scale, np.maximum(np.ptp(values, axis=0), 1.0))
    # The classifier sees v and θ. Offsets, which are its last inputs, do not matter.
    row = np.random.default_rng(0).normal(size=len(push.classifier.shift))
    changed = row.copy()
    changed[-2:] += 5.0
    assert push.classifier(row) == pytest.approx(push.classifier(changed))
    changed[-4:-2] += 5.0
    assert push.classifier(row) != pytest.approx(push.classifier(changed))


def test_the_samplers_of_the_paper_can_be_stored() -> None:
    demos = demonstrations(5)
    sampler = learn_samplers(operator_data(demos), demos, replace(QUICK, anchors=False), seed=0)["Push"]
    stored = sampler_from_arrays(*sampler_to_arrays(sampler), PUSHING)
    assert demos[0].states is not None
    state, objects = demos[0].states[1], demos[0].actions[1].objects
    drawn = [one.sample(state, objects, np.random.default_rng(1)) for one in (sampler, stored)]
    assert drawn[0] == pytest.approx(drawn[1])
