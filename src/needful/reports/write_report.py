"""Write a report: what is wrong first, then the tables, then the figures.

What nobody expected: damaged files, errors of the program, and outcomes that should not happen.

A report begins with these, because every number after them may be wrong on their account.

The figures by name. A new one is a file of its own and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from needful.core.plans import Outcome
from needful.errors import UnknownNameError
from needful.paper.methods import method_of
from needful.reports.figures.canvas import Drawing, render_files, report_style
from needful.reports.figures.data_efficiency import draw_data_efficiency
from needful.reports.figures.failures import draw_failures
from needful.reports.figures.nodes_created import draw_nodes_created
from needful.reports.figures.paired_differences import draw_paired_differences
from needful.reports.figures.success_by_objects import draw_success_by_objects
from needful.reports.figures.survival import draw_survival
from needful.reports.paper_tables import TABLES, fill_table
from needful.reports.runs import RunGroup, group_runs, main_groups, summary_fault
from needful.reports.table import Table, as_csv, as_latex, as_markdown, escape_markdown
from needful.storage.atomic import write_bytes, write_text
from needful.sweeps.jobs import Job
from needful.sweeps.results import JobResult, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure: one line about it, what is to be seen, and what draws it (None: nothing to draw)."""

    title: str
    caption: str
    draw: Callable[[Sequence[RunGroup]], Figure | None]


FIGURES: Mapping[str, FigureSpec] = MappingProxyType(
    {
        "data": FigureSpec(
            "Success against demonstrations",
            "Means over seeds with standard errors; faint points are single seeds, stars are published.",
            draw_data_efficiency,
        ),
        "nodes": FigureSpec(
            "Nodes created by abstract search",
            "A point is a task of a seed; violins show the density of solved tasks, bars their median. "
            "Tasks that were not solved stand at the end of the scale with their share.",
            draw_nodes_created,
        ),
        "survival": FigureSpec(
            "Tasks solved within a time",
            "Share of all tasks of all seeds that were solved after so many seconds of planning.",
            draw_survival,
        ),
        "objects": FigureSpec(
            "Success against the number of objects",
            "Tasks of about the same size are taken together; larger points stand for more tasks.",
            draw_success_by_objects,
        ),
        "failures": FigureSpec(
            "What became of the tasks",
            "By stage: learning (black), search (blue), refinement (brown), execution (purple).",
            draw_failures,
        ),
        "comparisons": FigureSpec(
            "Necessary and the others on the same tasks",
            "Mean difference in success over seeds that both were run with, and its 95 % interval by "
            "resampling seeds; hollow: a single seed, so no interval. Right of zero Necessary is better. "
            "At the right: tasks that only Necessary solved : tasks that only the other one solved.",
            draw_paired_differences,
        ),
    }
)


def render_figure(name: str, groups: Sequence[RunGroup]) -> Drawing | None:
    """Return one of `FIGURES` as files, None if the results hold nothing to draw."""
    with report_style():
        figure = FIGURES[name].draw(groups)
        return None if figure is None else render_files(figure)


# A plan that was simulated should work when it is executed. All other failures say why they happened.
UNEXPLAINED = Outcome.GOAL_MISSED.value
MAX_LISTED_TASKS = 5


@dataclass(frozen=True, slots=True)
class Issue:
    """Something to look at before the numbers: where it is, what it is, and all that is known of it."""

    where: str
    what: str
    detail: str = ""


def find_issues(results: Results) -> tuple[Issue, ...]:
    """Return all there is to worry about: damaged files, then errors, then doubtful results."""
    damaged = [Issue(str(file.path), "damaged file", file.reason) for file in results.damaged]
    failed = [
        Issue(_named(result.job), result.complaint, result.error)
        for result in results.results
        if result.error is not None
    ]
    doubtful = [
        doubt for result in results.results if result.error is None for doubt in _suspicious_results(result)
    ]
    return (*damaged, *failed, *doubtful)


def _named(job: Job) -> str:
    return f"{job.domain}, {method_of(job)}, seed {job.seed}, {job.demos} demos ({job.key})"


def _suspicious_results(result: JobResult) -> list[Issue]:
    where, tried = _named(result.job), len(result.records)
    doubts = []
    if tried != result.job.tasks:
        doubts.append(Issue(where, f"{result.job.tasks} tasks were to be tried, there are {tried} records"))
    fault = summary_fault(result)
    if fault is not None:
        doubts.append(Issue(where, fault))
    return [*doubts, *_unexplained(result)]


