"""What all figures share: their size and style, panels side by side, and files that are always the same.

Figures are made without `pyplot`, so no window system is touched. Fonts are large enough to be read when
a figure is shown at the width of a README.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from needful.envs.drawing.palette import DARK_GREY, GREY, LIGHT_GREY, WHITE
from needful.paper.methods import method_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

WIDTH = 9.0  # inches
MAX_COLUMNS = 3
DOTS_PER_INCH = 160
FONT_SIZE = 9
SMALL = 7.5
MAX_NAME_LENGTH = 28
LEGEND_LETTERS = 115  # in a line of a legend, with the room for its symbols


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as the bytes of its files."""

    png: bytes
    svg: bytes


@contextmanager
def report_style() -> Iterator[None]:
    """Draw in this package's style while the block runs, whatever the user's settings are."""
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
        "svg.hashsalt": "needful",  # otherwise the names of elements differ from run to run
    }
    with style.context(["default", settings]):
        yield


def panels(titles: Sequence[str], height: float, shared_rows: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure with one panel a title, row by row; `height` is that of a panel in inches.

    With `shared_rows` all panels have the same y axis, which is labelled at the left alone.
    """
    from matplotlib.figure import Figure

    columns = min(MAX_COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(WIDTH, rows * height + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=shared_rows)
    axes: list[Axes] = list(grid.flat)
    for unused in axes[len(titles) :]:
        unused.set_visible(False)
    for one, title in zip(axes, titles, strict=False):
        one.set_title(figure_label(title))
    return figure, axes[: len(titles)]


def label_outer(axes: Sequence[Axes], x: str = "", y: str = "") -> None:
    """Label the x axis of the panels with none below, and the y axis of those at the left."""
    for number, one in enumerate(axes):
        if number + MAX_COLUMNS >= len(axes):
            one.set_xlabel(x)
        if number % MAX_COLUMNS == 0:
            one.set_ylabel(y)


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put one legend for all panels below them."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(len(handles), LEGEND_LETTERS // (longest + 6)))
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)


def method_line(method: str) -> Line2D:
    """Return a method's entry in a legend."""
    from matplotlib.lines import Line2D

    look = method_style(method)
    return Line2D([], [], color=look.colour, marker=look.marker, label=figure_label(look.label))


def method_rows(axes: Sequence[Axes], methods: Sequence[str]) -> None:
    """Name the rows of panels that share their y axis after methods, from the top downwards."""
    for one in axes:
        one.set_ylim(len(methods) - 0.4, -0.6)
        one.grid(axis="y", visible=False)
    labels = [figure_label(method_style(method).label) for method in methods]
    axes[0].set_yticks(range(len(methods)), labels)


def figure_label(name: str) -> str:
    """Return a name for a figure: in one line, not too long, and never taken for a formula."""
    line = " ".join(name.split())
    if len(line) > MAX_NAME_LENGTH:
        line = line[: MAX_NAME_LENGTH - 1] + "…"
    return line.replace("$", r"\$")


def render_files(figure: Figure) -> Drawing:
    """Return a figure as PNG and SVG, without dates and versions, so that the same is the same bytes."""
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    figure.set_layout_engine("none")  # everything is in its place now
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return Drawing(png.getvalue(), svg.getvalue())
