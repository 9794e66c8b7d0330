"""Demonstrations that learned operators can or cannot reproduce are recognised."""

from __future__ import annotations

from dataclasses import replace

from carrying_world import GOING, IN, PUTTING, A, B, C, carrying
from needful.core.demonstrations import Demonstration
from needful.operator_learning import learned_operators
from needful.operator_learning.backchaining import Coverage, cover
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.hill_climbing import stay_where_stuck
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learned_operators import reproduces_demonstration
from needful.operator_learning.matching import Matcher
from tiny_worlds import BLOCK, CLEAN, PUSH

DEMO = encode_demonstrations([carrying(B, (A, B, C), (A, B))])[0]


def test_a_covered_demonstration_is_reproduced():
    assert cover([GOING, PUTTING], Coverage.empty([DEMO]), Matcher()).uncovered == 0
    assert reproduces_demonstration([GOING, PUTTING], DEMO, Matcher())


def test_deleting_an_atom_that_the_next_step_needs_is_noticed():
    not_keeping = replace(GOING, add_effects=GOING.add_effects - GOING.keep_effects)
    assert not reproduces_demonstration([not_keeping, PUTTING], DEMO, Matcher())
    assert reproduces_demonstration([not_keeping, GOING, PUTTING], DEMO, Matcher()), (
        "another operator keeps it"
    )


def test_an_action_without_an_operator_cannot_be_reproduced():
    assert not reproduces_demonstration([PUTTING], DEMO, Matcher())
    assert not reproduces_demonstration([GOING], DEMO, Matcher())
    assert not reproduces_demonstration([], DEMO, Matcher())


def test_missing_the_goal_is_noticed():
    idle = replace(PUTTING, add_effects=frozenset())
    assert not reproduces_demonstration([GOING, idle], DEMO, Matcher())


def test_the_search_follows_predictions_not_observations():
    """Predicting the goal too early contradicts the demonstration, but such a plan exists."""
    _, b, c = GOING.parameters
    optimistic = replace(GOING, add_effects=GOING.add_effects | {IN.lifted(c, b)})
    assert cover([optimistic, PUTTING], Coverage.empty([DEMO]), Matcher()).uncovered == 1
    assert reproduces_demonstration([optimistic, PUTTING], DEMO, Matcher())


def test_the_search_backtracks_from_groundings_that_fail_later():
    """Keeping near a cup that is not held predicts as much and fails at the next step."""
    r, _, c = GOING.parameters
    careless = replace(GOING, preconditions=frozenset(a for a in GOING.preconditions if r in a.variables))
    assert c in careless.parameters
    assert reproduces_demonstration([careless, PUTTING], DEMO, Matcher())


def test_the_search_stops_at_its_limit(monkeypatch):
    monkeypatch.setattr(learned_operators, "MAX_PREDICTED_STATES", 1)
    assert not reproduces_demonstration([GOING, PUTTING], DEMO, Matcher())


def test_learning_reports_demonstrations_that_are_not_reproduced():
    a = BLOCK("a")
    clean = frozenset({CLEAN(a)})
    demos = [carrying(B, (B,), (B,)), Demonstration((a,), clean, (clean,), ()), carrying(C, (C,), (C,))]
    assert learn_operators(demos).not_reproduced == ()
    no_search = OperatorLearningConfig(
        schedule=lambda problem, reduce, start: start, escape=stay_where_stuck
    )
    assert learn_operators(demos, no_search).not_reproduced == (0, 2)


# The block is pushed once; after a failed attempt; after a detour; or twice, where the second push is idle.
A1, B1 = BLOCK("a"), BLOCK("b")
NONE, CLEAN_A, CLEAN_B = frozenset(), frozenset({CLEAN(A1)}), frozenset({CLEAN(B1)})
ONCE = Demonstration((A1, B1), CLEAN_A, (NONE, CLEAN_A), (PUSH(A1),))
FAILED = Demonstration((A1, B1), CLEAN_A, (NONE, NONE, CLEAN_A), (PUSH(A1), PUSH(A1)))
DETOUR = Demonstration((A1, B1), CLEAN_A, (NONE, CLEAN_B, CLEAN_B | CLEAN_A), (PUSH(B1), PUSH(A1)))
TWICE = Demonstration((A1, B1), CLEAN_A, (NONE, CLEAN_A, CLEAN_A), (PUSH(A1), PUSH(A1)))


def sampler_steps(*demos: Demonstration) -> list[tuple[int, int]]:
    (data,) = learn_operators(demos).sampler_data
    return [(one.demonstration, one.step) for one in data.groundings]


def test_failed_steps_and_detours_are_no_examples_for_samplers():
    learned = learn_operators([ONCE, FAILED, DETOUR])
    assert learned.idle_steps == {(1, 0), (2, 0)}
    assert sampler_steps(ONCE, FAILED, DETOUR) == [(0, 0), (1, 1), (2, 1)]


def test_idle_steps_are_examples_if_there_are_no_others():
    nothing = Demonstration((A1, B1), CLEAN_A, (CLEAN_A, CLEAN_A), (PUSH(A1),))
    purposeless = Demonstration((A1, B1), CLEAN_A, (CLEAN_A, CLEAN_A | CLEAN_B), (PUSH(B1),))
    learned = learn_operators([nothing, purposeless])
    assert learned.idle_steps == {(0, 0), (1, 0)}
    for data, examples in zip(learned.data, learned.sampler_data, strict=True):
        assert examples == data


def test_the_first_of_two_equal_steps_is_an_example_for_samplers():
    assert sampler_steps(ONCE, TWICE) == [(0, 0), (1, 0)]
