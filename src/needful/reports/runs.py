"""Results sorted into what belongs together: runs that differ in nothing but their seed.

What summaries of runs say about learning; they were written by others, so anything may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from needful.core.plans import Outcome
from needful.evaluation.records import RunRecord
from needful.paper.domains import in_paper_order, protocol_of
from needful.paper.methods import in_column_order, method_of
from needful.planning.planners import DEFAULT_PLANNER
from needful.sweeps.jobs import Job
from needful.sweeps.results import JobResult


@dataclass(frozen=True, slots=True)
class RunGroup:
    """The runs of one method on one domain under one setting, by seed.

    Attributes:
        domain, method: what was run.
        setting: the job of any of the runs, with seed 0.
        runs: those that came to an end, whether or not anything was learned.
        errors: how many others were ended by an error of the program.
    """

    domain: str
    method: str
    setting: Job
    runs: tuple[JobResult, ...]
    errors: int = 0

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of all tasks of all runs."""
        return tuple(record for run in self.runs for record in run.records)

    @property
    def learned(self) -> tuple[JobResult, ...]:
        """The runs whose learner came to an end within its time."""
        return tuple(run for run in self.runs if was_learned(run))

    @property
    def tasks(self) -> int:
        """How many tasks each run tried; the fewest, if they differ."""
        return min((len(run.records) for run in self.runs), default=0)


def was_learned(run: JobResult) -> bool:
    """Return whether there was a model to solve tasks with."""
    return all(record.outcome != Outcome.NOT_LEARNED.value for record in run.records)


def group_runs(results: Iterable[JobResult]) -> tuple[RunGroup, ...]:
    """Return all groups, sorted by domain and method as in the paper, then by setting."""
    by_setting: dict[Job, list[JobResult]] = {}
    for result in results:
        by_setting.setdefault(replace(result.job, seed=0), []).append(result)
    domains = in_paper_order(setting.domain for setting in by_setting)
    methods = in_column_order(map(method_of, by_setting))

    def place(setting: Job) -> tuple[int, int, str]:
        return domains.index(setting.domain), methods.index(method_of(setting)), _order_text(setting)

    return tuple(_group(setting, by_setting[setting]) for setting in sorted(by_setting, key=place))


def _order_text(setting: Job) -> str:
    """Return what sorts settings of one domain and method, numbers by size."""
    limit = setting.learning_timeout or 0.0
    numbers = (setting.demos, setting.tasks, setting.timeout, setting.abstract_plans, limit)
    return " ".join([*(f"{number:020.6f}" for number in numbers), setting.planner])


def _group(setting: Job, results: Sequence[JobResult]) -> RunGroup:
    ended = sorted((one for one in results if one.error is None), key=lambda one: one.job.seed)
    return RunGroup(
        setting.domain, method_of(setting), setting, tuple(ended), errors=len(results) - len(ended)
    )


def main_group(groups: Iterable[RunGroup], domain: str, method: str) -> RunGroup | None:
    """Return the group that stands for a method on a domain, None if there is none.

    Of those with runs it is the one with as many demonstrations as in the paper, then one with the
    default planner, then the one with the most demonstrations, with the most tasks over all seeds, with
    the longest time limit.
    """
    protocol = protocol_of(domain)
    usual = protocol.demos if protocol else None
    fitting = [group for group in groups if (group.domain, group.method) == (domain, method)]
    return max(fitting, key=lambda group: _rank(group, usual), default=None)


def _rank(group: RunGroup, usual_demos: int | None) -> tuple[bool, bool, bool, int, int, float, str]:
    setting = group.setting
    return (
        bool(group.runs),
        setting.demos == usual_demos,
        setting.planner == DEFAULT_PLANNER,
        setting.demos,
        len(group.records),
        setting.timeout,
        _order_text(setting),
    )


def main_groups(groups: Sequence[RunGroup]) -> tuple[RunGroup, ...]:
    """Return the groups that stand for their method and domain, in the order of `groups`."""
    return tuple(group for group in groups if main_group(groups, group.domain, group.method) is group)


def success_percentages(runs: Iterable[JobResult]) -> tuple[float, ...]:
    """Return the percentage of solved tasks of each run that tried any."""
    return tuple(
        100.0 * sum(record.solved for record in run.records) / len(run.records)
        for run in runs
        if run.records
    )


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
