"""Compare runs: groups that differ only in their seeds, and pairs of groups on the same tasks.

Runs belong to one group if they have the same domain, learner and settings. Numbers of a group are means
over its seeds with 95 % intervals. Two groups are compared on the tasks that both tried. Tasks are matched
by the digest of their initial state and goal, never by their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from needful.evaluation.records import RunRecord
from needful.reports.page.recorded_run import RecordedRun
from needful.reports.statistics import Interval, mean, student_interval

# Settings of a run that are not in `RunsOfGroup.settings`: `domain` and `learner` are separate fields of
# the group, and `seed` may differ between the runs of a group.
IDENTITY = ("domain", "learner", "seed")
# A page compares at most this many pairs of groups per domain. The groups with the most runs are compared
# first.
MAX_PAIRS = 60
# Of the tasks that only one of two groups solved, at most this many are listed.
MAX_LISTED = 30
# A label names at most this many settings.
MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class RunsOfGroup:
    """The runs with the same domain, learner and settings.

    `runs` has pairs of an index and a run; the index is that of the run in the list of all compared runs.
    """

    domain: str
    learner: str
    settings: Mapping[str, str]
    runs: tuple[tuple[int, RecordedRun], ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the runs, sorted, each once."""
        return tuple(sorted({run.seed for _, run in self.runs}))

    def over_seeds(self, value: Callable[[RecordedRun], float | None], most: float = math.inf) -> Any:
        """Return the mean of a number over seeds with its 95 % interval; None if no run has the number.

        `value` returns the number of a run. If a seed has several runs, their mean is used. The interval is
        cut off at 0 and at `most`, the largest possible number.
        """
        by_seed: dict[int, list[float]] = {}
        for _, run in self.runs:
            found = value(run)
            if found is not None:
                by_seed.setdefault(run.seed, []).append(found)
        values = [mean(by_seed[seed]) for seed in sorted(by_seed)]
        return None if not values else _interval(student_interval(values, 0.0, most), len(values))


def _interval(interval: Interval, seeds: int) -> dict[str, Any]:
    return {**asdict(interval), "seeds": seeds}


def group_by_settings(runs: Sequence[RecordedRun]) -> list[RunsOfGroup]:
    """Group runs by domain, learner and settings, in the order of the first run of each group."""
    found: dict[tuple[Any, ...], list[tuple[int, RecordedRun]]] = {}
    for number, run in enumerate(runs):
        settings = {name: text for name, text in run.settings.items() if name not in IDENTITY}
        found.setdefault((run.domain, run.learner, *sorted(settings.items())), []).append((number, run))
    return [
        RunsOfGroup(domain, learner, dict(settings), tuple(members))
        for (domain, learner, *settings), members in found.items()
    ]


def comparisons(runs: Sequence[RecordedRun]) -> list[dict[str, Any]]:
    """Return one comparison per domain that has several runs, as JSON values; see `compare_groups`."""
    groups = group_by_settings(runs)
    domains = dict.fromkeys(group.domain for group in groups)
    by_domain = [[group for group in groups if group.domain == domain] for domain in domains]
    return [compare_groups(each) for each in by_domain if sum(len(group.runs) for group in each) > 1]


def run_labels(runs: Sequence[RecordedRun]) -> list[str]:
    """Return a label for each run, unique within its domain.

    A label is the name of the learner. If two runs of a domain would have the same label, all labels get
    longer, until they differ: first the seed is added, then the settings that differ. If labels are still
    equal, the name of the run's folder replaces the settings. If even these names are equal, a number is
    added to each label.
    """
    levels = (
        [run.learner for run in runs],
        [f"{run.learner}, seed {run.seed}" for run in runs],
        [f"{label}, seed {run.seed}" for run, label in zip(runs, labels_of_groups(runs), strict=True)],
        [f"{run.learner}, seed {run.seed} ({run.name})" for run in runs],
    )
    labels: list[str] = []
    for labels in levels:
        if len({(run.domain, label) for run, label in zip(runs, labels, strict=True)}) == len(runs):
            return labels
    return [f"{label}, number {number}" for number, label in enumerate(labels, 1)]


