"""The four tables of the paper and the one about KinDER, filled with the results of our runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from needful.paper import kinder
from needful.paper.experiments import PAPER
from needful.paper.published import (
    ABLATION_SUCCESS,
    ABLATIONS,
    DOWN_EVAL,
    GNN,
    LEARNERS,
    LEARNING_SECONDS,
    OPERATOR_LEARNERS,
    OPERATORS,
    OURS,
    POLICIES,
    SUCCESS,
    Estimate,
    PublishedTable,
    domain_title,
    in_column_order,
    in_paper_order,
    method_style,
    protocol_of,
)
from needful.planning.planners import DEFAULT_PLANNER
from needful.reports.runs import (
    RunGroup,
    learning_seconds,
    main_group,
    operator_count,
    success_percentages,
    with_preset,
    without_preset,
)
from needful.reports.statistics import (
    estimate,
    intervals_overlap,
    mark_best,
    mean,
    standard_deviation,
    standard_error,
    success_interval,
    within_spread_of_best,
)
from needful.reports.table import Cell, Row, Table, one_decimal, three_digits
from needful.sweeps.jobs import JobResult

# A function that takes the best estimate of a row and another estimate. It returns whether the other one is
# close enough to the best to be printed in bold, too.
BoldRule: TypeAlias = Callable[[Estimate, Estimate], bool]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        label: the heading.
        published: the name of the column in the published table.
        methods: names of methods. For each domain, the column shows the first of them that has runs.
    """

    label: str
    published: str
    methods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableSpec:
    """The definition of a table.

    Attributes:
        title, caption: the texts for readers.
        columns: the columns of the table in the paper.
        published: the numbers in the paper.
        values: a function that returns the numbers to summarize in a cell, at most one per run of a group.
        spread: a function that computes the standard deviation or standard error of these numbers.
        text: a function that formats a number.
        higher_is_better: whether larger numbers are better.
        bold: decides which entries are close enough to the best to be bold. None for no bold entries.
        include_unknown: whether methods that are not in the paper get a column.
        about_tasks: whether the numbers depend on the number of tasks per run. If so, notes about sample
            sizes include this number, such as "n = 10 × 50" for 10 seeds with 50 tasks each.
        notes: a function that returns the notes of a cell. If None, the notes are the differences from the
            paper's experiments.
    """

    title: str
    caption: str
    columns: tuple[Column, ...]
    published: PublishedTable
    values: Callable[[RunGroup], Sequence[float]]
    spread: Callable[[Sequence[float]], float]
    text: Callable[[float], str]
    higher_is_better: bool = True
    bold: BoldRule | None = None
    include_unknown: bool = True
    about_tasks: bool = False
    notes: Callable[[RunGroup], tuple[str, ...]] | None = None


def _columns(*methods: str) -> tuple[Column, ...]:
    return tuple(Column(method_style(method).label, method, (method,)) for method in methods)


def _known(value: Callable[[JobResult], float | None], runs: Sequence[JobResult]) -> list[float]:
    return [found for found in map(value, runs) if found is not None]


# Two kinds of tables: success rates, and costs of learning, for which smaller numbers are better.
_success_table = partial(
    TableSpec, values=lambda group: success_percentages(group.runs), text=one_decimal, about_tasks=True
)
_cost_table = partial(
    TableSpec, spread=standard_deviation, higher_is_better=False, bold=within_spread_of_best
)

TABLES: Mapping[str, TableSpec] = MappingProxyType(
    {
        "main": _success_table(
            title="Success on unseen tasks",
            caption=(
                "Percentage of tasks solved: mean over seeds, standard error in brackets, "
                "95 % interval in square brackets. "
                "Bold: differs from the best by at most the sum of both standard errors; single seeds are "
                "not compared. "
                "A run whose learner ran out of time solves no task."
            ),
            columns=_columns(*LEARNERS),
            published=SUCCESS,
            spread=standard_error,
            bold=intervals_overlap,
        ),
        "times": _cost_table(
            title="Learning times",
            caption=(
                "Seconds of learning: mean over seeds, standard deviation in brackets. "
                "Bold: within one standard deviation of the shortest. "
                "A run whose learner ran out of time counts with its time limit. "
                "The paper used another machine."
            ),
            columns=(*_columns(*OPERATOR_LEARNERS), Column("GNN", GNN, POLICIES)),
            published=LEARNING_SECONDS,
            values=lambda group: _known(learning_seconds, group.runs),
            text=three_digits,
        ),
        "operators": _cost_table(
            title="Operators learned",
            caption=(
                "Number of operators: mean over seeds, standard deviation in brackets. "
                "Bold: within one standard deviation of the fewest. "
                "Runs whose learner ran out of time are left out."
            ),
            columns=_columns(*OPERATOR_LEARNERS),
            published=OPERATORS,
            values=lambda group: () if group.method in POLICIES else _known(operator_count, group.learned),
            text=one_decimal,
        ),
        "ablations": _success_table(
            title="Ablations",
            caption=(
                "Percentage of tasks solved without deleting superfluous operators (No complexity) or with "
                "one abstract plan per task (Down Eval): mean over seeds, standard deviation in brackets, "
                "95 % interval in square brackets."
            ),
            columns=_columns(OURS, *ABLATIONS),
            published=ABLATION_SUCCESS,
            spread=standard_deviation,
            include_unknown=False,
        ),
    }
)


