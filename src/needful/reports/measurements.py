"""What summaries of runs say about learning; they were written by others, so anything may be missing."""

from __future__ import annotations

from collections.abc import Mapping

from needful.evaluation.job_results import JobResult

# Seconds of a summary that are not spent on learning.
_OTHER_SECONDS = frozenset({"collect", "planning_mean", "planning_p90"})


def learning_seconds(run: JobResult) -> float | None:
    """Return what learning took in all: operators, samplers, and whatever else was learned."""
    seconds = run.summary.get("seconds")
    if not isinstance(seconds, Mapping):
        return None
    spent = [value for name, value in sorted(seconds.items()) if name not in _OTHER_SECONDS]
    numbers = [float(value) for value in spent if isinstance(value, int | float)]
    return sum(numbers) if numbers and len(numbers) == len(spent) else None


def operator_count(run: JobResult) -> float | None:
    """Return the number of operators that were learned."""
    count = run.summary.get("operators")
    return float(count) if isinstance(count, int) else None


def summary_fault(run: JobResult) -> str | None:
    """Return what is wrong with a summary, None if nothing is."""
    if learning_seconds(run) is None:
        return "the summary does not say how long learning took"
    if operator_count(run) is None:
        return "the summary does not say how many operators there are"
    solved = sum(record.solved for record in run.records)
    if run.summary.get("solved") != solved:
        return f"the summary says {run.summary.get('solved')} tasks were solved, the records {solved}"
    return None
