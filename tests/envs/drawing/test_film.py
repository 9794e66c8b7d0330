"""Tests of films as GIF and MP4 files."""

from __future__ import annotations

import io
import subprocess
import sys

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image, ImageSequence

from envs.plan_following import follow
from needful.core.plans import Outcome, PlanningResult, necessary_atoms
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.envs.drawing.film import Film, as_gif, as_mp4, film_plan, import_ffmpeg
from needful.errors import InvalidInputError

COLOURS = ((220, 30, 30), (30, 160, 40), (40, 60, 210))


def striped(width: int, height: int) -> Film:
    """Return a film in which a coloured stripe moves to the right."""
    pictures = []
    for number, colour in enumerate(COLOURS):
        pixels = np.full((height, width, 3), 240, dtype=np.uint8)
        pixels[:, 20 * number : 20 * number + 20] = colour
        pictures.append(Image.fromarray(pixels))
    return Film(tuple(pictures), (100, 400, 1000))


def test_a_gif_has_the_pictures_and_their_durations() -> None:
    film = striped(90, 30)
    gif = Image.open(io.BytesIO(as_gif(film)))
    frames = [
        (frame.info["duration"], np.asarray(frame.convert("RGB"))) for frame in ImageSequence.Iterator(gif)
    ]
    assert tuple(duration for duration, _ in frames) == film.milliseconds
    for (_, pixels), picture in zip(frames, film.pictures, strict=True):
        assert np.abs(pixels.astype(int) - np.asarray(picture)).max() <= 8
    assert gif.info["loop"] == 0


def test_unchanged_pixels_take_no_space_in_a_gif() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    still = Image.fromarray(noise)
    moving = noise.copy()
    moving[:4, :4] = 0
    one = len(as_gif(Film((still,), (100,))))
    pictures = tuple(Image.fromarray(moving) if number % 2 else still for number in range(10))
    assert len(as_gif(Film(pictures, (100,) * 10))) < 1.5 * one


def test_a_video_repeats_each_picture_for_its_duration(tmp_path) -> None:
    film = striped(91, 61)  # odd sizes are cropped
    path = tmp_path / "film.mp4"
    path.write_bytes(as_mp4(film))
    assert as_mp4(film) == path.read_bytes()
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True)
    assert b"90x60" in raw.stderr
    assert b"10 fps" in raw.stderr
    frames = np.frombuffer(raw.stdout, np.uint8).reshape(-1, 60, 90, 3).astype(int)
    assert len(frames) == 1 + 4 + 10
    for index, number in ((0, 0), (1, 1), (4, 1), (5, 2), (14, 2)):
        assert np.abs(frames[index][30, 20 * number + 10] - COLOURS[number]).max() < 40


def test_the_error_without_ffmpeg_names_the_install_command(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'needful\[household\]'"):
        import_ffmpeg()


def test_a_film_of_a_plan_has_one_frame_per_state_and_holds_the_last_one() -> None:
    env = make_environment("cluttered-1d")
    task = env.task(Split.TEST, 0, seed=0)
    move, grasp = env.oracle_model().operators
    (atom,) = task.goal
    plan = (move.ground(atom.objects), grasp.ground(atom.objects))
    states = tuple(follow(env, task.initial_state, plan))
    result = PlanningResult(Outcome.SOLVED, plan, subgoals=necessary_atoms(plan, task.goal), states=states)
    film = film_plan(env, result, task.goal)
    assert film.milliseconds == (1200, 1200, 3000)
    assert len({picture.tobytes() for picture in film.pictures}) == len(states) == 3
    assert as_gif(film) == as_gif(film_plan(env, result, task.goal))


def test_a_film_of_a_plan_needs_states() -> None:
    env = make_environment("cluttered-1d")
    with pytest.raises(InvalidInputError, match="at least one state"):
        film_plan(env, PlanningResult(Outcome.TIMEOUT), frozenset())
