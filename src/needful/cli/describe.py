"""Results in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needful.core.plans import Outcome, PlanningResult
from needful.demos.collect import CollectedDemonstrations
from needful.evaluation.learning import LearnedModel
from needful.evaluation.policy_learning import LearnedPolicy


def describe_skipped(collected: CollectedDemonstrations) -> list[str]:
    """Return a warning for each training task that went without a demonstration."""
    return [
        f"warning: training task {index} went without a demonstration: {outcome.value.replace('_', ' ')}"
        for index, outcome in collected.skipped
    ]


def describe_learned(learned: LearnedModel | LearnedPolicy) -> str:
    """Return the operators and how well they explain the demonstrations; or what a policy is like."""
    if isinstance(learned, LearnedPolicy):
        weights = sum(weight.size for weight in learned.policy.weights.values())
        return (
            f"Trained a policy of {weights} weights on {learned.transitions} transitions "
            f"in {learned.seconds['policy']:.2f} s: {learned.kind.description}.\n"
        )
    operators, seconds = learned.operators, learned.seconds
    covered = operators.transitions - operators.uncovered
    lines = [
        f"Learned {_count(len(operators.operators), 'operator')} in {seconds['operators']:.2f} s: "
        f"coverage {round(operators.coverage, 3)} ({covered} of {operators.transitions} transitions).",
        f"Learned {_count(len(learned.model.samplers), 'sampler')} in {seconds['samplers']:.2f} s.",
    ]
    if operators.noop_names:
        lines.append(
            f"{len(operators.noop_names)} of the operators change nothing; planning does without them."
        )
    if operators.not_reproduced:
        numbers = ", ".join(map(str, operators.not_reproduced))
        lines.append(f"Planning cannot follow the demonstrations {numbers}.")
    if "experiments" in seconds:
        lines.append(
            f"Dropped {len(learned.dropped)} accidental preconditions by experiment "
            f"in {seconds['experiments']:.2f} s."
        )
        lines += [f"  {one.operator} does not need {one.atom}" for one in learned.dropped]
    return "\n".join([*lines, "", *(f"{operator}\n" for operator in learned.model.operators)])


def describe_evaluation(summary: Mapping[str, Any]) -> str:
    """Return how many tasks were solved, how fast, and why the others were not."""
    seconds = summary["seconds"]
    lines = [
        f"Solved {summary['solved']}/{summary['tasks']} unseen tasks ({summary['success_rate']:.1%}), "
        f"planning {1000 * seconds['planning_mean']:.0f} ms a task on average."
    ]
    lines += [
        f"  {count} failed: {outcome.replace('_', ' ')}"
        for outcome, count in summary["failures"].items()
        if count
    ]
    return "\n".join(lines)


def describe_plan(result: PlanningResult) -> str:
    """Return a plan step by step, and the reason where it fails."""
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
        f"{statistics.abstract_plans} abstract plans, {statistics.nodes_expanded} nodes expanded, "
        f"{statistics.samples} samples."
    )
    return "\n".join([*lines, _conclusion(result)])


def _describe_rollout(result: PlanningResult) -> str:
    """Return what a policy did; it has no abstract plan."""
    lines = [f"{number}. {action}" for number, action in enumerate(result.actions, 1)]
    return "\n".join([*lines, f"{result.statistics.samples} samples.", _conclusion(result)])


def _conclusion(result: PlanningResult) -> str:
    return "Solved." if result.solved else f"Not solved: {describe_failure(result)}"


def _count(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def describe_failure(result: PlanningResult) -> str:
    """Return one sentence about why planning failed."""
    if result.failure is not None:
        return f"{result.failure.detail} (step {result.failure.step + 1}, {result.outcome.value})"
    too_many = "search nodes" if result.statistics.nodes_created else "ground operators"
    return {
        Outcome.NO_ABSTRACT_PLAN: "no abstract plan reaches the goal.",
        Outcome.TIMEOUT: "time ran out before an abstract plan was found. Try a larger --timeout.",
        Outcome.OUT_OF_NODES: f"too large: more {too_many} than may be.",
    }.get(result.outcome, result.outcome.value)
