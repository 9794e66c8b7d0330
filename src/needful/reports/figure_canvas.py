"""Shared parts of all figures: size, style, panels, legends and reproducible files.

Figures do not use `pyplot`, so they need no window system. The fonts stay readable when a figure is shown
at the width of a README.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from needful.envs.drawing.palette import DARK_GREY, GREY, LIGHT_GREY, WHITE
from needful.paper.published import domain_title, in_column_order, in_paper_order, method_style
from needful.reports.runs import RunGroup

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

WIDTH = 9.0  # inches
MAX_COLUMNS = 3
DOTS_PER_INCH = 160
FONT_SIZE = 9
SMALL_FONT_SIZE = 7.5
MAX_NAME_LENGTH = 28
LEGEND_LETTERS = 115  # maximum per line of a legend; the symbol and gaps of an entry count as 6 letters


@dataclass(frozen=True, slots=True)
class FigureFiles:
    """One figure as the content of a PNG file and of an SVG file."""

    png: bytes
    svg: bytes


@contextmanager
def report_style() -> Iterator[None]:
    """Use the matplotlib style of reports inside a `with` block; the user's settings are ignored."""
    from matplotlib import style

    settings = {
        "font.size": FONT_SIZE,
        "axes.titlesize": FONT_SIZE,
        "axes.titleweight": "bold",
        "axes.labelsize": FONT_SIZE,
        "axes.edgecolor": GREY,
        "axes.labelcolor": DARK_GREY,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": LIGHT_GREY,
        "grid.linewidth": 0.5,
        "grid.alpha": 0.6,
        "text.color": DARK_GREY,
        "xtick.color": DARK_GREY,
        "ytick.color": DARK_GREY,
        "xtick.labelsize": FONT_SIZE - 1,
        "ytick.labelsize": FONT_SIZE - 1,
        "legend.fontsize": FONT_SIZE,
        "legend.frameon": False,
        "figure.facecolor": WHITE,
        "figure.dpi": DOTS_PER_INCH,
        "savefig.dpi": "figure",
        "svg.hashsalt": "needful",  # A fixed salt: equal figures then have equal element ids.
    }
    with style.context(["default", settings]):
        yield


def panels(titles: Sequence[str], height: float, shared_rows: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure and the list of its panels, one per title; each panel is `height` inches high.

    The list has the panels of the top row first. With `shared_rows`, all panels have the same y axis, and
    only the leftmost panels show its tick labels.
    """
    from matplotlib.figure import Figure

    columns = min(MAX_COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(WIDTH, rows * height + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=shared_rows)
    axes: list[Axes] = list(grid.flat)
    for unused in axes[len(titles) :]:
        unused.set_visible(False)
    for panel, title in zip(axes, titles, strict=False):
        panel.set_title(figure_label(title))
    return figure, axes[: len(titles)]


def domain_panels(domains: Sequence[str], height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, one per domain, `height` inches high, with a shared y axis."""
    return panels([domain_title(domain) for domain in domains], height, shared_rows=True)


def method_panels(
    domains: Sequence[str], methods: Sequence[str], row_height: float
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, one per domain, each with one row per method."""
    figure, axes = domain_panels(domains, 0.8 + row_height * len(methods))
    method_rows(axes, methods)
    return figure, axes


def group_panels(
    groups: Sequence[RunGroup], row_height: float
) -> tuple[Figure, dict[str, Axes], tuple[str, ...]]:
    """Return a figure with one panel per domain and one row per method in each panel.

    Returns three values: the figure, its panels by domain, and the methods of the rows from top to bottom.
    """
    domains = in_paper_order(group.domain for group in groups)
    methods = in_column_order(group.method for group in groups)
    figure, axes = method_panels(domains, methods, row_height)
    return figure, dict(zip(domains, axes, strict=True)), methods


def label_outer(axes: Sequence[Axes], x: str = "", y: str = "") -> None:
    """Label the x axes of the lowest panels with `x`, and the y axes of the leftmost panels with `y`."""
    for index, panel in enumerate(axes):
        if index + MAX_COLUMNS >= len(axes):
            panel.set_xlabel(x)
        if index % MAX_COLUMNS == 0:
            panel.set_ylabel(y)


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """Add one legend for all panels, below them."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(len(handles), LEGEND_LETTERS // (longest + 6)))
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)


def method_line(method: str) -> Line2D:
    """Return the legend entry of a method: a line with the method's colour, marker and label."""
    from matplotlib.lines import Line2D

    style = method_style(method)
    return Line2D([], [], color=style.colour, marker=style.marker, label=figure_label(style.label))


def method_rows(axes: Sequence[Axes], methods: Sequence[str]) -> None:
    """Set the shared y axis of the panels: one labelled row per method, from top to bottom."""
    for panel in axes:
        panel.set_ylim(len(methods) - 0.4, -0.6)
        panel.grid(axis="y", visible=False)
    labels = [figure_label(method_style(method).label) for method in methods]
    axes[0].set_yticks(range(len(methods)), labels)


def figure_label(name: str) -> str:
    """Return a name as a label for figures: one line, shortened if it is long.

    `$` is escaped, because matplotlib would read it as the start of a formula.
    """
    line = " ".join(name.split())
    if len(line) > MAX_NAME_LENGTH:
        line = line[: MAX_NAME_LENGTH - 1] + "…"
    return line.replace("$", r"\$")


def render_files(figure: Figure) -> FigureFiles:
    """Return the contents of the PNG file and the SVG file of a figure.

    Dates and versions are left out of the files, so equal figures give equal bytes.
    """
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    figure.set_layout_engine("none")  # Use the layout of the PNG for the SVG, too.
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return FigureFiles(png.getvalue(), svg.getvalue())
