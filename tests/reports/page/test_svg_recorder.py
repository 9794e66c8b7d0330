"""The recorded marks of artists: forms, points and styles worked out by hand."""

from __future__ import annotations

import base64
import io
import math

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from PIL import Image

from needful.reports.page.inline_page import MarkTable, run_length_pairs
from needful.reports.page.svg_recorder import RecordingRenderer

SIZE = (100.0, 50.0)


class Sheet:
    """Axes in units of points, x to the right and y up, with a recording renderer."""

    def __init__(self) -> None:
        self.axes: Axes = Figure(figsize=(100 / 72, 50 / 72), dpi=72).add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, 100), ylim=(0, 50))
        self.axes.axis("off")
        self.mark_table = MarkTable()
        self.recorder = RecordingRenderer(self.mark_table, SIZE)

    def seen(self) -> list[tuple[object, float, float, dict[str, object]]]:
        """Return the form, the point and the style of each mark."""
        frame = self.recorder.record(self.axes)
        forms, styles, marks = (
            list(getattr(self.mark_table, name)) for name in ("forms", "styles", "marks")
        )
        return [(forms[f], x, y, dict(styles[s])) for f, x, y, s in (marks[number] for number in frame)]


@pytest.fixture
def sheet() -> Sheet:
    return Sheet()


def test_a_rectangle_starts_at_its_corner_and_y_points_down(sheet: Sheet) -> None:
    sheet.axes.add_patch(Rectangle((10, 5), 20, 30, facecolor="#336699", linewidth=0))
    assert sheet.seen() == [("M0 0L20 0L20 -30L0 -30Z", 10, 45, {"fill": "#336699"})]


def test_strokes_dashes_and_opacity(sheet: Sheet) -> None:
    sheet.axes.add_patch(
        Polygon([(0, 0), (4, 0), (4, 3)], fill=False, edgecolor="red", linewidth=1.5, alpha=0.25)
    )
    sheet.axes.plot((10, 20), (10, 10), "--", color="blue", linewidth=2, dash_capstyle="round")
    triangle, line = sheet.seen()
    assert triangle == (
        "M0 0L4 0L4 -3Z",
        0,
        50,
        {"fill": "none", "stroke": "#ff0000", "stroke-opacity": 0.25, "stroke-width": 1.5},
    )
    assert line[:3] == ("M0 0L10 0", 10, 40)
    assert line[3] == {
        "fill": "none",
        "stroke": "#0000ff",
        "stroke-width": 2,
        "stroke-dasharray": "7.4 3.2",
        "stroke-linecap": "round",
        "stroke-linejoin": "round",
    }


def test_curves(sheet: Sheet) -> None:
    curve = Path([(0, 0), (5, 10), (10, 0), (12, 0), (14, 2), (14, 4)], [1, 3, 3, 4, 4, 4])
    sheet.axes.add_patch(PathPatch(curve, fill=False, linewidth=1))
    assert sheet.seen()[0][:3] == ("M0 0Q5 -10 10 0C12 0 14 -2 14 -4", 0, 50)


def test_circles_of_one_size_are_one_form_wherever_they_are(sheet: Sheet) -> None:
    for x in (10, 20.123, 33.3):
        sheet.axes.add_patch(Circle((x, 20), 5, color="green", linewidth=0))
    sheet.axes.scatter([50, 60], [10, 20], s=math.pi * 16, color=["green", "red"], linewidth=0)
    marks = sheet.seen()
    assert len(sheet.mark_table.forms) == 2
    assert [mark[1:3] for mark in marks[:3]] == [(10, 35), (20.1, 35), (33.3, 35)]
    assert [mark[3]["fill"] for mark in marks] == ["#008000"] * 4 + ["#ff0000"]
    assert len({mark[0] for mark in marks[3:]}) == 1


def test_collections_and_spans(sheet: Sheet) -> None:
    squares = [Rectangle((0, 0), 2, 2), Rectangle((4, 4), 2, 2)]
    sheet.axes.add_collection(PatchCollection(squares, facecolors=["#111111", "#222222"], linewidths=0))
    sheet.axes.axvspan(10, 30, color="#333333", alpha=0.5, linewidth=0)
    first, second, span = sheet.seen()
    assert [first[1:3], second[1:3]] == [(0, 50), (4, 46)]
    assert [first[3]["fill"], second[3]["fill"]] == ["#111111", "#222222"]
    assert span[3] == {"fill": "#333333", "fill-opacity": 0.5}


def test_marks_in_front_come_later(sheet: Sheet) -> None:
    for name, layer in (("front", 5), ("back", 1), ("middle", 3)):
        sheet.axes.text(0, 0, name, zorder=layer)
    assert [mark[0] for mark in sheet.seen()] == [("back",), ("middle",), ("front",)]