def _costs(group: RunGroup) -> tuple[str, ...]:
    """Return the notes of a KinDER cell: sample size, CPU seconds per task, low-level actions per plan."""
    notes = [f"n = {len(group.runs)} × {group.tasks}"]
    if group.errors:
        notes.append(f"{group.errors} with errors")
    if group.records:
        seconds = [record.seconds["total"] for record in group.records]
        notes.append(f"{mean(seconds):.2f} s (max {max(seconds):.1f})")
    actions = [run.summary.get(kinder.LOW_LEVEL_ACTIONS) for run in group.runs]
    known = [float(count) for count in actions if isinstance(count, int | float)]
    return (*notes, f"{mean(known):.0f} actions") if known else tuple(notes)


KINDER = _success_table(
    title="Success on KinDER's 2D environments",
    caption=(
        "Percentage of tasks solved: mean over training seeds, standard error in brackets, 95 % interval "
        "in square brackets; CPU seconds of planning per task; low-level actions per plan. "
        "All methods use the same skills, predicates and test tasks. Hand-written: operators and samplers "
        "written by hand, needful's planner. SeSamE: the planner of the package bilevel-planning with the "
        "hand-written operators and samplers, and 10 (its default) or 1,000 abstract plans. "
        "Bold: differs from the best by at most the sum of both standard errors."
    ),
    columns=(
        Column("Learned", "", (OURS,)),
        Column("Hand-written", "", (kinder.HAND_WRITTEN,)),
        *(
            Column(f"SeSamE, {plans:,} plans", "", (name,))
            for plans, name in kinder.PUBLISHED_PLANS.items()
        ),
    ),
    published={},
    spread=standard_error,
    notes=_costs,
)


def kinder_table(groups: Sequence[RunGroup]) -> Table:
    """Return the table of the comparison on KinDER; a learner that is not in `KINDER` gets a new column."""
    domains = dict.fromkeys((*kinder.DOMAINS, *(group.domain for group in groups)))
    return _filled(kinder.KINDER, KINDER, tuple(domains), groups)


AS_PUBLISHED = (
    "as published",
    "All operator learners use the preset `paper`: the samplers and the planner of the paper, and for "
    "Necessary its learner. The GNN policies use none of these, so both tables show the same runs.",
)
WITH_NEEDFUL = (
    "with needful's learner and planner",
    "All operator learners use the samplers and the planner of this package; Necessary is its learner.",
)


def fill_tables(name: str, groups: Sequence[RunGroup]) -> tuple[Table, ...]:
    """Return the table `name` of `TABLES` twice: as published, and with needful's learner and planner.

    The first table is omitted if there are no runs with the preset `paper`.
    """
    needful = _headed(fill_table(name, without_preset(groups)), *WITH_NEEDFUL)
    if not any(group.setting.preset for group in groups):
        return (needful,)
    published = _headed(fill_table(name, with_preset(groups)), *AS_PUBLISHED)
    return replace(published, name=f"{name}_as_published"), needful


def _headed(table: Table, title: str, explanation: str) -> Table:
    # Insert the explanation after the first sentence of the caption. The first sentence must stay the one
    # that describes the numbers, because a terminal shows no other.
    numbers, _, rest = table.caption.partition(". ")
    sentences = filter(None, (numbers.removesuffix(".") + ".", explanation, rest))
    return replace(table, title=f"{table.title}: {title}", caption=" ".join(sentences))


def fill_table(name: str, groups: Sequence[RunGroup]) -> Table:
    """Return the table `name` of `TABLES`, filled with the results of the given groups of runs.

    The table has one row per domain in `groups`. Rows without any number are omitted.
    """
    return _filled(name, TABLES[name], in_paper_order(group.domain for group in groups), groups)


def _filled(name: str, spec: TableSpec, domains: Sequence[str], groups: Sequence[RunGroup]) -> Table:
    columns = spec.columns + (_unknown_columns(spec, groups) if spec.include_unknown else ())
    rows = [_row(spec, columns, domain, groups) for domain in domains]
    return Table(
        name,
        spec.title,
        " ".join([spec.caption, *_learning_limits(columns, domains, groups)]),
        tuple(column.label for column in columns),
        tuple(row for row in rows if any(cell.measured or cell.published for cell in row.cells)),
        spec.text,
    )


