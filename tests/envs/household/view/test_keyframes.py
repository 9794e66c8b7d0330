"""What is shown of a plan: every step to its end, as much between as there is room for, nothing jumps."""

from __future__ import annotations

import itertools
from math import dist

import pytest
from tiny_errand import ERRAND, cut_short, run_errand
from tiny_house import tiny_scene

from needful.core.plans import Outcome, PlanningResult
from needful.envs.household.scene.scene import THE_ROBOT
from needful.envs.household.view.film import footage, rooms_shown
from needful.errors import InvalidInputError

WORLD, RESULT = run_errand()
GOAL = RESULT.subgoals[-1]


def test_all_moments_are_there_in_order_and_nothing_jumps():
    shots = footage(WORLD, RESULT, 10_000)
    assert [shot.step for shot in shots] == sorted(shot.step for shot in shots)
    assert tuple(shot.state for shot in shots if shot.last) == RESULT.states
    places = [shot.state[THE_ROBOT][:2] for shot in shots]
    assert max(dist(one, other) for one, other in itertools.pairwise(places)) < 0.2


@pytest.mark.parametrize("most", [0, 7, 20, 60])
def test_ends_of_steps_are_kept_and_the_others_left_out_evenly(most):
    every, some = footage(WORLD, RESULT, 10_000), footage(WORLD, RESULT, most)
    assert len(some) <= max(most, len(RESULT.states) + 1)
    assert len(some) >= min(most, len(every)) * 0.6
    assert tuple(shot.state for shot in some if shot.last) == RESULT.states
    # Nowhere more is left out between two than evenly done.
    kept = [every.index(shot) for shot in some]
    allowed = -(-len(every) // max(1, most - len(RESULT.states)))
    assert max(other - one for one, other in itertools.pairwise(kept)) <= max(1, allowed)


def test_a_plan_that_failed_is_shown_as_far_as_it_went():
    shots = footage(WORLD, cut_short(RESULT, 2), 10_000)
    assert shots[-1].state == RESULT.states[2]
    assert {shot.step for shot in shots} == {0, 1, 2}
    assert len(footage(WORLD, cut_short(RESULT, 0), 10)) == 1
    with pytest.raises(InvalidInputError, match="nothing to show"):
        footage(WORLD, PlanningResult(Outcome.TIMEOUT), 10)


def test_the_rooms_that_matter_are_those_with_the_robot_and_the_goal():
    shots = footage(WORLD, RESULT, 20)
    assert len(ERRAND) == shots[-1].step
    assert rooms_shown(tiny_scene(), shots, GOAL) == ("bedroom",)
    # The robot goes next door.
    moved = shots[-1].state.replace({THE_ROBOT: {"x": 6.0, "y": 2.0}})
    gone = (*shots, type(shots[0])(6, moved, last=True))
    assert rooms_shown(tiny_scene(), gone, GOAL) == ("bedroom", "living_room")
