"""Describe results in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needful.core.plans import Outcome, PlanningResult
from needful.demos.collect import CollectedDemonstrations


def describe_skipped(collected: CollectedDemonstrations) -> list[str]:
    """Return one warning per training task that could not be demonstrated."""
    return [
        f"warning: training task {index} has no demonstration: {outcome.value.replace('_', ' ')}"
        for index, outcome in collected.skipped
    ]


def describe_evaluation(summary: Mapping[str, Any]) -> str:
    """Return the numbers of solved and failed tasks and the mean planning time."""
    seconds = summary["seconds"]
    lines = [
        f"Solved {summary['solved']}/{summary['tasks']} unseen tasks ({summary['success_rate']:.1%}), "
        f"planning {1000 * seconds['planning_mean']:.0f} ms per task on average."
    ]
    lines += [
        f"  {count} failed: {outcome.replace('_', ' ')}"
        for outcome, count in summary["failures"].items()
        if count
    ]
    return "\n".join(lines)


def describe_plan(result: PlanningResult) -> str:
    """Return the steps of a plan and, if it failed, the reason."""
    if not result.abstract_plan and result.actions:
        return _describe_rollout(result)
    lines = []
    for index, operator in enumerate(result.abstract_plan):
        done = index < len(result.actions)
        call = str(result.actions[index]) if done else "not reached"
        lines.append(f"{index + 1}. {operator}")
        lines.append(f"     {call}")
        subgoal = ", ".join(map(str, sorted(result.subgoals[index + 1])))
        lines.append(f"     then: {subgoal}")
    statistics = result.statistics
    lines.append(
        f"Abstract plans: {statistics.abstract_plans}, expanded nodes: {statistics.nodes_expanded}, "
        f"samples: {statistics.samples}."
    )
    return "\n".join([*lines, _conclusion(result)])


def _describe_rollout(result: PlanningResult) -> str:
    """Return the actions of a policy, which has no abstract plan."""
    lines = [f"{number}. {action}" for number, action in enumerate(result.actions, 1)]
    return "\n".join([*lines, f"Samples: {result.statistics.samples}.", _conclusion(result)])


def _conclusion(result: PlanningResult) -> str:
    return "Solved." if result.solved else f"Not solved: {describe_failure(result)}"


def describe_failure(result: PlanningResult) -> str:
    """Return the reason for a failure in one sentence."""
    if result.failure is not None:
        return f"{result.failure.detail} (step {result.failure.step + 1}, {result.outcome.value})"
    too_many = "search nodes" if result.statistics.nodes_created else "ground operators"
    return {
        Outcome.NO_ABSTRACT_PLAN: "no abstract plan reaches the goal.",
        Outcome.TIMEOUT: "no abstract plan was found within the time limit. Try a larger --timeout.",
        Outcome.OUT_OF_NODES: f"the task is too large: the limit of {too_many} was reached.",
    }.get(result.outcome, result.outcome.value)