@pytest.mark.parametrize(("align", "anchor"), [("left", None), ("center", "middle"), ("right", "end")])
def test_texts_are_anchored_as_they_are_aligned(sheet: Sheet, align: str, anchor: str | None) -> None:
    sheet.axes.text(
        40, 20, "hello", ha=align, va="baseline", fontsize=8, fontweight="bold", color="#123456"
    )
    expected: dict[str, object] = {"fill": "#123456", "font-size": 8, "font-weight": "bold"}
    if anchor:
        expected["text-anchor"] = anchor
    ((form, x, y, style),) = sheet.seen()
    assert (form, style) == (("hello",), expected)
    assert (x, y) == pytest.approx((40, 30), abs=0.6)


def test_texts_can_be_rotated_transparent_and_contain_anything(sheet: Sheet) -> None:
    special = "</text><script> $\\frac$ 灯💡"
    sheet.axes.text(40, 20, special, rotation=90, ha="center", va="center", alpha=0.5, fontsize=6)
    ((form, _, _, style),) = sheet.seen()
    assert form == (special,)
    assert (style["rotate"], style["fill-opacity"], style["text-anchor"]) == (-90, 0.5, "middle")


def test_lines_of_text_come_one_by_one(sheet: Sheet) -> None:
    sheet.axes.text(10, 10, "one\ntwo")
    one, two = sheet.seen()
    assert (one[0], two[0]) == (("one",), ("two",))
    assert one[2] < two[2]


def test_images_are_unchanged(sheet: Sheet) -> None:
    pixels = np.array([[[255, 0, 0], [0, 255, 0]]], dtype=np.uint8)
    sheet.axes.imshow(pixels, extent=(10, 30, 10, 20), interpolation="nearest", aspect="auto")
    sheet.axes.set(xlim=(0, 100), ylim=(0, 50))
    ((form, x, y, style),) = sheet.seen()
    assert (x, y, style) == (10, 30, {"width": 20, "height": 10})
    assert isinstance(form, tuple)
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(form[1]))).convert("RGB"))
    assert image.shape == (10, 20, 3)
    assert image[5, 2].tolist() == [255, 0, 0]
    assert image[5, 17].tolist() == [0, 255, 0]


def test_only_paths_beyond_the_axes_are_clipped(sheet: Sheet) -> None:
    sheet.axes.add_patch(Rectangle((90, 10), 5, 5))
    sheet.axes.add_patch(Rectangle((90, 10), 20, 5))
    inside, outside = sheet.seen()
    assert "clip" not in inside[3]
    assert list(sheet.mark_table.clips) == ["M0 50L100 50L100 0L0 0Z"]
    assert outside[3]["clip"] == 0


def test_a_path_can_be_clipped_by_any_outline(sheet: Sheet) -> None:
    patch = sheet.axes.add_patch(Rectangle((10, 10), 5, 5))
    patch.set_clip_path(Path([(0, 0), (20, 0), (0, 20), (0, 0)], closed=True), sheet.axes.transData)
    assert sheet.seen()[0][3]["clip"] == 0
    assert list(sheet.mark_table.clips) == ["M0 50L20 50L0 30Z"]


def test_invisible_artists_are_omitted(sheet: Sheet) -> None:
    sheet.axes.add_patch(Rectangle((0, 0), 5, 5, fill=False, linewidth=0))
    sheet.axes.add_patch(Rectangle((0, 0), 5, 5, facecolor="none", edgecolor="none"))
    sheet.axes.plot([math.nan], [math.nan])
    sheet.axes.text(0, 0, "hidden", visible=False)
    assert sheet.seen() == []


def test_lines_are_interrupted_where_there_is_no_point(sheet: Sheet) -> None:
    sheet.axes.plot([0, 10, math.nan, 20, 30], [0, 0, 0, 0, 0])
    assert sheet.seen()[0][0] == "M0 0L10 0M20 0L30 0"


def test_an_artist_with_an_id_is_recorded_once(sheet: Sheet) -> None:
    def draw(text: str) -> list[object]:
        for artist in list(sheet.axes.texts):
            artist.remove()
        sheet.axes.text(0, 0, "below")
        sheet.axes.text(0, 0, text, gid="title")
        sheet.axes.text(0, 0, "above")
        return [mark[0] for mark in sheet.seen()]

    assert draw("once") == [("below",), ("once",), ("above",)]
    assert draw("again") == [("below",), ("once",), ("above",)]
    sheet.axes.set_xlim(0, 50)
    assert draw("moved") == [("below",), ("moved",), ("above",)]


def test_visible_axes_are_recorded(sheet: Sheet) -> None:
    sheet.axes.axis("on")
    assert ("100",) in [mark[0] for mark in sheet.seen()]


def test_consecutive_numbers_become_ranges() -> None:
    assert run_length_pairs([]) == []
    assert run_length_pairs([4]) == [4, 1]
    assert run_length_pairs([0, 1, 2, 7, 8, 3]) == [0, 3, 7, 2, 3, 1]
