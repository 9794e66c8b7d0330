"""Keyframes of a plan: the end of every step, and evenly spaced moments between."""

from __future__ import annotations

import itertools
from math import dist

import pytest

from needful.envs.household.scene.scene import ROBOT_OBJECT
from needful.envs.household.view.film import plan_keyframes, rooms_shown
from needful.errors import InvalidInputError
from tiny_errand import ERRAND, cut_short, run_errand
from tiny_house import tiny_scene

WORLD, RESULT = run_errand()
GOAL = RESULT.subgoals[-1]


def test_all_moments_are_there_in_order_and_nothing_jumps():
    keyframes = plan_keyframes(WORLD, RESULT.states, RESULT.actions, 10_000)
    assert [keyframe.step for keyframe in keyframes] == sorted(keyframe.step for keyframe in keyframes)
    assert tuple(keyframe.state for keyframe in keyframes if keyframe.last) == RESULT.states
    places = [keyframe.state[ROBOT_OBJECT][:2] for keyframe in keyframes]
    assert max(dist(one, other) for one, other in itertools.pairwise(places)) < 0.2


@pytest.mark.parametrize("max_count", [0, 7, 20, 60])
def test_ends_of_steps_are_kept_and_other_moments_dropped_evenly(max_count):
    every, some = (
        plan_keyframes(WORLD, RESULT.states, RESULT.actions, count) for count in (10_000, max_count)
    )
    assert len(some) <= max(max_count, len(RESULT.states) + 1)
    assert len(some) >= min(max_count, len(every)) * 0.6
    assert tuple(keyframe.state for keyframe in some if keyframe.last) == RESULT.states
    # No gap between kept moments is larger than with even spacing.
    kept = [keyframe.moment for keyframe in some]
    assert [every[moment] for moment in kept] == list(some)
    allowed = -(-len(every) // max(1, max_count - len(RESULT.states)))
    assert max(other - one for one, other in itertools.pairwise(kept)) <= max(1, allowed)


def test_a_failed_plan_is_shown_up_to_the_failure():
    failed = cut_short(RESULT, 2)
    keyframes = plan_keyframes(WORLD, failed.states, failed.actions, 10_000)
    assert keyframes[-1].state == RESULT.states[2]
    assert {keyframe.step for keyframe in keyframes} == {0, 1, 2}
    # Without its action, only the end of the third step is known.
    longer = plan_keyframes(WORLD, RESULT.states[:4], failed.actions, 10_000)
    assert longer[:-1] == keyframes
    assert (longer[-1].step, longer[-1].state, longer[-1].last) == (3, RESULT.states[3], True)
    assert len(plan_keyframes(WORLD, RESULT.states[:1], (), 10)) == 1
    with pytest.raises(InvalidInputError, match="nothing to show"):
        plan_keyframes(WORLD, (), (), 10)


def test_the_rooms_of_the_robot_and_the_goal_are_shown():
    keyframes = plan_keyframes(WORLD, RESULT.states, RESULT.actions, 20)
    assert len(ERRAND) == keyframes[-1].step
    assert rooms_shown(tiny_scene(), keyframes, GOAL) == ("bedroom",)
    # The robot moves to the other room.
    moved = keyframes[-1].state.replace({ROBOT_OBJECT: {"x": 6.0, "y": 2.0}})
    gone = (*keyframes, type(keyframes[0])(6, moved, last=True, moment=10_000))
    assert rooms_shown(tiny_scene(), gone, GOAL) == ("bedroom", "living_room")
