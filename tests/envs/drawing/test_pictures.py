from __future__ import annotations

import io
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from envs.plan_following import follow
from needful.core.plans import necessary_atoms
from needful.core.state import State
from needful.envs.catalogue import environment_names, make_environment
from needful.envs.cluttered_1d import DOT, GRASPED, NEXT_TO, ROBOT, Cluttered1D
from needful.envs.contract import Split
from needful.envs.drawing import palette
from needful.envs.drawing.pictures import Caption, draw_film_strip, draw_state, make_captions
from needful.envs.screws import GRIPPER, IN_RECEPTACLE, RECEPTACLE, SCREW, Screws
from needful.errors import InvalidInputError

LINE = Cluttered1D()
ROBBY, DOT0, DOT1, DOT2 = ROBOT("robby"), DOT("dot0"), DOT("dot1"), DOT("dot2")
START = State({ROBBY: (10.0,), DOT0: (10.2, 0.0), DOT1: (40.0, 0.0), DOT2: (41.0, 1.0)})
GOAL = frozenset({GRASPED(ROBBY, DOT1), GRASPED(ROBBY, DOT2)})


def empty_axes() -> Axes:
    return Figure().add_subplot()


def pixels(png: bytes) -> np.ndarray:
    return matplotlib.image.imread(io.BytesIO(png), format="png")


def colours_in(png: bytes) -> set[tuple[int, ...]]:
    levels = (pixels(png)[:, :, :3] * 255).round().astype(int)
    return {tuple(map(int, level)) for level in np.unique(levels.reshape(-1, 3), axis=0)}


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(round(255 * value) for value in to_rgb(colour))


def test_dots_are_coloured_by_what_the_robot_does_with_them() -> None:
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


def test_wanted_dots_bear_their_names_and_neighbours_do_not_overlap() -> None:
    axes = empty_axes()
    LINE.draw(START, axes, GOAL)
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert set(places) == {"robby", "dot1", "dot2"}
    assert places["dot1"][1] != places["dot2"][1]


def test_the_wanted_screw_is_gold_and_lies_where_it_lies() -> None:
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
def test_a_picture_has_its_size_and_is_the_same_each_time(name: str) -> None:
    env = make_environment(name)
    (task,) = env.tasks(Split.TEST, 1, seed=0)
    one, two = (draw_state(env, task.initial_state, task.goal) for _ in range(2))
    height, width, _ = pixels(one).shape
    assert (width, height) == tuple(int(160 * inches) for inches in env.picture_size)
    assert one == two


def test_captions_tell_which_subgoal_atoms_hold() -> None:
    move, grasp = LINE.oracle_model().operators
    plan = (move.ground((ROBBY, DOT1)), grasp.ground((ROBBY, DOT1)))
    states = follow(LINE, START, plan)
    subgoals = necessary_atoms(plan, GOAL)
    assert make_captions(plan, subgoals, states) == (
        Caption("start", holds=(GRASPED(ROBBY, DOT2),)),
        Caption("1. Move(robby, dot1)", holds=(GRASPED(ROBBY, DOT2), NEXT_TO(ROBBY, DOT1))),
        Caption("2. Grasp(robby, dot1)", holds=(GRASPED(ROBBY, DOT1), GRASPED(ROBBY, DOT2))),
    )
    # An attempt that stopped where it started, judged by what the move should have brought about.
    stopped = make_captions(plan, subgoals, [START, START])
    assert stopped[1].missing == (NEXT_TO(ROBBY, DOT1),)
    with pytest.raises(InvalidInputError, match="at most 3 states"):
        make_captions(plan, subgoals, [*states, START])


def test_a_film_strip_grows_with_its_states_and_shows_what_fails() -> None:
    good, bad = (
        Caption("start", holds=(GRASPED(ROBBY, DOT2),)),
        Caption("start", missing=(GRASPED(ROBBY, DOT2),)),
    )
    short, long = (
        pixels(draw_film_strip(LINE, [START] * count, [good] * count, GOAL)).shape[:2] for count in (2, 5)
    )
    assert short[1] == long[1]
    assert long[0] == pytest.approx(3 * short[0], abs=3)
    empty = frozenset(GOAL - GOAL)
    no_robot_near = START.replace({DOT0: {"grasped": 1.0}, DOT1: {"grasped": 1.0}})
    for caption, marked in ((good, False), (bad, True)):
        strip = draw_film_strip(LINE, [no_robot_near], [caption], empty)
        assert (rgb(palette.RED) in colours_in(strip)) is marked


def test_a_long_caption_is_cut_short() -> None:
    heights = []
    for count in (5, 6, 7, 30):
        caption = Caption("start", holds=tuple(GRASPED(ROBBY, DOT(f"dot{n}")) for n in range(count)))
        heights.append(pixels(draw_film_strip(LINE, [START], [caption], GOAL)).shape[0])
    assert heights[0] < heights[1] == heights[2] == heights[3]


@pytest.mark.parametrize("captions", [[], [Caption("one"), Caption("two")]])
def test_a_film_strip_needs_a_caption_for_each_state(captions: list[Caption]) -> None:
    with pytest.raises(InvalidInputError, match="a caption for each"):
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
