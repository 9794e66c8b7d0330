"""Moving pictures, as the bytes of GIF and MP4 files.

A plan as a film: each state with the operator that led to it and the subgoal beside it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from needful.core.atoms import AbstractState
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.envs.drawing.pictures import (
    MARGIN,
    Caption,
    add_axes,
    as_png,
    caption_lines,
    check_captions,
    draw_panel,
    make_captions,
)
from needful.errors import InvalidInputError, install_command

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

FRAMES_PER_SECOND = 10
THUMBNAIL_DIVISOR = 3  # how many times smaller pictures are on a contact sheet


@dataclass(frozen=True, slots=True)
class Film:
    """Pictures of one size, and for how many milliseconds each is shown."""

    pictures: tuple[Image, ...]
    milliseconds: tuple[int, ...]


@runtime_checkable
class Filmable(Protocol):
    """A domain that can show what happens between the states of a plan, in three dimensions."""

    def film(self, result: PlanningResult, goal: AbstractState) -> Film:
        """Return a film of what came of planning."""

    def page(self, result: PlanningResult, goal: AbstractState) -> str:
        """Return an HTML page in which one can look around while the plan is carried out."""


def as_gif(film: Film) -> bytes:
    """Return a film as a GIF that is shown again and again."""
    from PIL import Image

    # With the same colours in all pictures, only what changes from one to the next takes up room.
    colours = _contact_sheet(film).quantize()
    first, *others = (
        picture.quantize(palette=colours, dither=Image.Dither.NONE) for picture in film.pictures
    )
    pauses = list(film.milliseconds)
    buffer = io.BytesIO()
    first.save(
        buffer, format="GIF", save_all=True, append_images=others, duration=pauses, loop=0, disposal=1
    )
    return buffer.getvalue()


def _contact_sheet(film: Film) -> Image:
    """Return all pictures in small, one below the other."""
    from PIL import Image

    width, height = (max(1, length // THUMBNAIL_DIVISOR) for length in film.pictures[0].size)
    sheet = Image.new("RGB", (width, height * len(film.pictures)))
    for number, picture in enumerate(film.pictures):
        sheet.paste(picture.resize((width, height), Image.Resampling.NEAREST), (0, number * height))
    return sheet


def as_mp4(film: Film) -> bytes:
    """Return a film as an MP4 video, in which each picture is repeated for as long as it is shown."""
    ffmpeg = import_ffmpeg()
    # Most players want widths and heights that are even.
    width, height = (length // 2 * 2 for length in film.pictures[0].size)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        # On one thread the same pictures are the same bytes on every machine.
        writer = ffmpeg.write_frames(
            str(path),
            (width, height),
            fps=FRAMES_PER_SECOND,
            macro_block_size=2,
            output_params=["-threads", "1", "-movflags", "+faststart", "-bitexact"],
        )
        writer.send(None)
        for picture, milliseconds in zip(film.pictures, film.milliseconds, strict=True):
            pixels = np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:height, :width])
            for _ in range(max(1, round(milliseconds * FRAMES_PER_SECOND / 1000))):
                writer.send(pixels)
        writer.close()
        return path.read_bytes()


def import_ffmpeg() -> Any:
    """Return the module that writes videos, or raise an error that says how to install it."""
    try:
        import imageio_ffmpeg
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            "MP4 videos need imageio-ffmpeg, which is not installed. Install it from the checkout: "
            f"{install_command('household')}, or make a GIF instead."
        ) from error
    return imageio_ffmpeg


DOTS_PER_INCH = 100
# In inches; a lower sheet would not hold the longest caption.
CAPTION_WIDTH = 3.4
MIN_HEIGHT = 2.0
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
    captions = make_captions(result.steps, result.expected_atoms(goal), result.states)
    return film_states(env, result.states, captions, goal)


def film_states(
    env: Environment, states: Sequence[State], captions: Sequence[Caption], goal: AbstractState
) -> Film:
    """Return a film with one picture for each state of a plan."""
    check_captions(states, captions)
    frames = [_frame(env, state, caption, goal) for state, caption in zip(states, captions, strict=True)]
    pauses = [FRAME_MILLISECONDS] * (len(frames) - 1) + [LAST_FRAME_MILLISECONDS]
    return Film(tuple(frames), tuple(pauses))


def draw_caption(caption: Caption, height: float) -> Image:
    """Return the sheet with a caption that goes beside a picture of that height in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(CAPTION_WIDTH, height), dpi=DOTS_PER_INCH, facecolor=palette.BACKGROUND)
    lines = caption_lines(caption, CAPTION_WIDTH - 2 * MARGIN, height - 2 * MARGIN)
    draw_panel(figure, (0.0, 0.0, CAPTION_WIDTH, height), lines)
    return _as_image(figure)


def _frame(env: Environment, state: State, caption: Caption, goal: AbstractState) -> Image:
    from matplotlib.figure import Figure

    width = env.picture_size[0]
    height = max(env.picture_size[1] + 2 * MARGIN, MIN_HEIGHT)
    figure = Figure(
        figsize=(width + CAPTION_WIDTH, height), dpi=DOTS_PER_INCH, facecolor=palette.BACKGROUND
    )
    inside = width - 2 * MARGIN
    picture = inside * env.picture_size[1] / width
    draw_panel(figure, (0.0, 0.0, width, height), ())
    env.draw(state, add_axes(figure, (MARGIN, (height - picture) / 2, inside, picture)), goal)
    draw_panel(
        figure, (width, 0.0, CAPTION_WIDTH, height), caption_lines(caption, CAPTION_WIDTH - 2 * MARGIN)
    )
    return _as_image(figure)


def _as_image(figure: Figure) -> Image:
    from PIL import Image

    return Image.open(io.BytesIO(as_png(figure))).convert("RGB")
