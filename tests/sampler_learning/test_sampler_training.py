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
from needful.sampler_learning import training
from needful.sampler_learning.config import PAPER_SAMPLERS, SamplerConfig, TrainingSchedule
from needful.sampler_learning.learn_samplers import learn_samplers
from needful.sampler_learning.sampling import (
    AnchoredSampler,
    NeuralSampler,
    input_vector,
    sampler_to_arrays,
)

QUICK = SamplerConfig(
    generator=TrainingSchedule(iterations=60, patience=60), classifier=TrainingSchedule(60, patience=60)
)


@pytest.fixture(scope="module")
def learnt() -> NeuralSampler:
    demos = demonstrations(200)
    sampler = learn_samplers(operator_data(demos), demos, SamplerConfig(), seed=0)["Push"]
    assert isinstance(sampler, NeuralSampler)
    return sampler


def test_the_right_push_is_learnt(learnt: NeuralSampler) -> None:
    rng = np.random.default_rng(0)
    errors = []
    for demo in demonstrations(50, seed=99):
        assert demo.states is not None
        objects = demo.actions[1].objects
        drawn = learnt.sample(demo.states[1], objects, rng)
        errors.append(abs(drawn[0] - right_distance(demo.states[1], *objects)))
        assert drawn[1] == FORCE
    assert np.median(errors) < 0.5


def test_the_classifier_tells_right_from_wrong_pushes(learnt: NeuralSampler) -> None:
    right = wrong = 0
    new = demonstrations(50, seed=99)
    for demo in new:
        assert demo.states is not None
        robot, target = demo.actions[1].objects
        theta = np.array([demo.actions[1].parameters])
        other = next(o for o in demo.objects if o.type == THING and o != target)
        right += bool(learnt.accepts(input_vector(PUSHING, demo.states[1], (robot, target)), theta)[0])
        wrong += bool(learnt.accepts(input_vector(PUSHING, demo.states[1], (robot, other)), theta)[0])
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


def test_one_class_needs_no_classifier() -> None:
    demos = demonstrations(3)
    alone = [replace(demo, objects=demo.actions[1].objects) for demo in demos]
    lonely = tuple(
        replace(demo, states=tuple(type(s)({o: s[o] for o in demo.objects}) for s in demo.states or ()))
        for demo in alone
    )
    sampler = learn_samplers(operator_data(lonely), lonely, QUICK, seed=0)["Push"]
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
    ("count", "folds", "parts"), [(10, 5, 5), (11, 3, 3), (3, 5, 3), (1, 5, 0), (8, 0, 0)]
)
def test_each_example_judges_once_and_trains_otherwise(count: int, folds: int, parts: int) -> None:
    trials = training._splits(training._assign_folds(count, folds, np.random.default_rng(0)))
    assert len(trials) == parts + 1
    training_on_all, judging_all = trials[-1]
    assert training_on_all.all()
    assert judging_all.all() == (parts == 0), "without folds the training loss judges"
    judged = sum(judging.astype(int) for _, judging in trials[:-1])
    if parts:
        assert not judging_all.any()
        assert np.all(judged == 1)
        sizes = [judging.sum() for _, judging in trials[:-1]]
        assert max(sizes) - min(sizes) <= 1
    for train, judge in trials[:-1]:
        assert np.array_equal(train, ~judge)


def test_chosen_examples_weigh_the_same_and_sum_to_one() -> None:
    weights = training._loss_weights(np.array([True, False, False, True]), np.array([True, False]))
    assert weights.tolist() == [[0.5, 0], [0, 0], [0, 0], [0.5, 0]]
    assert not training._loss_weights(np.zeros(2, dtype=bool), np.array([True])).any()


def test_noise_is_not_memorised() -> None:
    """Parameters that have nothing to do with the state: the best generator is one Gaussian for all."""
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
    """Return a hash of everything that is learnt, in the order in which it comes."""
    demos = demonstrations(120)
    found = hashlib.sha256()
    for name, sampler in learn_samplers(operator_data(demos), demos, QUICK, seed).items():
        for array_name, array in sampler_to_arrays(sampler)[1].items():
            found.update(f"{name} {array_name} ".encode() + array.tobytes())
    return found.hexdigest()


def test_the_same_seed_gives_the_same_bytes_in_any_process() -> None:
    here = digest(5)
    assert here != digest(6)
    program = f"import sys; sys.path[:0] = {[str(Path(__file__).parent)]!r}\n"
    program += "from test_sampler_training import digest; print(digest(5))"
    for hash_seed in ("0", "1"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
        command = [sys.executable, "-c", program]
        ran = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert ran.stdout.strip() == here


def test_using_samplers_needs_no_torch() -> None:
    program = (
        "import sys\n"
        "import needful.sampler_learning.config, needful.sampler_learning.sampler_arrays\n"
        "import needful.storage.demonstrations, needful.storage.model_directory\n"
        "assert not {'torch', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_schedules_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="at least one iteration"):
        TrainingSchedule(iterations=0, patience=1)
    for folds in (-1, 1):
        with pytest.raises(InvalidInputError, match=f"at least 2 folds, or 0 for none, got {folds}"):
            TrainingSchedule(iterations=1, patience=1, folds=folds)
    assert (PAPER_SAMPLERS.generator.iterations, PAPER_SAMPLERS.classifier.patience) == (50_000, 5_000)
