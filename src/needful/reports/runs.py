"""Groups of runs that differ only in their seed, and the numbers that reports take from runs.

Summaries of runs are read from files, so any of their entries may be missing or have the wrong type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from needful.core.plans import Outcome
from needful.evaluation.records import RunRecord
from needful.paper.experiments import PAPER
from needful.paper.published import POLICIES, in_column_order, in_paper_order, method_of, protocol_of
from needful.planning.planners import DEFAULT_PLANNER
from needful.sweeps.jobs import Job, JobResult

# In a run's summary, `seconds` has times by name. The times with these names are not learning time.
_OTHER_SECONDS = frozenset({"collect", "validation", "planning_mean", "planning_p90"})


@dataclass(frozen=True, slots=True)
class RunGroup:
    """The runs of one method on one domain that differ only in their seed.

    Attributes:
        domain, method: the domain and the method of all runs.
        setting: the settings that all runs have in common. Its seed is 0, whatever the seeds of the runs.
        runs: the runs that ended without an error, including those whose learner ran out of time.
        errors: the number of runs that ended with an error.
        sources: the digest of the code of all runs; empty if the runs have none.
    """

    domain: str
    method: str
    setting: Job
    runs: tuple[JobResult, ...]
    errors: int = 0
    sources: str = ""

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of all tasks of all runs."""
        return tuple(record for run in self.runs for record in run.records)

    @property
    def learned(self) -> tuple[JobResult, ...]:
        """The runs whose learner finished in time."""
        return tuple(run for run in self.runs if was_learned(run))

    @property
    def tasks(self) -> int:
        """The number of tasks per run; if the runs have different numbers, the smallest."""
        return min((len(run.records) for run in self.runs), default=0)


def was_learned(run: JobResult) -> bool:
    """Return whether the learner of a run finished in time, so that the run had a model."""
    return all(record.outcome != Outcome.NOT_LEARNED.value for record in run.records)


def group_runs(results: Iterable[JobResult]) -> tuple[RunGroup, ...]:
    """Group the results that differ only in their seed; results of different code are never in one group.

    Groups are sorted by domain and by method, both in the order of the paper, and then by other settings.
    """
    by_setting: dict[tuple[Job, str], list[JobResult]] = {}
    for result in results:
        by_setting.setdefault((replace(result.job, seed=0), result.sources), []).append(result)
    domains = in_paper_order(setting.domain for setting, _ in by_setting)
    methods = in_column_order(method_of(setting) for setting, _ in by_setting)

    def sort_key(key: tuple[Job, str]) -> tuple[int, int, str, str]:
        setting, sources = key
        place = domains.index(setting.domain), methods.index(method_of(setting))
        return (*place, _order_text(setting), sources)

    return tuple(_group(*key, by_setting[key]) for key in sorted(by_setting, key=sort_key))


def _order_text(setting: Job) -> str:
    """Return a sort key for jobs of one domain and method.

    Jobs are sorted by number of demonstrations, then by number of tasks, limits and planner.
    """
    numbers = (
        setting.demos,
        setting.tasks,
        setting.timeout,
        setting.abstract_plans,
        setting.learning_timeout or 0.0,
        setting.samples_per_step,
        setting.horizon or 0,
    )
    names = (setting.planner, setting.preset, setting.samplers)
    flags = (setting.oracle_samplers, setting.adaptive, setting.cpu_time)
    return " ".join([*(f"{number:020.6f}" for number in numbers), *names, *map(str, flags)])


def _group(setting: Job, sources: str, results: Sequence[JobResult]) -> RunGroup:
    ended = sorted((result for result in results if result.error is None), key=lambda run: run.job.seed)
    errors = len(results) - len(ended)
    return RunGroup(setting.domain, method_of(setting), setting, tuple(ended), errors, sources)


def main_group(groups: Iterable[RunGroup], domain: str, method: str) -> RunGroup | None:
    """Return the group of runs that reports show for a method on a domain; None if there is no group.

    If there are several groups, they are compared by these criteria, the most important one first. A group
    is preferred if it:

    - has a run that ended without an error,
    - has the paper's number of demonstrations,
    - uses the preset `paper` or the default planner,
    - has a known digest of its code,
    - has more demonstrations,
    - has more tasks over all seeds,
    - has a longer time limit for planning.
    """
    protocol = protocol_of(domain)
    paper_demos = protocol.demos if protocol else None
    candidates = [group for group in groups if (group.domain, group.method) == (domain, method)]
    return max(candidates, key=lambda group: _rank(group, paper_demos), default=None)


def _rank(group: RunGroup, paper_demos: int | None) -> tuple[bool, bool, bool, bool, int, int, float, str]:
    setting = group.setting
    return (
        bool(group.runs),
        setting.demos == paper_demos,
        setting.preset == PAPER or setting.planner == DEFAULT_PLANNER,
        bool(group.sources),
        setting.demos,
        len(group.records),
        setting.timeout,
        _order_text(setting),
    )


def main_groups(groups: Sequence[RunGroup]) -> tuple[RunGroup, ...]:
    """Return the groups that `main_group` chooses: one per method and domain, in the order of `groups`."""
    return tuple(group for group in groups if main_group(groups, group.domain, group.method) is group)


def with_preset(groups: Iterable[RunGroup]) -> tuple[RunGroup, ...]:
    """Return the groups with the preset `paper` (see `paper_preset`), and those of learned policies.

    Policies use neither operators nor samplers, so there is no preset for them.
    """
    return tuple(group for group in groups if group.setting.preset or group.method in POLICIES)


def without_preset(groups: Iterable[RunGroup]) -> tuple[RunGroup, ...]:
    """Return the groups without the preset `paper`; they use the default settings of this package."""
    return tuple(group for group in groups if not group.setting.preset)


def success_percentages(runs: Iterable[JobResult]) -> tuple[float, ...]:
    """Return the percentage of solved tasks for each run; runs without tasks are omitted."""
    return tuple(
        100.0 * sum(record.solved for record in run.records) / len(run.records)
        for run in runs
        if run.records
    )


def learning_seconds(run: JobResult) -> float | None:
    """Return the learning time of a run over all stages; None if the run's summary does not have it."""
    seconds = run.summary.get("seconds")
    if not isinstance(seconds, Mapping):
        return None
    spent = [value for name, value in sorted(seconds.items()) if name not in _OTHER_SECONDS]
    numbers = [float(value) for value in spent if isinstance(value, int | float)]
    return sum(numbers) if numbers and len(numbers) == len(spent) else None


def operator_count(run: JobResult) -> float | None:
    """Return the number of operators that a run learned; None if the run's summary does not have it."""
    count = run.summary.get("operators")
    return float(count) if isinstance(count, int) else None


def summary_fault(run: JobResult) -> str | None:
    """Return a description of the first problem in a run's summary; None if the summary is correct.

    Problems are missing numbers, and a count of solved tasks that differs from the task records.
    """
    if learning_seconds(run) is None:
        return "the summary has no learning time"
    if operator_count(run) is None:
        return "the summary has no number of operators"
    solved = sum(record.solved for record in run.records)
    if run.summary.get("solved") != solved:
        return f"the summary counts {run.summary.get('solved')} solved tasks, the records {solved}"
    return None
