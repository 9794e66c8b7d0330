"""Two methods compared on the very same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needful.evaluation.records import RunRecord
from needful.reports.methods import OURS
from needful.reports.runs import RunGroup, main_group
from needful.reports.statistics import Interval, bootstrap_interval, mean
from needful.seeding import rng_for


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more often one method solves a task than another, on tasks that both tried.

    Attributes:
        domain: where.
        method, other: which are compared.
        difference: in percentage points, positive if `method` is better, with a 95 % interval.
        seeds, tasks: how many seeds both were run with, and how many tasks in all.
        wins, losses: tasks that only `method` solved, and that only `other` solved.
    """

    domain: str
    method: str
    other: str
    difference: Interval
    seeds: int
    tasks: int
    wins: int
    losses: int


def compare(one: RunGroup, other: RunGroup) -> Comparison | None:
    """Compare two groups of one domain; None if no task was tried by both.

    All tasks of a seed are solved with the model learned from it, so they are no independent trials:
    whole seeds are resampled.
    """
    mine, theirs = _by_seed(one), _by_seed(other)
    pairs: dict[int, list[tuple[bool, bool]]] = {}
    for seed in sorted(mine.keys() & theirs.keys()):
        shared = sorted(mine[seed].keys() & theirs[seed].keys())
        if shared:
            pairs[seed] = [(mine[seed][task].solved, theirs[seed][task].solved) for task in shared]
    if not pairs:
        return None
    differences = [100.0 * mean([float(a) - float(b) for a, b in tasks]) for tasks in pairs.values()]
    rng = rng_for(0, "comparison", one.domain, one.method, other.method)
    every = [pair for tasks in pairs.values() for pair in tasks]
    return Comparison(
        one.domain,
        one.method,
        other.method,
        bootstrap_interval(differences, rng),
        seeds=len(pairs),
        tasks=len(every),
        wins=every.count((True, False)),
        losses=every.count((False, True)),
    )


def _by_seed(group: RunGroup) -> dict[int, dict[int, RunRecord]]:
    return {run.job.seed: {record.task: record for record in run.records} for run in group.runs}


def compare_with_ours(groups: Sequence[RunGroup]) -> tuple[Comparison, ...]:
    """Compare `necessary` with every other method of its domain; `groups` are those of a report."""
    found = []
    for other in groups:
        ours = main_group(groups, other.domain, OURS)
        if ours is not None and other.method != OURS:
            found.append(compare(ours, other))
    return tuple(one for one in found if one is not None)