def labels_of_groups(runs: Sequence[RecordedRun]) -> list[str]:
    """Return, for each run, the label of its group within its domain."""
    groups = group_by_settings(runs)
    labels = [""] * len(runs)
    for domain in dict.fromkeys(group.domain for group in groups):
        each = [group for group in groups if group.domain == domain]
        for group, label in zip(each, group_labels(each, differing_settings(each)), strict=True):
            for number, _ in group.runs:
                labels[number] = label
    return labels


def compare_groups(groups: Sequence[RunsOfGroup]) -> dict[str, Any]:
    """Return the comparison of all groups of one domain, as JSON values."""
    differing = differing_settings(groups)
    largest = sorted(range(len(groups)), key=lambda number: (-len(groups[number].runs), number))
    pairs = [tuple(sorted(pair)) for pair in combinations(largest, 2)]
    compared = [compare_pair(groups, *pair) for pair in sorted(pairs[:MAX_PAIRS])]
    return {
        "domain": groups[0].domain,
        "groups": [
            _group_numbers(group, label)
            for group, label in zip(groups, group_labels(groups, differing), strict=True)
        ],
        "settings": differing,
        "pairs": [pair for pair in compared if pair is not None],
        "notes": list(_notes(groups, len(pairs))),
    }


def differing_settings(groups: Sequence[RunsOfGroup]) -> dict[str, list[str]]:
    """Return the settings that differ between groups, with one value per group."""
    names = sorted({name for group in groups for name in group.settings})
    values = {name: [group.settings.get(name, "not recorded") for group in groups] for name in names}
    return {name: texts for name, texts in values.items() if len(set(texts)) > 1}


