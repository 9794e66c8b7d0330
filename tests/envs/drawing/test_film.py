"""Tests of films as GIF and MP4 files."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image, ImageSequence

from envs.plan_following import follow
from needful.abstraction import abstract
from needful.core.failure_causes import explain_failure
from needful.core.plans import Draw, Failure, Outcome, PlanningResult, necessary_atoms
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment, Split
from needful.envs.drawing import palette
from needful.envs.drawing.film import (
    MOTION_FRAMES,
    MOTION_MILLISECONDS,
    Film,
    PlanCaptions,
    as_gif,
    as_mp4,
    draw_caption,
    film_plan,
    import_ffmpeg,
)
from needful.envs.drawing.pictures import Caption, draw_film_strip, make_captions
from needful.envs.drawing.tries import reason_lines
from needful.errors import InvalidInputError
from needful.reports.notebook import plot_plan

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
    assert b"20 fps" in raw.stderr
    frames = np.frombuffer(raw.stdout, np.uint8).reshape(-1, 60, 90, 3).astype(int)
    assert len(frames) == 2 + 8 + 20
    for index, number in ((0, 0), (2, 1), (9, 1), (10, 2), (29, 2)):
        assert np.abs(frames[index][30, 20 * number + 10] - COLOURS[number]).max() < 40


def test_the_error_without_ffmpeg_names_the_install_command(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'needful\[household\]'"):
        import_ffmpeg()


def one_dot_plan() -> tuple[Environment, Task, PlanningResult]:
    """Return a plan that moves to a dot and grasps it."""
    env = make_environment("cluttered-1d")
    task = env.task(Split.TEST, 0, seed=0)
    move, grasp = env.oracle_model().operators
    (atom,) = task.goal
    plan = (move.ground(atom.objects), grasp.ground(atom.objects))
    states = tuple(follow(env, task.initial_state, plan))
    result = PlanningResult(Outcome.SOLVED, plan, subgoals=necessary_atoms(plan, task.goal), states=states)
    return env, task, result


def test_a_film_of_a_plan_stops_at_each_state_and_moves_between_them() -> None:
    env, task, result = one_dot_plan()
    states = result.states
    film = film_plan(env, result, task.goal)
    assert len(film.pictures) == len(film.milliseconds)
    stops = [number for number, duration in enumerate(film.milliseconds) if duration > MOTION_MILLISECONDS]
    assert [film.milliseconds[number] for number in stops] == [1200, 1200, 3000]
    assert len({film.pictures[number].tobytes() for number in stops}) == len(states) == 3
    moving = [film.pictures[number] for number in range(stops[0] + 1, stops[1])]
    assert len({picture.tobytes() for picture in moving}) == len(moving) == MOTION_FRAMES - 1
    assert as_gif(film) == as_gif(film_plan(env, result, task.goal))


def missed_grasp() -> tuple[Environment, Task, PlanningResult]:
    """Return a plan whose last step failed: it could not start once, and missed its effect twice."""
    env, task, result = one_dot_plan()
    before, (grasped,) = result.states[1], tuple(task.goal)
    robot, dot = grasped.objects
    landed = [before.replace({dot: {"x": before.get(robot, "x") + shift}}) for shift in (1.0, 3.0)]
    draws = (
        Draw((0.0, 0.0), Outcome.NOT_INITIABLE),
        *(Draw((0.5, 0.5), Outcome.SUBGOAL_MISSED, (grasped,), state=state) for state in landed),
    )
    failure = Failure(1, result.abstract_plan[1], Outcome.SAMPLER_EXHAUSTED, (grasped,), "Missed.", draws)
    failed = replace(result, outcome=failure.outcome, states=result.states[:2], failure=failure)
    return env, task, failed


def test_a_film_of_a_failure_shows_all_tries_and_ends_with_the_best_one() -> None:
    env, task, result = missed_grasp()
    film = film_plan(env, result, task.goal)
    stops = [number for number, duration in enumerate(film.milliseconds) if duration > MOTION_MILLISECONDS]
    assert [film.milliseconds[number] for number in stops] == [1200, 1200, 3000, 3000]
    before, tries = (np.asarray(film.pictures[number]).astype(int) for number in stops[1:3])
    assert before.shape == tries.shape
    orange = list(bytes.fromhex(palette.ORANGE[1:]))
    count_before, count_tries = ((np.abs(one - orange).max(axis=2) < 30).sum() for one in (before, tries))
    assert count_tries > count_before + 100
    shown = result.with_missed_step()
    assert (len(shown.states), shown.actions[-1].parameters) == (3, (0.5, 0.5))
    assert shown.states[2] is result.failure.draws[1].state  # type: ignore[union-attr]


def test_a_strip_of_a_failure_shows_the_tries_where_the_step_started() -> None:
    env, task, result = missed_grasp()
    shown = result.with_missed_step()
    captions = make_captions(shown.steps, shown.expected_atoms(task.goal), shown.states)
    assert result.failure is not None
    strips = [
        draw_film_strip(env, shown.states, captions, task.goal, draws)
        for draws in ((), result.failure.draws)
    ]
    assert strips[0] != strips[1]


def test_tries_are_drawn_once_and_the_picture_counts_those_without_an_outline() -> None:
    env, task, result = missed_grasp()
    assert result.failure is not None
    rejected, *_ = result.failure.draws
    (grasped,) = task.goal
    stuck = Draw((0.5, 0.5), Outcome.SUBGOAL_MISSED, (grasped,), state=result.states[-1])
    failure = replace(result.failure, draws=(rejected, stuck))
    figure = plot_plan(replace(result, failure=failure), env, task)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert texts.count("1 × could not start") == 1
    assert texts.count("without an outline: 1 could not start, 1 moved nothing") == 1


def test_pictures_and_films_of_a_failure_give_the_cause() -> None:
    env, task, result = missed_grasp()
    explained, shown = explain_failure(result), result.with_missed_step()
    assert explained is not None
    texts = " ".join(text.get_text().strip() for text in plot_plan(result, env, task).texts)
    assert texts.count(explained.cause) == 1
    captions = PlanCaptions(shown, task.goal, env.vocabulary.predicates)
    for caption in (captions.still(2, shown.states[2]), captions.tries(1, shown.states[1])):
        assert [line.text for line in caption.notes] == [explained.cause]
        without = replace(caption, notes=())
        for size in ((6.0, 2.0), (3.0, 4.0)):
            assert draw_caption(caption, *size).tobytes() != draw_caption(without, *size).tobytes()
    assert captions.still(1, shown.states[1]).notes == ()


def test_the_caption_of_the_tries_counts_those_that_are_not_listed() -> None:
    env, task, result = missed_grasp()
    assert result.failure is not None
    many = replace(result, failure=replace(result.failure, unlisted=900))
    captions = PlanCaptions(many, task.goal, env.vocabulary.predicates)
    assert captions.tries(1, many.states[1]).title.endswith(": 903 tries")


def test_reasons_of_tries_are_listed_with_their_numbers() -> None:
    _, task, result = missed_grasp()
    assert result.failure is not None
    lines = reason_lines(result.failure.draws)
    assert [line.text for line in lines] == [f"2 × missed {next(iter(task.goal))}", "1 × could not start"]
    assert [line.colour for line in lines] == [palette.ORANGE, palette.PURPLE]


def test_an_atom_that_does_not_hold_yet_is_not_missing() -> None:
    env, task, result = one_dot_plan()
    (grasped,) = task.goal
    captions = PlanCaptions(result, task.goal, env.vocabulary.predicates)
    moving = captions.moving(2, result.states[1])
    assert (moving.missing, moving.pending) == ((), (grasped,))
    assert grasped in moving.added
    late = captions.still(2, result.states[1])
    assert (late.missing, late.pending) == ((grasped,), ())
    assert captions.still(2, result.states[2]).holds == (grasped,)


def test_captions_list_changes_that_the_operator_does_not_predict() -> None:
    env, task, result = one_dot_plan()
    captions = PlanCaptions(result, task.goal, env.vocabulary.predicates)
    assert captions.still(0, result.states[0]).unpredicted == ()
    changes = captions.still(1, result.states[1]).unpredicted
    before, after = (abstract(state, env.vocabulary.predicates) for state in result.states[:2])
    step = result.abstract_plan[0]
    expected = {f"+ {atom}" for atom in after - before - step.add_effects}
    expected |= {f"− {atom}" for atom in before - after - step.delete_effects}
    assert set(changes) == expected


def test_a_caption_shows_missing_atoms_in_red_and_unpredicted_changes_in_purple() -> None:
    _, task, _ = one_dot_plan()
    atoms = tuple(task.goal)
    cases = {
        palette.RED: Caption("1. Move", missing=atoms),
        palette.GREEN: Caption("1. Move", holds=atoms),
        palette.PURPLE: Caption("1. Move", pending=atoms, unpredicted=("+ A(b)",)),
    }
    for width, height in ((6.0, 1.4), (3.0, 4.0)):
        for colour in cases:
            for shown, caption in cases.items():
                pixels = np.asarray(draw_caption(caption, width, height)).reshape(-1, 3)
                found = (pixels == list(bytes.fromhex(colour[1:]))).all(axis=1).any()
                assert found == (shown == colour)


def test_a_film_of_a_plan_needs_states() -> None:
    env = make_environment("cluttered-1d")
    with pytest.raises(InvalidInputError, match="at least one state"):
        film_plan(env, PlanningResult(Outcome.TIMEOUT), frozenset())
