"""Draw the figures of docs/predicates.md as SVG files in docs/images/figures; the output is deterministic.

Usage: python docs/make_predicate_figures.py
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from make_figures import BLUE, FAINT, GOLD, GREEN, INK, PALE, RED, arrow, blank, save, write

WIDTH, HEIGHT = 6.4, 1.8
LEFT, RIGHT = 16, 48  # the centres of the two halves


def halves(bad: str, good: str) -> tuple[Figure, Axes]:
    """Return a figure with a half for a choice that fails and a half for one that works."""
    figure, axes = blank(WIDTH, HEIGHT)
    axes.plot([32, 32], [1, 17], color=PALE)
    write(axes, LEFT, 16.4, f"✗ {bad}", color=RED, size=9, weight="bold")
    write(axes, RIGHT, 16.4, f"✓ {good}", color=GREEN, size=9, weight="bold")
    return figure, axes


def block(axes: Axes, x: float, y: float, name: str, colour: str = BLUE, size: float = 3.4) -> None:
    """Draw a block with its name; (x, y) is its lower left corner."""
    axes.add_patch(mpl.patches.Rectangle((x, y), size, size, fc=colour, ec=INK, alpha=0.75))
    write(axes, x + size / 2, y + size / 2, name, size=8)


def threshold() -> Figure:
    """Draw the distribution of a height, with a threshold within a cluster and one between clusters."""
    figure, axes = halves("the threshold cuts a cluster", "the threshold lies in a gap")
    grid = np.linspace(-12, 12, 120)
    curve = 7 * np.exp(-((grid + 6) ** 2) / 3) + 7 * np.exp(-((grid - 6) ** 2) / 3)
    for centre, at in ((LEFT, 6.3), (RIGHT, 0.0)):
        axes.fill_between(centre + grid, 4, 4 + curve, color=BLUE, alpha=0.4, lw=0)
        axes.plot([centre - 12, centre + 12], [4, 4], color=INK, lw=1)
        axes.plot([centre + at] * 2, [3, 13], color=RED if at else GREEN, lw=2)
        write(axes, centre, 1.6, "height of the block after Stack", size=8, color=FAINT)
    return figure


def all_others() -> Figure:
    """Draw a block below another one, and the predicate that says so."""
    figure, axes = halves('"no block is on b"', "Clear(b) is a predicate")
    for centre in (LEFT, RIGHT):
        block(axes, centre - 8, 4, "b")
        block(axes, centre - 8, 7.5, "a", GOLD)
        block(axes, centre + 3, 4, "c")
        axes.plot([centre - 12, centre + 10], [4, 4], color=INK, lw=1)
    write(axes, LEFT, 1.8, "operators cannot state a condition on all blocks", size=8, color=FAINT)
    write(axes, RIGHT, 1.8, "Clear(a), Clear(c)", size=8, weight="bold")
    return figure


def connected_rooms() -> Figure:
    """Draw two rooms: a move that does not name the room it starts in needs a predicate for it."""
    figure, axes = halves("only InRoom(robot, room)", "with Connects(door, room, room)")
    for centre in (LEFT, RIGHT):
        for x in (centre - 11, centre):
            axes.add_patch(mpl.patches.Rectangle((x, 4), 11, 9, fc="white", ec=INK))
        axes.plot([centre, centre], [7, 10], color=GOLD, lw=5)
        axes.scatter([centre - 6], [8.5], marker="s", s=80, color=BLUE)
        arrow(axes, (centre - 4, 8.5), (centre + 5, 8.5), RED if centre == LEFT else GREEN)
        write(axes, centre - 9, 11.6, "r1", size=8)
        write(axes, centre + 9, 11.6, "r2", size=8)
    write(axes, LEFT, 1.8, "Go(robot, r2) from where?", size=8, color=FAINT)
    write(axes, RIGHT, 1.8, "needs InRoom(robot, ?r), Connects(?d, ?r, r2)", size=8, weight="bold")
    return figure


def at_rest() -> Figure:
    """Draw a block that falls, and the same block later."""
    figure, axes = halves("observed while it moves", "observed at rest")
    for centre, y in ((LEFT, 9.5), (RIGHT, 7.5)):
        block(axes, centre - 2, 4, "b")
        block(axes, centre - 1.5, y, "a", GOLD)
        axes.plot([centre - 12, centre + 12], [4, 4], color=INK, lw=1)
    arrow(axes, (LEFT + 4.5, 12.5), (LEFT + 4.5, 8.5), RED)
    write(axes, LEFT, 1.8, "not On(a, b): this atom is wrong in a moment", size=8, color=FAINT)
    write(axes, RIGHT, 1.8, "On(a, b)", size=8, weight="bold")
    return figure


def events() -> Figure:
    """Draw a food that was collected, without and with a feature for it."""
    figure, axes = halves("the past is no feature", "the past is a feature")
    for centre in (LEFT, RIGHT):
        axes.scatter([centre - 9], [8.5], marker="s", s=120, color=BLUE)
        arrow(axes, (centre - 6.5, 8.5), (centre + 1.5, 8.5))
        axes.add_patch(mpl.patches.Circle((centre + 5, 8.5), 2, fc="white", ec=FAINT, ls=":"))
    write(axes, LEFT, 3.4, "collected, or never there?", size=8, color=FAINT)
    write(axes, RIGHT, 3.4, "food(row 2, column 5, collected 1)", size=8, weight="bold")
    return figure


def parent_type() -> Figure:
    """Draw two types with one predicate each, and one predicate for their parent type."""
    figure, axes = halves("a predicate per type", "a predicate of the parent type")
    for centre in (LEFT, RIGHT):
        for x, name in ((centre - 7, "key"), (centre + 7, "ball")):
            axes.scatter([x], [7], s=160, color=GOLD if name == "key" else BLUE)
            write(axes, x, 4, name, size=8)
    write(axes, LEFT - 7, 11, "NearKey", size=8)
    write(axes, LEFT + 7, 11, "NearBall", size=8)
    write(axes, RIGHT, 12, "Near(robot, item)", size=8, weight="bold")
    for x in (RIGHT - 7, RIGHT + 7):
        arrow(axes, (x, 8.5), (RIGHT, 11), FAINT)
    write(axes, LEFT, 1.6, "nothing is known about a third type", size=8, color=FAINT)
    write(axes, RIGHT, 1.6, "one operator for all items", size=8, color=FAINT)
    return figure


if __name__ == "__main__":
    for figure in (threshold, all_others, connected_rooms, at_rest, events, parent_type):
        save(figure)
