"""Tests of the pictures of Satellites."""

from __future__ import annotations

import math

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from envs.satellite_skies import CAMERA, INFRARED, OBJ0, SAT0, Sat, sky
from needful.core.state import State
from needful.envs.drawing import palette
from needful.envs.satellites import GEIGER_READING_TAKEN, Satellites

GOAL = frozenset({GEIGER_READING_TAKEN(SAT0, OBJ0)})


def drawn(state: State) -> Axes:
    axes = Figure().add_subplot()
    Satellites().draw(state, axes, GOAL)
    return axes


def discs(axes: Axes) -> dict[tuple[float, float], str]:
    """Return the colour of each disc by its position."""
    return {
        tuple(map(float, patch.get_center())): to_hex(patch.get_facecolor())
        for patch in axes.patches
        if isinstance(patch, Circle)
    }


@pytest.mark.parametrize(
    ("sat", "colour"),
    [
        (Sat(), palette.RED),
        (Sat(calibrated=1.0), palette.BLUE),
        (Sat(calibrated=1.0, reading=0.0), palette.GREEN),
    ],
)
def test_the_colour_shows_the_progress_of_a_satellite(sat: Sat, colour: str) -> None:
    assert discs(drawn(sky([sat], [(0.7, 0.6)]))) == {(0.5, 0.5): colour, (0.7, 0.6): palette.DARK_GREY}


def test_the_view_is_drawn_as_a_triangle() -> None:
    axes = drawn(sky([Sat(theta=math.pi / 2)], [(0.7, 0.5)]))
    (view,) = (patch for patch in axes.patches if isinstance(patch, Polygon))
    apex, right, left, _ = view.get_xy()
    reach, half = 0.3 * math.cos(math.pi / 8), 0.3 * math.sin(math.pi / 8)
    assert tuple(apex) == (0.5, 0.5)
    assert tuple(right) == pytest.approx((0.5 + half, 0.5 + reach))
    assert tuple(left) == pytest.approx((0.5 - half, 0.5 + reach))
    frame = view.get_clip_box().transformed(axes.transData.inverted())
    assert frame.bounds == pytest.approx((0.0, 0.0, 1.0, 1.0))


@pytest.mark.parametrize(
    ("chemicals", "label"), [((0.0, 0.0), ""), ((1.0, 0.0), "X"), ((0.0, 1.0), "Y"), ((1.0, 1.0), "X/Y")]
)
def test_objects_are_labelled_by_their_chemicals(chemicals: tuple[float, float], label: str) -> None:
    texts = {text.get_text() for text in drawn(sky([Sat()], [(0.7, 0.5, *chemicals)])).texts}
    assert texts == {"sat0", "obj0", "G", label}


@pytest.mark.parametrize(("instrument", "initial"), [(CAMERA, "C"), (INFRARED, "I")])
def test_satellites_are_labelled_with_the_initial_of_their_instrument(
    instrument: float, initial: str
) -> None:
    texts = {text.get_text() for text in drawn(sky([Sat(instrument=instrument)], [(0.7, 0.5)])).texts}
    assert initial in texts


@pytest.mark.parametrize("reading", [-1.0, 0.0])
def test_a_dotted_line_leads_to_the_object_still_to_be_read(reading: float) -> None:
    lines = drawn(sky([Sat(reading=reading)], [(0.7, 0.6)])).lines
    assert len(lines) == (1 if reading < 0 else 0)
    for line in lines:
        assert (list(line.get_xdata()), list(line.get_ydata())) == ([0.5, 0.7], [0.5, 0.6])
