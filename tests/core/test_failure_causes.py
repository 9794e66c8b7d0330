"""The cause of a failure, and advice that fits it."""

from __future__ import annotations

from dataclasses import replace

import toy_world
from needful.core.failure_causes import FailureCause, explain_failure
from needful.core.plans import Draw, Failure, Outcome, PlanningResult, Suspect

TASK = toy_world.task(balls=3, goal_balls=1)
NAMED = {obj.name: obj for obj in TASK.objects}
ROBOT, BALL = NAMED["robot"], NAMED["ball0"]
MOVE, GRASP, _, _ = toy_world.OPERATORS
HOLDING, FREE, NEAR = (
    toy_world.HOLDING(ROBOT, BALL),
    toy_world.HAND_FREE(ROBOT),
    toy_world.NEAR(ROBOT, BALL),
)


def missed(*atoms, parameters=()) -> Draw:
    return Draw(parameters, Outcome.SUBGOAL_MISSED, atoms, state=TASK.initial_state)


def cause(
    *draws: Draw, operator=GRASP, outcome=Outcome.SUBGOAL_MISSED, suspects=(), detail=""
) -> FailureCause:
    failure = Failure(1, operator.ground([ROBOT, BALL]), outcome, (), detail, draws)
    found = explain_failure(PlanningResult(outcome, failure=failure, suspects=suspects))
    assert found is not None
    return found


def test_a_solved_task_has_no_cause() -> None:
    assert explain_failure(PlanningResult(Outcome.SOLVED)) is None


def test_each_outcome_without_an_attempt_has_a_cause() -> None:
    for outcome in Outcome:
        found = explain_failure(PlanningResult(outcome))
        assert (found is None) == (outcome is Outcome.SOLVED)
        assert found is None or found.cause.endswith(".")


def test_the_operator_is_suspect_if_several_groundings_miss_the_same_effect() -> None:
    balls = [NAMED[f"ball{number}"] for number in range(3)]
    suspects = tuple(
        Suspect(GRASP.ground([ROBOT, ball]), (toy_world.HOLDING(ROBOT, ball),), 4) for ball in balls
    )
    found = cause(missed(HOLDING), suspects=suspects)
    assert found.cause == (
        "Operator Grasp predicts Holding(?r, ?b), but it did not hold after any of 12 tries with 3 choices "
        "of objects."
    )
    assert found.advice.startswith("The operator is suspect, not the parameters")
    assert "suspect" not in cause(missed(HOLDING), suspects=suspects[:1]).advice
    # An atom that the operator does not predict says nothing about its effects.
    lost = tuple(replace(one, missing=(FREE,)) for one in suspects)
    assert "suspect" not in cause(missed(FREE), suspects=lost).advice


def test_a_missed_effect_and_a_destroyed_atom_are_told_apart() -> None:
    assert "ran, but Holding(robot, ball0) did not hold after its only try" in cause(missed(HOLDING)).cause
    found = cause(missed(NEAR), missed(NEAR, HOLDING))
    assert (
        "destroyed Near(robot, ball0), which the rest of the plan needs, in each of 2 tries" in found.cause
    )


def test_draws_that_miss_different_atoms_blame_the_sampler() -> None:
    found = cause(missed(NEAR), missed(HOLDING), Draw((1.0,), Outcome.NOT_INITIABLE), operator=MOVE)
    assert (
        "missed different atoms, at least 1 each time (the controller could not start with 1 of the draws)"
        in found.cause
    )
    assert found.advice.startswith("The sampler is too imprecise")


def test_only_draws_with_which_the_controller_could_not_start_are_counted_as_such() -> None:
    slipped = Draw((1.0,), Outcome.CONTROLLER_FAILED, reason="It slipped.")
    rejected = Draw((1.0,), Outcome.NOT_INITIABLE)
    found = cause(missed(NEAR), missed(HOLDING), slipped, rejected, operator=MOVE)
    assert "(the controller could not start with 1 of the draws)" in found.cause
    assert "could not start" not in cause(missed(NEAR), missed(HOLDING), slipped, operator=MOVE).cause


def test_rejected_draws_that_are_not_listed_are_counted() -> None:
    draws = tuple(Draw((float(number),), Outcome.NOT_INITIABLE) for number in range(3))
    failure = Failure(1, MOVE.ground([ROBOT, BALL]), Outcome.NOT_INITIABLE, (), "", draws, unlisted=900)
    found = explain_failure(PlanningResult(Outcome.NOT_INITIABLE, failure=failure))
    assert found is not None
    assert "all of 903 draws were rejected; the first 3 are shown." in found.cause
    failure = replace(failure, draws=(missed(NEAR), missed(HOLDING), *draws))
    found = explain_failure(PlanningResult(Outcome.SUBGOAL_MISSED, failure=failure))
    assert found is not None
    assert "(the controller could not start with 903 of the draws; the first 3 are shown)" in found.cause


def test_rejected_draws_name_the_reason() -> None:
    detail = "The controller of MoveTo(robot, ball0) cannot start with any: too far, occupied."
    draws = [Draw((float(number),), Outcome.NOT_INITIABLE) for number in range(3)]
    found = cause(*draws, operator=MOVE, outcome=Outcome.NOT_INITIABLE, detail=detail)
    assert "all of 3 draws were rejected (too far, occupied)." in found.cause


def test_other_failures_repeat_the_detail() -> None:
    draw = Draw((), Outcome.CONTROLLER_FAILED, reason="It slipped.")
    assert (
        "Step 2: It slipped." in cause(draw, outcome=Outcome.CONTROLLER_FAILED, detail="It slipped.").cause
    )
    assert cause(outcome=Outcome.HORIZON_EXCEEDED).advice == "Increase the horizon."
