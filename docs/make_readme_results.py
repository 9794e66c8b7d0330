"""Update the table of success rates in README.md and draw docs/images/success.svg, both from results/.

Usage: python docs/make_readme_results.py
"""

from __future__ import annotations

import re
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from needful.envs.drawing import palette
from needful.paper.published import Estimate
from needful.reports.figure_canvas import render_files
from needful.reports.paper_tables import fill_tables
from needful.reports.runs import group_runs
from needful.reports.table import Cell, Table
from needful.storage.outputs import write_bytes, write_text
from needful.sweeps.jobs import read_results

ROOT = Path(__file__).parents[1]
MARKED_TABLE = re.compile(r"(<!-- success rates from results/ -->\n).*?(<!-- -->)", re.DOTALL)
OURS = "Necessary"


def success_tables() -> tuple[Table, Table]:
    """Return the tables of success rates in results/: as published, and with needful's own procedure."""
    published, needful = fill_tables("main", group_runs(read_results(ROOT / "results").results))
    return published, needful


def table_of_means(published: Table, needful: Table) -> str:
    """Return a Markdown table with one line per domain.

    The first column is needful's own learner and planner. The other columns use the preset `paper`; an
    entry is the mean here / the published mean.
    """
    own = {row.domain: row.cells[needful.columns.index(OURS)] for row in needful.rows}
    columns = ("needful", *published.columns)
    lines = [("Domain", *columns), (":---", *("---:" for _ in columns))]
    lines += [
        (row.title, _mean(own[row.domain].measured), *map(_entry, row.cells)) for row in published.rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mean(found: Estimate | None) -> str:
    return "–" if found is None else f"{found.mean:.0f}"


def _entry(cell: Cell) -> str:
    here, published = _mean(cell.measured), _mean(cell.published)
    return f"{f'**{here}**' if cell.best else here} / {published}"


def readme_with_table(readme: str, table: str) -> str:
    """Return the README with a table between its two markers."""
    changed, count = MARKED_TABLE.subn(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", readme)
    if count != 1:
        raise SystemExit(f"README.md must have the markers around the table once; found {count} pairs.")
    return changed


def draw_chart(table: Table) -> Figure:
    """Draw the success here, the published success, and that of the other methods, for each domain."""
    figure = Figure(figsize=(8.0, 3.1), facecolor=palette.WHITE)
    axes = figure.add_axes((0.07, 0.27, 0.91, 0.6))
    for position, row in enumerate(table.rows):
        cells = dict(zip(table.columns, row.cells, strict=True))
        ours = cells.pop(OURS)
        for offset, found, colour in (
            (-0.2, ours.measured, palette.BLUE),
            (0.2, ours.published, palette.CYAN),
        ):
            if found is not None:
                axes.bar(
                    position + offset,
                    found.mean,
                    0.38,
                    yerr=found.spread,
                    color=colour,
                    ecolor=palette.GREY,
                )
        others = [cell.measured.mean for cell in cells.values() if cell.measured is not None]
        axes.scatter([position - 0.2] * len(others), others, s=14, color=palette.ORANGE, zorder=3)
    axes.set(ylim=(0, 105), ylabel="tasks solved (%)", xlim=(-0.6, len(table.rows) - 0.4))
    titles = [row.title.replace(" ", "\n") for row in table.rows]
    axes.set_xticks(range(len(titles)), titles, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    handles = [
        axes.bar(0, 0, color=palette.BLUE, label="preset paper, run here"),
        axes.bar(0, 0, color=palette.CYAN, label="published"),
        axes.scatter([], [], s=14, color=palette.ORANGE, label="other methods, run here"),
    ]
    figure.legend(handles=handles, loc="upper center", ncols=3, frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    rates = success_tables()
    readme = ROOT / "README.md"
    write_text(readme, readme_with_table(readme.read_text("utf-8"), table_of_means(*rates)))
    with rc_context({"svg.hashsalt": "needful"}):  # equal charts have equal bytes
        write_bytes(ROOT / "docs" / "images" / "success.svg", render_files(draw_chart(rates[0])).svg)