def _learning_limits(
    columns: Sequence[Column], domains: Sequence[str], groups: Sequence[RunGroup]
) -> Iterator[str]:
    """Yield one caption sentence per limit on learning time: the limit, and the columns that it applies to.

    Readers need these sentences because the paper did not limit learning time.
    """
    limited: dict[float, list[str]] = {}
    for column in columns:
        shown = filter(None, (_shown_group(column, domain, groups) for domain in domains))
        for limit in {group.setting.learning_timeout for group in shown} - {None}:
            assert limit is not None
            limited.setdefault(limit, []).append(column.label)
    for limit, labels in sorted(limited.items()):
        yield f"Learning was limited to {limit:g} s for {', '.join(labels)}."


def _unknown_columns(spec: TableSpec, groups: Sequence[RunGroup]) -> tuple[Column, ...]:
    known = {method for column in spec.columns for method in column.methods} | {*ABLATIONS}
    unknown = (group for group in groups if group.method not in known)
    return _columns(*in_column_order(group.method for group in unknown if spec.values(group)))


def _row(spec: TableSpec, columns: Sequence[Column], domain: str, groups: Sequence[RunGroup]) -> Row:
    cells = [_cell(spec, column, domain, groups) for column in columns]
    if spec.bold is not None:
        exclude_single = any(
            cell.measured is not None and cell.measured.spread is not None for cell in cells
        )
        comparable = [_comparable(spec, cell, exclude_single) for cell in cells]
        best = mark_best(comparable, spec.higher_is_better, spec.bold)
        cells = [replace(cell, best=bold) for cell, bold in zip(cells, best, strict=True)]
    return Row(domain, domain_title(domain), tuple(cells))


def _comparable(spec: TableSpec, cell: Cell, exclude_single: bool) -> Estimate | None:
    """Return the estimate of a cell, or None if the cell must not be compared with others in its row.

    A cell is not comparable if smaller values are better and the learner ran out of time in some runs: its
    value may be small only because learning was stopped. With `exclude_single`, cells of a single seed are
    not comparable either, because their spread is unknown.
    """
    if exclude_single and cell.measured is not None and cell.measured.spread is None:
        return None
    return cell.measured if spec.higher_is_better or not cell.unlearned else None


def _cell(spec: TableSpec, column: Column, domain: str, groups: Sequence[RunGroup]) -> Cell:
    published = spec.published.get(domain, {}).get(column.published)
    group = _shown_group(column, domain, groups)
    if group is None:
        return Cell(None, published)
    found = estimate(spec.values(group), spec.spread)
    unlearned = len(group.runs) - len(group.learned)
    notes = spec.notes(group) if spec.notes else _notes(spec, group, found)
    interval = _success_interval(group) if spec.about_tasks else None
    return Cell(
        found,
        published,
        group.tasks,
        unlearned,
        notes=notes,
        setting=group.setting,
        interval=interval,
        sources=group.sources,
    )


def _success_interval(group: RunGroup) -> tuple[float, float] | None:
    runs = [run for run in group.runs if run.records]
    if not runs:
        return None
    solved = [sum(record.solved for record in run.records) for run in runs]
    return success_interval(solved, [len(run.records) for run in runs])


def _shown_group(column: Column, domain: str, groups: Sequence[RunGroup]) -> RunGroup | None:
    found = (main_group(groups, domain, method) for method in column.methods)
    return next((group for group in found if group is not None), None)


def _notes(spec: TableSpec, group: RunGroup, found: Estimate | None) -> tuple[str, ...]:
    """Return short notes for a cell, such as "20 demos" or "1 error".

    The notes name differences from the experiments of the paper. They also give the numbers of runs with
    errors and of runs without a learned model.
    """
    notes = []
    protocol = protocol_of(group.domain)
    if found is not None:
        few_tasks = spec.about_tasks and (protocol is None or group.tasks < protocol.tasks)
        if few_tasks or protocol is None or found.count < protocol.seeds:
            notes.append(f"n = {found.count}" + (f" × {group.tasks}" if spec.about_tasks else ""))
        if protocol is None or group.setting.demos != protocol.demos:
            notes.append(f"{group.setting.demos} demos")
        if not group.setting.preset and group.setting.planner != DEFAULT_PLANNER:
            notes.append(f"planner {group.setting.planner}")
        if group.setting.preset not in ("", PAPER) and group.method != DOWN_EVAL:
            notes.append(f"preset {group.setting.preset}")
    unlearned = len(group.runs) - len(group.learned)
    if unlearned:
        notes.append(f"{unlearned} of {len(group.runs)} not learned")
    if group.errors:
        notes.append("1 error" if group.errors == 1 else f"{group.errors} errors")
    return tuple(notes)
