"""Learning operators and samplers, and describing the result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carrying_world import AT, BOX, CUP, GO, HELD, IN, NEAR, PUT, ROBOT, A, B, C, carrying
from needful.approaches.bilevel import learn_model
from needful.approaches.catalogue import BilevelApproach
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.envs.catalogue import make_environment
from needful.errors import DemonstrationError
from needful.evaluation.pipeline import RunConfig, run
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.improve_coverage import improve_coverage
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()
CONFIG = RunConfig(demos=4, tasks=0)


def stateless(demo: Demonstration) -> Demonstration:
    return replace(demo, states=None)


def test_samplers_are_learned_from_demonstrations_with_states() -> None:
    demos = run(TOY, CONFIG).collected.demonstrations
    none = learn_model(TOY.vocabulary, [stateless(demo) for demo in demos])
    assert none.model.missing_samplers() == ("MoveTo",)
    some = learn_model(TOY.vocabulary, [*map(stateless, demos[:3]), demos[3]])
    assert some.model.missing_samplers() == ()
    assert none.model.operators == some.model.operators
    with pytest.raises(DemonstrationError, match="no demonstrations to learn from"):
        learn_model(TOY.vocabulary, [])


def test_demonstrations_of_another_domain_are_refused() -> None:
    demonstrations = run(TOY, CONFIG).learned.demonstrations
    foreign = make_environment("screws").vocabulary
    with pytest.raises(DemonstrationError, match="not in the vocabulary"):
        learn_model(foreign, demonstrations)
    again = learn_model(TOY.vocabulary, (demo for demo in demonstrations))
    assert again.demonstrations == demonstrations


def test_changes_that_no_later_step_needs_are_not_predicted() -> None:
    env = make_environment("screws")
    demos = run(env, RunConfig(demos=5, tasks=0)).collected.demonstrations
    learned = learn_model(env.vocabulary, [stateless(demo) for demo in demos])
    steps = [step for demo in demos for step in demo.transitions()]
    changed, predicted = learned.predicted_changes()
    assert changed == sum(len(step.before ^ step.after) for step in steps)
    # Each plan has four steps: three predict one atom, the last one adds and deletes one.
    assert predicted == 5 * len(demos)
    assert f"{changed:,} atoms changed. The operators predict {predicted:,} of them" in learned.describe()


def test_description_of_a_learned_model() -> None:
    def only_the_last_step(problem, reduce, start):
        return Climb(improve_coverage(problem.empty_hypothesis(), problem))

    config = OperatorLearningConfig(schedule=only_the_last_step)
    partial = BilevelApproach(
        "partial", "explains the last step", lambda demos, *_: learn_operators(demos, config)
    )
    vocabulary = Vocabulary((ROBOT, CUP, BOX), (NEAR, AT, HELD, IN), (GO, PUT))
    text = learn_model(vocabulary, [carrying(B, (A, B, C), (A, B))], partial).describe()
    assert text.startswith("Learned 1 operator in ")
    assert "coverage 0.5 (1 of 2 transitions)." in text
    assert "Learned 0 samplers in " in text
    assert "cannot reproduce these demonstrations: 0.\n" in text
    assert "\nPut(" in text
