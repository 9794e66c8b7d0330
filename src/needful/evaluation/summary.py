"""The content of summary.json, made from what was learned and from records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from needful.core.plans import Outcome
from needful.evaluation.learning import LearnedModel
from needful.evaluation.records import RunRecord


def learning_summary(learned: LearnedModel, learner: str, seed: int, demos: int) -> dict[str, Any]:
    """Return what there is to say of a model before any task was tried."""
    return {
        "learner": learner,
        "seed": seed,
        "demos": demos,
        "transitions": learned.operators.transitions,
        "operators": len(learned.operators.operators),
        "coverage": learned.operators.coverage,
        "seconds": dict(learned.seconds),
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
