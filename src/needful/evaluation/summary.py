"""The content of summary.json, made from what was learned and from records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from needful.core.demonstrations import Demonstration
from needful.core.plans import Outcome
from needful.evaluation.learning import LearnedModel
from needful.evaluation.policy_learning import LearnedPolicy
from needful.evaluation.records import RunRecord


def learning_summary(
    learned: LearnedModel | LearnedPolicy, learner: str, seed: int, demos: int
) -> dict[str, Any]:
    """Return what there is to say of a model or a policy before any task was tried.

    A policy has no operators, so they cover nothing.
    """
    if isinstance(learned, LearnedPolicy):
        transitions, operators, coverage = learned.transitions, 0, 0.0
    else:
        found = learned.operators
        transitions, operators, coverage = found.transitions, len(found.operators), found.coverage
    return {
        "learner": learner,
        "seed": seed,
        "demos": demos,
        "transitions": transitions,
        "operators": operators,
        "coverage": coverage,
        "seconds": dict(learned.seconds),
    }


def not_learned_summary(
    demonstrations: Sequence[Demonstration], learner: str, seed: int, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return what there is to say if learning did not end in time: what it spent until then."""
    return {
        "learner": learner,
        "seed": seed,
        "demos": len(demonstrations),
        "transitions": sum(map(len, demonstrations)),
        "operators": 0,
        "coverage": 0.0,
        "seconds": {"operators": 0.0, "samplers": 0.0, **seconds},
    }


def evaluation_summary(records: Sequence[RunRecord]) -> dict[str, Any]:
    """Return what there is to say of the tasks that were tried."""
    totals = [record.seconds["total"] for record in records]
    outcomes = [record.outcome for record in records]
    solved = outcomes.count(Outcome.SOLVED.value)
    failures = {Outcome.TIMEOUT.value, *outcomes} - {Outcome.SOLVED.value}
    return {
        "seconds": {
            "planning_mean": _mean(totals),
            "planning_p90": float(np.quantile(totals, 0.9)) if totals else 0.0,
        },
        "tasks": len(records),
        "solved": solved,
        "success_rate": solved / len(records) if records else 0.0,
        "nodes_created_mean": _mean([record.nodes_created for record in records]),
        "nodes_expanded_mean": _mean([record.nodes_expanded for record in records]),
        "failures": {outcome: outcomes.count(outcome) for outcome in sorted(failures)},
    }


def run_summary(
    domain: str, learning: dict[str, Any], collect_seconds: float, evaluation: dict[str, Any]
) -> dict[str, Any]:
    """Put the parts of a run's summary together."""
    seconds = {"collect": collect_seconds, **learning["seconds"], **evaluation["seconds"]}
    return {"domain": domain, **learning, **evaluation, "seconds": seconds}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
