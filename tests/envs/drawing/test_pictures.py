"""Tests of pictures, film strips and captions."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from envs.plan_following import follow
from needful.core.atoms import Predicate
from needful.core.objects import Type
from needful.core.plans import necessary_atoms
from needful.core.state import State
from needful.envs.catalogue import environment_names, make_environment
from needful.envs.cluttered_1d import DOT, GRASPED, NEXT_TO, ROBOT, Cluttered1D
from needful.envs.contract import Split
from needful.envs.drawing import palette
from needful.envs.drawing.pictures import (
    Caption,
    caption_lines,
    draw_film_strip,
    draw_state,
    make_captions,
)
from needful.envs.screws import GRIPPER, IN_RECEPTACLE, RECEPTACLE, SCREW, Screws
from needful.errors import InvalidInputError

LINE = Cluttered1D()
ROBBY, DOT0, DOT1, DOT2 = ROBOT("robby"), DOT("dot0"), DOT("dot1"), DOT("dot2")
START = State({ROBBY: (10.0,), DOT0: (10.2, 0.0), DOT1: (40.0, 0.0), DOT2: (41.0, 1.0)})
GOAL = frozenset({GRASPED(ROBBY, DOT1), GRASPED(ROBBY, DOT2)})

CUP = Type("cup")
CLEAN = Predicate("Clean", (CUP,))


def empty_axes() -> Axes:
    return Figure().add_subplot()


def pixels(png: bytes) -> np.ndarray:
    return matplotlib.image.imread(io.BytesIO(png), format="png")


def colours_in(png: bytes) -> set[tuple[int, ...]]:
    levels = (pixels(png)[:, :, :3] * 255).round().astype(int)
    return {tuple(map(int, level)) for level in np.unique(levels.reshape(-1, 3), axis=0)}


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(round(255 * value) for value in to_rgb(colour))


def test_dots_are_coloured_by_their_condition() -> None:
    axes = empty_axes()
    LINE.draw(START, axes, GOAL)
    drawn = [
        (round(float(x), 3), to_hex(colour))
        for points in axes.collections
        for (x, _), colour in zip(points.get_offsets(), points.get_facecolor(), strict=True)
    ]
    assert sorted(drawn) == sorted(
        [(10.0, palette.BLUE), (10.2, palette.ORANGE), (40.0, palette.RED), (41.0, palette.GREEN)]
    )


def test_goal_dots_are_labelled_and_labels_do_not_overlap() -> None:
    axes = empty_axes()
    LINE.draw(START, axes, GOAL)
    positions = {text.get_text(): text.get_position() for text in axes.texts}
    assert set(positions) == {"robby", "dot1", "dot2"}
    assert positions["dot1"][1] != positions["dot2"][1]


def test_the_goal_screw_is_gold_and_drawn_to_scale() -> None:
    wanted, other = SCREW("screw_0"), SCREW("screw_1")
    shelf = RECEPTACLE("receptacle")
    state = State(
        {
            wanted: (1.0, 0.025, 0.0),
            other: (-1.0, 0.025, 0.0),
            shelf: (4.7, 2.5),
            GRIPPER("robby"): (0.0, 2.5),
        }
    )
    axes = empty_axes()
    Screws().draw(state, axes, frozenset({IN_RECEPTACLE(wanted, shelf)}))
    squares = {
        to_hex(screws.get_facecolor()[0]): path.get_extents()
        for screws in axes.collections
        for path in screws.get_paths()
    }
    assert set(squares) == {palette.GOLD, palette.GREY}
    assert squares[palette.GOLD].x0 == pytest.approx(0.975)
    assert squares[palette.GREY].x1 == pytest.approx(-0.975)


@pytest.mark.parametrize("name", environment_names())
def test_a_picture_has_its_size_and_is_reproducible(name: str) -> None:
    env = make_environment(name)
    (task,) = env.tasks(Split.TEST, 1, seed=0)
    one, two = (draw_state(env, task.initial_state, task.goal) for _ in range(2))
    height, width, _ = pixels(one).shape
    assert (width, height) == tuple(int(160 * inches) for inches in env.picture_size)
    assert one == two


def test_captions_list_the_subgoal_atoms_that_hold() -> None:
    move, grasp = LINE.oracle_model().operators
    plan = (move.ground((ROBBY, DOT1)), grasp.ground((ROBBY, DOT1)))
    states = follow(LINE, START, plan)
    subgoals = necessary_atoms(plan, GOAL)
    assert make_captions(plan, subgoals, states) == (
        Caption("start", holds=(GRASPED(ROBBY, DOT2),)),
        Caption("1. Move(robby, dot1)", holds=(GRASPED(ROBBY, DOT2), NEXT_TO(ROBBY, DOT1))),
        Caption("2. Grasp(robby, dot1)", holds=(GRASPED(ROBBY, DOT1), GRASPED(ROBBY, DOT2))),
    )
    # A move without effect: the caption lists the atom that the move should have added.
    stopped = make_captions(plan, subgoals, [START, START])
    assert stopped[1].missing == (NEXT_TO(ROBBY, DOT1),)
    with pytest.raises(InvalidInputError, match="at most 3 states"):
        make_captions(plan, subgoals, [*states, START])


def test_a_film_strip_grows_with_its_states_and_marks_missing_atoms() -> None:
    good, bad = (
        Caption("start", holds=(GRASPED(ROBBY, DOT2),)),
        Caption("start", missing=(GRASPED(ROBBY, DOT2),)),
    )
    short, long = (
        pixels(draw_film_strip(LINE, [START] * count, [good] * count, GOAL)).shape[:2] for count in (2, 5)
    )
    assert short[1] == long[1]
    assert long[0] == pytest.approx(3 * short[0], abs=3)
    # Captions are above the picture, whose legend is red too.
    captions = (pixels(draw_film_strip(LINE, [START], [caption], GOAL))[:120] for caption in (good, bad))
    red = np.array(rgb(palette.RED))
    marked = [bool((np.round(255 * part[:, :, :3]) == red).all(axis=2).any()) for part in captions]
    assert marked == [False, True]


def test_a_film_strip_shortens_long_captions() -> None:
    heights = []
    for count in (5, 6, 7, 30):
        caption = Caption("start", holds=tuple(GRASPED(ROBBY, DOT(f"dot{n}")) for n in range(count)))
        heights.append(pixels(draw_film_strip(LINE, [START], [caption], GOAL)).shape[0])
    assert heights[0] < heights[1] == heights[2] == heights[3]


def make_long_caption(count: int, name: str = "cup") -> Caption:
    """Return a caption with `count` atoms, of which the last one does not hold."""
    atoms = tuple(CLEAN(CUP(f"{name}{number:02}")) for number in range(count))
    return Caption("1. Wash(cup00)", atoms[:-1], atoms[-1:])


@pytest.mark.parametrize(
    ("count", "lines", "last"),
    [
        (6, 6, "✓ Clean(cup04)"),
        (7, 6, "and 2 more"),
        (11, 11, "✓ Clean(cup09)"),
        (12, 11, "and 2 more"),
        (30, 11, "and 20 more"),
        (30, 31, "✓ Clean(cup28)"),
    ],
)
def test_a_caption_fills_the_available_lines(count: int, lines: int, last: str) -> None:
    found = [line.text for line in caption_lines(make_long_caption(count), 3.0, lines)]
    assert found[:2] == ["1. Wash(cup00)", f"✗ Clean(cup{count - 1:02})"]
    assert found[-1] == last
    assert len(found) == 1 + min(count, lines)


def test_an_atom_on_two_lines_counts_twice() -> None:
    found = caption_lines(make_long_caption(10, name="cup_with_a_very_long_name_"), 2.0, 16)
    assert len(found) <= 17
    assert found[-1].text == "and 3 more"


def test_added_atoms_come_first_and_are_bold() -> None:
    caption = make_long_caption(3)
    caption = replace(caption, added=frozenset(caption.holds[1:]))
    shown = [(line.text, line.weight) for line in caption_lines(caption, 3.0)[1:]]
    assert shown == [("✓ Clean(cup01)", "bold"), ("✗ Clean(cup02)", "normal"), ("✓ Clean(cup00)", "normal")]


@pytest.mark.parametrize("captions", [[], [Caption("one"), Caption("two")]])
def test_a_film_strip_needs_a_caption_for_each_state(captions: list[Caption]) -> None:
    with pytest.raises(InvalidInputError, match="one caption per state"):
        draw_film_strip(LINE, [START], captions, GOAL)


def test_drawing_does_not_touch_pyplot() -> None:
    code = """
import sys
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.envs.drawing.pictures import draw_state
env = make_environment("screws")
(task,) = env.tasks(Split.TEST, 1, seed=0)
draw_state(env, task.initial_state, task.goal)
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
