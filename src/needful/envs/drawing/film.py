"""Films of plans, as bytes of GIF and MP4 files.

A frame shows one state. Its caption has the step that led to the state, and the atoms that the plan expects
in this state.
"""

from __future__ import annotations

import io
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
from needful.errors import importing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

FRAMES_PER_SECOND = 10  # of MP4 videos
THUMBNAIL_DIVISOR = 3  # a thumbnail's width and height are those of the picture, divided by this

DOTS_PER_INCH = 100
# The width of captions and the minimum height of frames (for long captions), in inches.
CAPTION_WIDTH, MIN_HEIGHT = 3.4, 2.0
FRAME_MILLISECONDS = 1_200
LAST_FRAME_MILLISECONDS = 3_000


@dataclass(frozen=True, slots=True)
class Film:
    """A film: pictures of the same size, and the duration of each picture in milliseconds."""

    pictures: tuple[Image, ...]
    milliseconds: tuple[int, ...]


@runtime_checkable
class Filmable(Protocol):
    """A domain with its own methods to show a plan in 3D: as a film, or as an interactive page."""

    def film(self, result: PlanningResult, goal: AbstractState) -> Film:
        """Return a film of a planning result."""

    def page(self, result: PlanningResult, goal: AbstractState) -> str:
        """Return an HTML page that plays the plan and has a movable camera."""


def film_plan(env: Environment, result: PlanningResult, goal: AbstractState) -> Film:
    """Return a film of a planning result.

    If the domain is `Filmable`, its own method makes the film. Otherwise the film has one frame per state.
    """
    if isinstance(env, Filmable):
        return env.film(result, goal)
    captions = make_captions(result.steps, result.expected_atoms(goal), result.states)
    check_captions(result.states, captions)
    frames = tuple(
        _draw_frame(env, state, caption, goal)
        for state, caption in zip(result.states, captions, strict=True)
    )
    return Film(frames, (FRAME_MILLISECONDS,) * (len(frames) - 1) + (LAST_FRAME_MILLISECONDS,))


def as_gif(film: Film) -> bytes:
    """Return a film as the bytes of a GIF file that repeats endlessly."""
    from PIL import Image

    # With one colour palette for all pictures, GIF stores only the pixels that change between pictures.
    colours = _contact_sheet(film).quantize()
    first, *others = (
        picture.quantize(palette=colours, dither=Image.Dither.NONE) for picture in film.pictures
    )
    durations = list(film.milliseconds)
    buffer = io.BytesIO()
    first.save(
        buffer, format="GIF", save_all=True, append_images=others, duration=durations, loop=0, disposal=1
    )
    return buffer.getvalue()


def as_mp4(film: Film) -> bytes:
    """Return a film as the bytes of an MP4 file; each picture is repeated for its duration."""
    ffmpeg = import_ffmpeg()
    # Make width and height even: most video players require it.
    width, height = (length // 2 * 2 for length in film.pictures[0].size)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        # Encode with one thread, so that equal films have equal bytes on every machine.
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
    """Return the module imageio_ffmpeg; raise `MissingExtraError` if it is not installed."""
    with importing_extra("household", "An MP4 film", ", or write a GIF instead"):
        import imageio_ffmpeg
    return imageio_ffmpeg


def draw_caption(caption: Caption, height: float) -> Image:
    """Draw a caption as an image of `height` inches, to be put beside a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(CAPTION_WIDTH, height), dpi=DOTS_PER_INCH, facecolor=palette.BACKGROUND)
    lines = caption_lines(caption, CAPTION_WIDTH - 2 * MARGIN, height - 2 * MARGIN)
    draw_panel(figure, (0.0, 0.0, CAPTION_WIDTH, height), lines)
    return _as_image(figure)


def _contact_sheet(film: Film) -> Image:
    """Return one image with thumbnails of all pictures of a film, one below the other."""
    from PIL import Image

    width, height = (max(1, length // THUMBNAIL_DIVISOR) for length in film.pictures[0].size)
    sheet = Image.new("RGB", (width, height * len(film.pictures)))
    for index, picture in enumerate(film.pictures):
        sheet.paste(picture.resize((width, height), Image.Resampling.NEAREST), (0, index * height))
    return sheet


def _draw_frame(env: Environment, state: State, caption: Caption, goal: AbstractState) -> Image:
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
