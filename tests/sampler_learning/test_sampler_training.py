from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pushing_world import FORCE, PUSHING, SPEED, THING, demonstrations, operator_data, right_distance

from needful.core.model import PlanningModel, Vocabulary
from needful.core.samplers import ConstantSampler
from needful.errors import InvalidInputError
from needful.sampler_learning import training
from needful.sampler_learning.config import PAPER_SAMPLERS, SamplerConfig, TrainingSchedule
from needful.sampler_learning.learn import learn_samplers
from needful.sampler_learning.sampler_arrays import sampler_to_arrays
from needful.sampler_learning.sampling import NeuralSampler, input_vector

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
    assert samplers["Wave"] == ConstantSampler((SPEED,))
    only_constant = learn_samplers(operator_data(demos)[2:], demos, QUICK, seed=0)
    assert only_constant == {"Wave": ConstantSampler((SPEED,))}


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
    assert sampler == ConstantSampler(demos[0].actions[1].parameters)


def test_a_share_is_held_out_only_if_it_can_judge() -> None:
    rng = np.random.default_rng(0)
    few = training._held_out([50, 40], 0.1, rng)
    assert few.shape == (90,)
    assert not few.any()
    many = training._held_out([60, 40], 0.1, rng)
    assert (many[:60].sum(), many[60:].sum()) == (6, 4)
    assert not training._held_out([500], 0.0, rng).any()


def test_held_out_examples_judge_and_do_not_train() -> None:
    held_out = np.array([True, False, False, True])
    train, judge = training._loss_weights(held_out, np.array([True, False]))
    assert train.tolist() == [[0, 0], [0.5, 0], [0.5, 0], [0, 0]]
    assert judge.tolist() == [[0.5, 0], [0, 0], [0, 0], [0.5, 0]]
    train, judge = training._loss_weights(np.zeros(2, dtype=bool), np.array([True]))
    assert train.tolist() == judge.tolist() == [[0.5], [0.5]]


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
    with pytest.raises(InvalidInputError, match=r"between 0 and 0.5, got 0.9"):
        TrainingSchedule(iterations=1, patience=1, held_out=0.9)
    assert (PAPER_SAMPLERS.generator.iterations, PAPER_SAMPLERS.classifier.patience) == (50_000, 5_000)
