"""Pictures of states, and of plans as film strips, as the bytes of PNG files.

Figures are made without `pyplot`, so no window system and no global state are touched.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from needful.core.atoms import AbstractState
from needful.core.state import State
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.envs.drawing.captions import (
    LINE_HEIGHT,
    MARGIN,
    Caption,
    add_axes,
    caption_lines,
    check_captions,
    draw_panel,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160
STRIP_WIDTH = 12.0  # inches


def draw_state(env: Environment, state: State, goal: AbstractState) -> bytes:
    """Return a picture of one state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=env.picture_size, dpi=DOTS_PER_INCH, facecolor=palette.PAPER)
    env.draw(state, figure.add_axes((0.0, 0.0, 1.0, 1.0)), goal)
    return as_png(figure)


def draw_film_strip(
    env: Environment,
    states: Sequence[State],
    captions: Sequence[Caption],
    goal: AbstractState,
) -> bytes:
    """Return the states of a plan as one picture, row by row, each under its caption."""
    from matplotlib.figure import Figure

    check_captions(states, captions)
    width, height = env.picture_size
    columns = min(len(states), 2 if width > 2.5 * height else 3)
    panel = STRIP_WIDTH / columns
    inside = panel - 2 * MARGIN
    picture = inside * height / width
    frames = [
        (state, caption_lines(caption, inside)) for state, caption in zip(states, captions, strict=True)
    ]
    rows = [frames[start : start + columns] for start in range(0, len(frames), columns)]
    heights = [picture + 3 * MARGIN + LINE_HEIGHT * max(len(lines) for _, lines in row) for row in rows]
    figure = Figure(figsize=(STRIP_WIDTH, sum(heights)), dpi=DOTS_PER_INCH, facecolor=palette.DESK)
    bottom = sum(heights)
    for row, high in zip(rows, heights, strict=True):
        bottom -= high
        for column, (state, lines) in enumerate(row):
            left = column * panel
            draw_panel(figure, (left, bottom, panel, high), lines)
            env.draw(state, add_axes(figure, (left + MARGIN, bottom + MARGIN, inside, picture)), goal)
    return as_png(figure)


def as_png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    # Without the version of matplotlib in it, the same picture is the same bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
