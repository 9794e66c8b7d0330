"""Tests of pictures between two states."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from needful.envs.drawing.tweening import Mark, Tween, pair_marks, record_marks

SIZE, DPI = 100, 100  # pixels


def squares(*places: tuple[float, str], text: str = "") -> tuple[Mark, ...]:
    """Return the marks of squares at places from 0 to 1, each with its colour."""
    figure = Figure(figsize=(SIZE / DPI, SIZE / DPI), dpi=DPI)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for x, colour in places:
        axes.add_patch(Rectangle((x, 0.4), 0.2, 0.2, color=colour))
    axes.text(0.5, 0.8, text)
    return record_marks(figure)


def columns(tween: Tween, share: float, colour: tuple[int, int, int]) -> list[int]:
    """Return the first and the last column of the middle row that have a colour."""
    row = tween.draw(share, SIZE, SIZE, DPI)[SIZE // 2]
    found = np.flatnonzero((row == colour).all(axis=1))
    return [int(found[0]), int(found[-1])] if len(found) else []


@pytest.mark.parametrize(("share", "left"), [(0.0, 0), (0.25, 20), (0.5, 40), (1.0, 80)])
def test_an_item_moves_on_a_straight_line(share: float, left: int) -> None:
    first, last = columns(Tween(squares((0.0, "red")), squares((0.8, "red"))), share, (255, 0, 0))
    assert first == pytest.approx(left, abs=1)
    assert last == pytest.approx(left + 19, abs=1)


def test_colours_are_blended() -> None:
    tween = Tween(squares((0.2, "black")), squares((0.2, "white")))
    grey = tween.draw(0.5, SIZE, SIZE, DPI)[SIZE // 2, 30]
    assert np.abs(grey.astype(int) - 128).max() <= 1


def test_items_at_the_same_place_do_not_take_part() -> None:
    before, after = squares((0.0, "red"), (0.5, "red")), squares((0.5, "red"), (0.8, "red"))
    ((start, target),) = pair_marks(before, after).items()
    assert target.points[0, 0] - start.points[0, 0] == pytest.approx(0.8 * SIZE)


def test_items_are_paired_with_items_of_the_same_style_first() -> None:
    before, after = squares((0.0, "red"), (0.2, "blue")), squares((0.6, "blue"), (0.8, "red"))
    pairs = pair_marks(before, after)
    assert [start.style == target.style for start, target in pairs.items()] == [True, True]


def test_texts_move_only_if_they_are_equal() -> None:
    here, there = squares(text="cup"), squares(text="box")
    assert pair_marks(here, there) == {}
    assert pair_marks(here, here) == {}
