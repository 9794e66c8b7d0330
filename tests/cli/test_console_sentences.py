"""Descriptions of plans, failures and evaluations."""

from __future__ import annotations

from dataclasses import replace

import pytest

import toy_world
from command_line import COLOUR
from needful.cli.console import describe_evaluation, describe_failure, describe_plan
from needful.core.controllers import Execution
from needful.core.model import ConstantSampler
from needful.core.plans import IgnoredPrecondition, Outcome, PlanningResult, SearchStatistics
from needful.evaluation.records import evaluation_summary
from needful.planning.bilevel import PlanningConfig, plan

MODEL = toy_world.model(ConstantSampler((0.0,)))


def test_solved_plan_is_described_step_by_step() -> None:
    result = plan(toy_world.task(), MODEL, toy_world.execute)
    lines = COLOUR.sub("", describe_plan(result)).splitlines()
    assert lines[:7] == [
        "1. MoveTo(robot, ball0)",
        "     MoveTo(robot, ball0; 0)",
        "     + Near(robot, ball0)",
        "2. Grasp(robot, ball0)",
        "     Grasp(robot, ball0)",
        "     + Holding(robot, ball0)",
        "     - HandFree(robot)",
    ]
    assert lines[-2].startswith("Abstract plans: 1, ")
    assert lines[-1] == "Solved."


def test_ignored_preconditions_are_listed() -> None:
    result = plan(toy_world.task(), MODEL, toy_world.execute)
    ignored = IgnoredPrecondition("Grasp", min(toy_world.OPERATORS[1].preconditions))
    lines = COLOUR.sub("", describe_plan(replace(result, ignored=(ignored,)))).splitlines()
    assert lines[-3:] == [
        "There is no plan with all preconditions. This plan ignores:",
        "  HandFree(?r) of Grasp",
        "Solved.",
    ]


def test_failed_plan_is_described_with_step_and_reason() -> None:
    result = plan(
        toy_world.task(),
        MODEL,
        lambda state, action: Execution(state) if action.objects[2:] else toy_world.execute(state, action),
        PlanningConfig(max_abstract_plans=1),
    )
    lines = COLOUR.sub("", describe_plan(result)).splitlines()
    assert lines[7:9] == ["3. Drop(robot, ball0, jar0)", "     failed"]
    assert result.failure is not None
    assert lines[-3] == f"Not solved: {result.failure.detail} (step 3, {result.outcome.value})"
    assert lines[-2].startswith("Cause: Step 3, Drop(robot, ball0, jar0), ran, but Inside(")
    assert lines[-1].startswith("What to do: The operator may lack a precondition.")
    assert "Inside(ball0, jar0)" in lines[-3]
    assert lines[-5:-3] == [
        "Suspected operators, avoided in later plans:",
        "  Drop(robot, ball0, jar0) missed Inside(ball0, jar0) in 10 tries",
    ]


def test_steps_after_the_failed_one_were_not_reached() -> None:
    result = plan(
        toy_world.task(), MODEL, lambda state, _: Execution(state), PlanningConfig(max_abstract_plans=1)
    )
    lines = COLOUR.sub("", describe_plan(result)).splitlines()
    assert lines[:2] == ["1. MoveTo(robot, ball0)", "     failed"]
    assert [line for line in lines if line.startswith("     not")] == ["     not reached"] * 2


def test_reached_limit_is_named() -> None:
    result = PlanningResult(Outcome.OUT_OF_NODES, statistics=SearchStatistics(nodes_created=5))
    assert "limit of search nodes" in describe_failure(result)


@pytest.mark.parametrize(
    ("outcome", "fact"),
    [
        (Outcome.NO_ABSTRACT_PLAN, "no abstract plan"),
        (Outcome.TIMEOUT, "--timeout"),
        (Outcome.OUT_OF_NODES, "limit of ground operators"),
        (Outcome.GOAL_MISSED, "goal_missed"),
    ],
)
def test_failure_descriptions(outcome: Outcome, fact: str) -> None:
    assert fact in describe_failure(PlanningResult(outcome))


def test_only_failures_that_occurred_are_listed() -> None:
    summary = evaluation_summary([])
    summary |= {"tasks": 4, "solved": 3, "success_rate": 0.75, "failures": {"timeout": 0, "goal_missed": 1}}
    summary["seconds"] = {"planning_mean": 0.25}
    solved, failed = describe_evaluation(summary).splitlines()
    assert solved.startswith("Solved 3/4 unseen tasks (75.0%)")
    assert "0.25 s per task" in solved
    assert failed.strip() == "1 failed: goal missed"
