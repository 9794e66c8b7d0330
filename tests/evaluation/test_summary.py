"""Summaries of handmade records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carrying_world import AT, BOX, CUP, GO, HELD, IN, NEAR, PUT, ROBOT, A, B, C, carrying
from needful.approaches.bilevel import learn_model
from needful.cli.console import describe_evaluation
from needful.core.model import Vocabulary
from needful.core.plans import Outcome, PlanningResult, SearchStatistics
from needful.evaluation.records import (
    RunRecord,
    evaluation_summary,
    make_record,
    run_identity,
    run_summary,
)

IDENTITY = run_identity("screws", "necessary", 0)


def made(task: int, outcome: Outcome, seconds: float, nodes: int = 0) -> RunRecord:
    statistics = SearchStatistics(nodes_created=nodes, nodes_expanded=nodes // 2)
    return make_record(IDENTITY, task, PlanningResult(outcome, statistics=statistics), outcome, seconds)


def test_summary_of_ten_tasks() -> None:
    outcomes = [Outcome.SOLVED] * 6 + [Outcome.TIMEOUT] * 2 + [Outcome.GOAL_MISSED, Outcome.SUBGOAL_MISSED]
    records = [made(i, outcome, float(i), nodes=2 * i) for i, outcome in enumerate(outcomes)]
    summary = evaluation_summary(records)
    # The 90th percentile of 0, 1, ..., 9 is 8.1.
    assert summary.pop("seconds") == {"planning_mean": 4.5, "planning_p90": pytest.approx(8.1)}
    assert summary == {
        "tasks": 10,
        "solved": 6,
        "success_rate": 0.6,
        "nodes_created_mean": 9.0,
        "nodes_expanded_mean": 4.5,
        "failures": {"goal_missed": 1, "subgoal_missed": 1, "timeout": 2},
    }
    assert list(summary["failures"]) == sorted(summary["failures"])


def test_tasks_solved_by_ignoring_preconditions_are_counted() -> None:
    ignored = ("Lucky(?b) of Grasp",)
    records = [replace(made(0, Outcome.SOLVED, 1.0), ignored=ignored), made(1, Outcome.SOLVED, 1.0)]
    summary = evaluation_summary(records)
    assert summary["solved_ignoring_preconditions"] == 1
    assert "1 task solved by ignoring a precondition" in describe_evaluation(summary)


def test_summary_of_one_task() -> None:
    summary = evaluation_summary([made(0, Outcome.SOLVED, 2.5)])
    assert summary["seconds"] == {"planning_mean": 2.5, "planning_p90": 2.5}
    assert (summary["success_rate"], summary["failures"]) == (1.0, {"timeout": 0})


def test_summary_without_tasks() -> None:
    assert evaluation_summary([]) == {
        "seconds": {"planning_mean": 0.0, "planning_p90": 0.0},
        "tasks": 0,
        "solved": 0,
        "success_rate": 0.0,
        "nodes_created_mean": 0.0,
        "nodes_expanded_mean": 0.0,
        "failures": {"timeout": 0},
    }


def test_summary_of_a_run_combines_learning_and_evaluation() -> None:
    vocabulary = Vocabulary((ROBOT, CUP, BOX), (NEAR, AT, HELD, IN), (GO, PUT))
    learned = learn_model(vocabulary, [carrying(B, (A, B, C), (A, B))])
    learning = {"learner": "necessary", "seed": 4, "demos": 1, **learned.summary()}
    assert learning.pop("seconds") == learned.seconds
    assert learning == {
        "learner": "necessary",
        "seed": 4,
        "demos": 1,
        "transitions": 2,
        "operators": 2,
        "coverage": 1.0,
        "false_claims": 0,
        "false_claim_share": 0.0,
        "false_claims_validated": None,
        "purposeless_steps": 0,
        "idle_steps": 0,
        "repaired_atoms": 0,
        "validation": {},
        "doubts": [
            {"operator": one.operator, "kind": "few_transitions", "text": one.text}
            for one in learned.doubts.items
        ],
    }
    assert [one.operator for one in learned.doubts.items] == ["Go", "Put"]
    learning["seconds"] = {"operators": 2.0, "samplers": 3.0}
    evaluation = evaluation_summary([made(0, Outcome.SOLVED, 4.0)])
    summary = run_summary("toy", learning, 1.0, evaluation)
    assert summary["seconds"] == {
        "collect": 1.0,
        "operators": 2.0,
        "samplers": 3.0,
        "planning_mean": 4.0,
        "planning_p90": 4.0,
    }
    assert summary == {"domain": "toy", **learning, **evaluation, "seconds": summary["seconds"]}