def group_labels(groups: Sequence[RunsOfGroup], differing: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a unique label per group: its learner and some settings.

    These are the settings that differ between the groups of this learner. If more than `MAX_NAMED` settings
    differ, the label has a number instead.
    """
    labels = []
    for number, group in enumerate(groups):
        same = [other for other, each in enumerate(groups) if each.learner == group.learner]
        apart = {
            name: texts[number]
            for name, texts in differing.items()
            if len({texts[other] for other in same}) > 1
        }
        if len(apart) > MAX_NAMED:
            labels.append(f"{group.learner}, settings {same.index(number) + 1}")
        else:
            named = (f"{name.rpartition('.')[2].replace('_', ' ')} {text}" for name, text in apart.items())
            labels.append(", ".join([group.learner, *named]))
    if len(set(labels)) < len(labels):
        return [f"{label}, group {number}" for number, label in enumerate(labels, 1)]
    return labels


def _group_numbers(group: RunsOfGroup, label: str) -> dict[str, Any]:
    records = [record for _, run in group.runs for record in run.records]
    return {
        "label": label,
        "learner": group.learner,
        "runs": [number for number, _ in group.runs],
        "seeds": list(group.seeds),
        "tasks": len(records),
        "solved": sum(record.solved for record in records),
        "success": group.over_seeds(_success, 1.0),
        "operators": group.over_seeds(lambda run: _number(run.summary.get("operators"))),
        "coverage": group.over_seeds(lambda run: _number(run.summary.get("coverage")), 1.0),
        "learning": group.over_seeds(_learning_seconds),
        "planning": group.over_seeds(_per_task(lambda record: record.seconds["total"])),
        "nodes": group.over_seeds(_per_task(lambda record: record.nodes_created)),
    }


def _success(run: RecordedRun) -> float | None:
    return mean([float(record.solved) for record in run.records]) if run.records else None


def _per_task(value: Callable[[RunRecord], float]) -> Callable[[RecordedRun], float | None]:
    """Return a function that takes a run and returns the mean of `value` over the tasks of the run.

    The function returns None if the run has no tasks or if nothing was learned.
    """
    return lambda run: mean(list(map(value, run.records))) if run.records and run.learned else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _learning_seconds(run: RecordedRun) -> float | None:
    stages = run.summary.get("seconds")
    spent = stages if isinstance(stages, Mapping) else {}
    other = ("collect", "validation", "planning_mean", "planning_p90")
    numbers = [_number(value) for name, value in sorted(spent.items()) if name not in other]
    return math.fsum(number for number in numbers if number is not None) if numbers else None


def compare_pair(groups: Sequence[RunsOfGroup], first: int, second: int) -> dict[str, Any] | None:
    """Compare two groups on the tasks that both tried, as JSON values; None if there are no such tasks.

    A group solved a task if more than half of its runs that tried the task solved it. The entry
    `difference` has a mean and its 95 % interval, over one number per seed of the first group: the share of
    this seed's tasks that the first group solved, minus the share that the second group solved. Single
    tasks are not used for the interval, because all tasks of a seed are solved with the same model.
    """
    ours, theirs = _outcomes(groups[first]), _outcomes(groups[second])
    shared = [digest for digest in ours if digest in theirs]
    if not shared:
        return None
    by_seed: dict[int, list[float]] = {}
    listed: dict[tuple[bool, bool], list[dict[str, int]]] = {}
    for digest in shared:
        (seed, solved, where), (_, other, _) = ours[digest], theirs[digest]
        by_seed.setdefault(seed, []).append(float(solved) - float(other))
        listed.setdefault((solved, other), []).append(where)
    differences = [mean(by_seed[seed]) for seed in sorted(by_seed)]
    return {
        "first": first,
        "second": second,
        "shared": len(shared),
        "both": len(listed.get((True, True), ())),
        "onlyFirst": len(listed.get((True, False), ())),
        "onlySecond": len(listed.get((False, True), ())),
        "neither": len(listed.get((False, False), ())),
        "tasksOnlyFirst": listed.get((True, False), [])[:MAX_LISTED],
        "tasksOnlySecond": listed.get((False, True), [])[:MAX_LISTED],
        "difference": _interval(student_interval(differences, -1.0, 1.0), len(differences)),
    }


def _outcomes(group: RunsOfGroup) -> dict[str, tuple[int, bool, dict[str, int]]]:
    """Return a map from the digest of each task to the result of the group on this task.

    A result has three entries: the seed, whether the group solved the task, and where the page shows the
    task. The third entry has the index of the first run that tried the task, and the task's index in it.
    """
    tried: dict[str, list[tuple[int, bool, dict[str, int]]]] = {}
    for number, run in group.runs:
        for record in run.records:
            if record.task_digest:
                entry = (run.seed, record.solved, {"run": number, "task": record.task})
                tried.setdefault(record.task_digest, []).append(entry)
    return {
        digest: (entries[0][0], 2 * sum(solved for _, solved, _ in entries) > len(entries), entries[0][2])
        for digest, entries in tried.items()
    }


def _notes(groups: Sequence[RunsOfGroup], pairs: int) -> Iterable[str]:
    """Yield notes for the reader: tasks or pairs that are not compared, and differences in versions."""
    runs = [run for group in groups for _, run in group.runs]
    if any(not record.task_digest for run in runs for record in run.records):
        yield (
            "Some records do not identify their tasks, because an earlier version wrote them. "
            "Their tasks are not compared one by one."
        )
    if pairs > MAX_PAIRS:
        yield f"Of {pairs} pairs of groups, {MAX_PAIRS} are compared by task: those with the most runs."
    versions: dict[str, set[str]] = {}
    for run in runs:
        for name, version in run.versions.items():
            versions.setdefault(name, set()).add(version)
    for name in sorted(name for name in versions if len(versions[name]) > 1):
        yield f"The runs were made with different versions of {name}: {', '.join(sorted(versions[name]))}."
