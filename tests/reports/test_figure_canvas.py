"""The shared parts of all figures."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from needful.paper.published import METHODS
from needful.reports.figure_canvas import (
    DOTS_PER_INCH,
    MAX_NAME_LENGTH,
    WIDTH,
    figure_label,
    label_outer,
    legend_below,
    method_line,
    method_rows,
    panels,
    render_files,
    report_style,
)


def test_panels_stand_in_rows_of_three() -> None:
    figure, axes = panels([f"panel {number}" for number in range(7)], height=2.0)
    assert [one.get_title() for one in axes] == [f"panel {number}" for number in range(7)]
    assert len(figure.axes) == 9
    assert sum(one.get_visible() for one in figure.axes) == 7
    label_outer(axes, "x", "y")
    assert [one.get_xlabel() for one in axes] == ["", "", "", "", "x", "x", "x"]
    assert [one.get_ylabel() for one in axes] == ["y", "", "", "y", "", "", "y"]


def test_a_single_panel_takes_all_the_room() -> None:
    figure, axes = panels(["alone"], height=2.0)
    assert len(figure.axes) == len(axes) == 1


def test_rows_are_named_from_the_top() -> None:
    _, axes = panels(["a", "b"], height=2.0, shared_rows=True)
    method_rows(axes, ["necessary", "ci"])
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["Necessary", "CI"]
    low, high = axes[1].get_ylim()
    assert low > high


def test_files_hold_no_dates_versions_or_random_names() -> None:
    def drawn() -> tuple[bytes, bytes]:
        with report_style():
            figure, axes = panels(["a", "b"], height=2.0)
            axes[0].plot([1, 2], [3, 4], clip_on=True)
            legend_below(figure, [method_line(name) for name in METHODS])
            files = render_files(figure)
        return files.png, files.svg

    png, svg = drawn()
    assert (png, svg) == drawn()
    assert matplotlib.__version__.encode() not in png + svg
    assert b"<dc:date>" not in svg
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.size == (round(WIDTH * DOTS_PER_INCH), round(2.5 * DOTS_PER_INCH))
        assert not {"Software", "Creation Time"} & set(picture.info)


def test_the_style_ends_with_its_block_and_ignores_user_settings() -> None:
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False}):
        with report_style():
            assert matplotlib.rcParams["font.size"] == 9
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.parametrize(
    "name", ["$x^$", r"a\$b", "$", "$$", "two\nlines", r"$\frac{1}{0}$", "_^{}", "x" * 200]
)
def test_names_are_never_parsed_as_formulas(name: str) -> None:
    shown = figure_label(name)
    figure = Figure()
    text = figure.text(0.5, 0.5, shown)
    FigureCanvasAgg(figure).draw()  # An invalid formula would raise.
    read, formula = text._preprocess_math(shown)  # type: ignore[attr-defined]
    assert formula is False
    expected = re.sub(r"\s+", " ", name)
    assert read == (expected if len(expected) <= MAX_NAME_LENGTH else expected[: MAX_NAME_LENGTH - 1] + "…")
