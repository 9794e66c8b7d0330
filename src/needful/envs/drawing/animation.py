"""A plan as a film: each state with the operator that led to it and the subgoal beside it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from needful.core.atoms import AbstractState
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.envs.drawing.captions import (
    MARGIN,
    Caption,
    add_axes,
    caption_lines,
    captions_of,
    check_captions,
    draw_panel,
)
from needful.envs.drawing.film import Film, Filmable, as_gif
from needful.envs.drawing.pictures import as_png

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

DOTS_PER_INCH = 100
# In inches; a lower sheet would not hold the longest caption.
SHEET_WIDTH = 3.4
LEAST_HEIGHT = 2.0
FRAME_MILLISECONDS = 1_200
LAST_FRAME_MILLISECONDS = 3_000


def draw_animation(
    env: Environment, states: Sequence[State], captions: Sequence[Caption], goal: AbstractState
) -> bytes:
    """Return a GIF that shows the states of a plan one after the other, again and again."""
    return as_gif(film_states(env, states, captions, goal))


def film_plan(env: Environment, result: PlanningResult, goal: AbstractState) -> Film:
    """Return a film of a plan as far as it went, in three dimensions if the domain has as many."""
    if isinstance(env, Filmable):
        return env.film(result, goal)
    captions = captions_of(result.steps, result.milestones(goal), result.states)
    return film_states(env, result.states, captions, goal)


def film_states(
    env: Environment, states: Sequence[State], captions: Sequence[Caption], goal: AbstractState
) -> Film:
    """Return a film with one picture for each state of a plan."""
    check_captions(states, captions)
    frames = [_frame(env, state, caption, goal) for state, caption in zip(states, captions, strict=True)]
    pauses = [FRAME_MILLISECONDS] * (len(frames) - 1) + [LAST_FRAME_MILLISECONDS]
    return Film(tuple(frames), tuple(pauses))


def draw_sheet(caption: Caption, height: float) -> Image:
    """Return the sheet with a caption that goes beside a picture of that height in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SHEET_WIDTH, height), dpi=DOTS_PER_INCH, facecolor=palette.DESK)
    lines = caption_lines(caption, SHEET_WIDTH - 2 * MARGIN, height - 2 * MARGIN)
    draw_panel(figure, (0.0, 0.0, SHEET_WIDTH, height), lines)
    return _as_image(figure)


def _frame(env: Environment, state: State, caption: Caption, goal: AbstractState) -> Image:
    from matplotlib.figure import Figure

    width = env.picture_size[0]
    height = max(env.picture_size[1] + 2 * MARGIN, LEAST_HEIGHT)
    figure = Figure(figsize=(width + SHEET_WIDTH, height), dpi=DOTS_PER_INCH, facecolor=palette.DESK)
    inside = width - 2 * MARGIN
    picture = inside * env.picture_size[1] / width
    draw_panel(figure, (0.0, 0.0, width, height), ())
    env.draw(state, add_axes(figure, (MARGIN, (height - picture) / 2, inside, picture)), goal)
    draw_panel(figure, (width, 0.0, SHEET_WIDTH, height), caption_lines(caption, SHEET_WIDTH - 2 * MARGIN))
    return _as_image(figure)


def _as_image(figure: Figure) -> Image:
    from PIL import Image

    return Image.open(io.BytesIO(as_png(figure))).convert("RGB")
