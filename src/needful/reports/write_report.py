"""Write a report folder: issues first, then tables, then figures.

Issues are damaged files, errors of the program and implausible results. They come first, because they
can invalidate the numbers. To add a figure, write a function that draws it, and add an entry to `FIGURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from needful.core.objects import counted
from needful.core.plans import Outcome
from needful.errors import UnknownNameError
from needful.paper.published import method_of
from needful.reports.figure_canvas import FigureFiles, render_files, report_style
from needful.reports.method_figures import draw_nodes_created, draw_paired_differences
from needful.reports.outcome_figures import (
    draw_data_efficiency,
    draw_failures,
    draw_success_by_objects,
    draw_survival,
)
from needful.reports.paper_tables import TABLES, fill_tables
from needful.reports.runs import (
    RunGroup,
    group_runs,
    main_groups,
    summary_fault,
    with_preset,
    without_preset,
)
from needful.reports.table import Table, as_csv, as_latex, as_markdown, escape_markdown
from needful.storage.outputs import write_bytes, write_text
from needful.sweeps.jobs import Job, JobResult, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT_FILE = "report.md"
# The only outcome that is reported as implausible: a plan reached the goal in the planner's simulation, but
# not when it was executed. All other failures have a known cause.
UNEXPLAINED = Outcome.GOAL_MISSED.value
MAX_LISTED_TASKS = 5


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """The definition of a figure: title, caption, and the function that draws it.

    `draw` returns None if the results contain nothing to draw.
    """

    title: str
    caption: str
    draw: Callable[[Sequence[RunGroup]], Figure | None]


FIGURES: Mapping[str, FigureSpec] = MappingProxyType(
    {
        "data": FigureSpec(
            "Success against demonstrations",
            "Means over seeds with standard errors. Faint points are single seeds, stars are published.",
            draw_data_efficiency,
        ),
        "nodes": FigureSpec(
            "Nodes created by abstract search",
            "A point is one task of one seed. Violins show the density of solved tasks, bars their median. "
            "Unsolved tasks are at the end of the scale, with their share.",
            draw_nodes_created,
        ),
        "survival": FigureSpec(
            "Tasks solved within a time",
            "Share of all tasks of all seeds that were solved, against the planning time.",
            draw_survival,
        ),
        "objects": FigureSpec(
            "Success against the number of objects",
            "Tasks of similar size are grouped; larger points stand for more tasks.",
            draw_success_by_objects,
        ),
        "failures": FigureSpec(
            "Outcomes of the tasks",
            "By stage: learning (black), search (blue), refinement (brown), execution (purple).",
            draw_failures,
        ),
        "comparisons": FigureSpec(
            "Necessary and other methods on the same tasks",
            "Mean difference in success over the seeds that both methods ran, with its 95 % bootstrap "
            "interval over seeds; a hollow marker is a single seed, without an interval. Right of zero, "
            "Necessary is better. At the right: tasks that only Necessary solved : tasks that only the "
            "other method solved.",
            draw_paired_differences,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Issue:
    """A problem that a reader should check before trusting the numbers of a report.

    Attributes:
        where: the description of the job, or the path of the file, that has the problem.
        what: a short description of the problem.
        detail: more text about the problem, such as the traceback of an error.
    """

    where: str
    what: str
    detail: str = ""


def write_report(
    results: Results,
    folder: str | Path,
    tables: Iterable[str] = tuple(TABLES),
    figures: Iterable[str] = tuple(FIGURES),
) -> tuple[Path, ...]:
    """Write report.md, tables/*.md|tex|csv and figures/*.png|svg; return the paths, report.md first.

    Each file is written atomically and replaces the file of an earlier report. Figures without data are
    omitted. The same results always give files with the same bytes.
    """
    tables, figures = tuple(tables), tuple(figures)
    check_names("table", tables, TABLES)
    check_names("figure", figures, FIGURES)
    folder = Path(folder)
    groups = group_runs(results.results)
    filled = [table for name in tables for table in fill_tables(name, groups)]
    paths = [path for table in filled for path in _write_table(table, folder / "tables")]
    drawn = []
    for name in figures:
        files = render_figure(name, without_preset(groups))
        if files is not None:
            drawn.append(name)
            for ending, data in (("png", files.png), ("svg", files.svg)):
                paths.append(folder / "figures" / f"{name}.{ending}")
                write_bytes(paths[-1], data)
    report = folder / REPORT_FILE
    write_text(report, _report_text(results, groups, filled, drawn))
    return (report, *paths)


def check_names(kind: str, names: Sequence[str], known: Iterable[str]) -> None:
    """Raise `UnknownNameError` if one of `names` is not in `known`.

    The error message suggests the most similar known name. `kind` is the word for the named items in this
    message, such as "figure".
    """
    known = tuple(known)
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)


def render_figure(name: str, groups: Sequence[RunGroup]) -> FigureFiles | None:
    """Draw the figure `name` of `FIGURES` and return its files; None if there is nothing to draw."""
    with report_style():
        figure = FIGURES[name].draw(groups)
        return None if figure is None else render_files(figure)


def find_issues(results: Results) -> tuple[Issue, ...]:
    """Return all issues: damaged result files, then jobs with errors, then implausible results."""
    damaged = [Issue(str(file.path), "damaged file", file.reason) for file in results.damaged]
    failed = [
        Issue(_describe_job(result.job), result.error_line, result.error)
        for result in results.results
        if result.error is not None
    ]
    implausible = [
        issue for result in results.results if result.error is None for issue in _result_issues(result)
    ]
    return (*damaged, *failed, *implausible)


def _describe_job(job: Job) -> str:
    return f"{job.domain}, {method_of(job)}, seed {job.seed}, {job.demos} demos ({job.key})"


def _result_issues(result: JobResult) -> list[Issue]:
    where, tried = _describe_job(result.job), len(result.records)
    issues = []
    if tried != result.job.tasks:
        issues.append(
            Issue(where, f"expected {counted(result.job.tasks, 'task')}, found {counted(tried, 'record')}")
        )
    fault = summary_fault(result)
    if fault is not None:
        issues.append(Issue(where, fault))
    return [*issues, *_unexplained_failures(result)]


def _unexplained_failures(result: JobResult) -> Sequence[Issue]:
    found = [record for record in result.records if record.outcome == UNEXPLAINED]
    if not found:
        return ()
    listed = [f"task {record.task}: {record.failure or UNEXPLAINED}" for record in found[:MAX_LISTED_TASKS]]
    if len(found) > MAX_LISTED_TASKS:
        listed.append(f"and {len(found) - MAX_LISTED_TASKS} more")
    what = f"{len(found)} of {counted(result.records, 'task')} ended with {UNEXPLAINED}"
    return (Issue(_describe_job(result.job), what, "\n".join(listed)),)


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


def _issue_lines(issues: Sequence[Issue]) -> list[str]:
    if not issues:
        return []
    lines = [f"## Check these first ({len(issues)})\n"]
    for issue in issues:
        lines.append(f"- **{escape_markdown(issue.where)}**: {escape_markdown(issue.what)}")
        if issue.detail:
            # Markdown shows lines indented by six spaces inside a list entry as code, without formatting.
            lines += ["", *(f"      {line}" for line in issue.detail.splitlines()), ""]
    return ["\n".join(lines) + "\n"]


def _scope_lines(groups: Sequence[RunGroup]) -> list[str]:
    if not groups:
        return ["There are no results yet.\n"]
    runs = sum(len(group.runs) for group in groups)
    tasks = sum(len(group.records) for group in groups)
    shown = (*main_groups(with_preset(groups)), *main_groups(without_preset(groups)))
    omitted = len(groups) - len(set(map(id, shown)))
    lines = [
        f"{counted(runs, 'run')}, {counted(tasks, 'task')}. `n = a × b` in a table means a seeds with b "
        "tasks each, fewer than in the paper. The number after a published one is the difference."
    ]
    if omitted:
        lines.append(
            f"Each entry shows one setting. {omitted} other settings (demonstrations, tasks, time limits, "
            "planners) appear in no table; the figure about demonstrations shows some of them."
        )
    return ["\n".join(lines) + "\n"]


def _table_section(table: Table, level: int) -> str:
    return f"{'#' * level} {table.title}\n\n{table.caption}\n\n{as_markdown(table)}"
