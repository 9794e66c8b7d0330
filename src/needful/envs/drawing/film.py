"""Moving pictures, as the bytes of GIF and MP4 files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from needful.core.atoms import AbstractState
from needful.core.plans import PlanningResult
from needful.errors import InvalidInputError
from needful.extras import install_command

if TYPE_CHECKING:
    from PIL.Image import Image

FRAMES_PER_SECOND = 10
SHRUNK = 3  # how many times smaller pictures are on a contact sheet


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

    width, height = (max(1, length // SHRUNK) for length in film.pictures[0].size)
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