def _unexplained(result: JobResult) -> Sequence[Issue]:
    found = [record for record in result.records if record.outcome == UNEXPLAINED]
    if not found:
        return ()
    listed = [f"task {record.task}: {record.failure or UNEXPLAINED}" for record in found[:MAX_LISTED_TASKS]]
    if len(found) > MAX_LISTED_TASKS:
        listed.append(f"and {len(found) - MAX_LISTED_TASKS} more")
    what = f"{len(found)} of {len(result.records)} tasks ended with {UNEXPLAINED}"
    return (Issue(_named(result.job), what, "\n".join(listed)),)


REPORT_FILE = "report.md"


def write_report(
    results: Results,
    folder: str | Path,
    tables: Iterable[str] = tuple(TABLES),
    figures: Iterable[str] = tuple(FIGURES),
) -> tuple[Path, ...]:
    """Write report.md, tables/*.md|tex|csv and figures/*.png|svg; return the paths, report.md first.

    Each file is written whole or not at all, and replaces one of an earlier report. Figures that the
    results hold nothing for are left out. The same results give the same bytes.
    """
    tables, figures = tuple(tables), tuple(figures)
    check_names("table", tables, TABLES)
    check_names("figure", figures, FIGURES)
    folder = Path(folder)
    groups = group_runs(results.results)
    filled = [fill_table(name, groups) for name in tables]
    paths = [path for table in filled for path in _write_table(table, folder / "tables")]
    drawn = []
    for name in figures:
        drawing = render_figure(name, groups)
        if drawing is not None:
            drawn.append(name)
            for ending, data in (("png", drawing.png), ("svg", drawing.svg)):
                paths.append(folder / "figures" / f"{name}.{ending}")
                write_bytes(paths[-1], data)
    report = folder / REPORT_FILE
    write_text(report, _report_text(results, groups, filled, drawn))
    return (report, *paths)


def check_names(kind: str, names: Sequence[str], known: Iterable[str]) -> None:
    """Raise with the nearest match if there is no such table or figure."""
    known = tuple(known)
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)


def _write_table(table: Table, folder: Path) -> list[Path]:
    texts = {"md": _table_section(table, level=1), "tex": as_latex(table), "csv": as_csv(table)}
    paths = []
    for ending, text in texts.items():
        paths.append(folder / f"{table.name}.{ending}")
        write_text(paths[-1], text)
    return paths


def _report_text(
    results: Results, groups: Sequence[RunGroup], tables: Sequence[Table], figures: Sequence[str]
) -> str:
    parts = ["# Results\n", *_issue_lines(find_issues(results)), *_scope_lines(groups)]
    for table in tables:
        parts.append(_table_section(table, level=2))
        files = ", ".join(f"[{ending}](tables/{table.name}.{ending})" for ending in ("csv", "tex"))
        parts.append(f"Files: {files}\n")
    for name in figures:
        spec = FIGURES[name]
        parts += [
            f"## {spec.title}\n",
            f"![{spec.title}](figures/{name}.png)\n",
            f"{spec.caption} [svg](figures/{name}.svg)\n",
        ]
    return "\n".join(parts)


def _issue_lines(concerns: Sequence[Issue]) -> list[str]:
    if not concerns:
        return []
    lines = [f"## Look at these first ({len(concerns)})\n"]
    for concern in concerns:
        lines.append(f"- **{escape_markdown(concern.where)}**: {escape_markdown(concern.what)}")
        if concern.detail:
            # Indented by six, text stays a code block of the list entry whatever is in it.
            lines += ["", *(f"      {line}" for line in concern.detail.splitlines()), ""]
    return ["\n".join(lines) + "\n"]


def _scope_lines(groups: Sequence[RunGroup]) -> list[str]:
    if not groups:
        return ["There are no results yet.\n"]
    runs = sum(len(group.runs) for group in groups)
    tasks = sum(len(group.records) for group in groups)
    left_out = len(groups) - len(main_groups(groups))
    lines = [
        f"{runs} runs, {tasks} tasks. `n = a × b` in a table: only a seeds and b tasks each, fewer than "
        "in the paper. The number after a published one is the difference."
    ]
    if left_out:
        lines.append(
            f"Each entry shows one setting. {left_out} other settings (demonstrations, tasks, time limits, "
            "planners) are in the figure about demonstrations or nowhere."
        )
    return ["\n".join(lines) + "\n"]


def _table_section(table: Table, level: int) -> str:
    return f"{'#' * level} {table.title}\n\n{table.caption}\n\n{as_markdown(table)}"
