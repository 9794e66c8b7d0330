"""Rendering of houses; most tests are skipped without OpenGL."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from needful.envs.household.scene.scene import ROBOT_OBJECT
from needful.envs.household.simulation.world import World
from needful.envs.household.view.rendering import Camera, HouseRenderer, overview_camera
from needful.errors import InvalidInputError
from opengl import break_opengl, skip_without_opengl
from tiny_house import named, tiny_scene

WORLD = World(tiny_scene())
STATE = WORLD.settled()


@pytest.fixture(scope="module")
def renderer():
    skip_without_opengl()
    with HouseRenderer(WORLD.model, 160, 120) as made:
        yield made


def test_pictures_are_arrays_and_always_the_same(renderer):
    picture = renderer.frame(STATE)
    assert picture.shape == (120, 160, 3)
    assert picture.dtype == np.uint8
    assert picture.std() > 10
    assert (renderer.frame(STATE) == picture).all()


def test_changes_are_visible(renderer):
    picture = renderer.frame(STATE)
    moved = STATE.replace({ROBOT_OBJECT: {"x": 2.0, "y": 1.5, "hand_x": 2.0, "hand_y": 1.5}})
    opened = STATE.replace({named(STATE)["package"]: {"joint": 1.0}})
    for other in (moved, opened):
        different = (renderer.frame(other) != picture).any(axis=2)
        assert 0.0005 < different.mean() < 0.2


def test_walls_do_not_hide_the_rooms(renderer):
    # The camera looks over the near wall at the package behind it.
    close = Camera((2.8, 0.9, 0.1), 3.0)
    without = STATE.replace({named(STATE)["package"]: {"x": 100.0}})
    assert (renderer.frame(STATE, close) != renderer.frame(without, close)).any(axis=2).mean() > 0.01


@pytest.mark.parametrize(("room", "side"), [("bedroom", 0), ("living_room", -1)])
def test_beside_a_room_is_the_rest_of_the_house(room, side):
    skip_without_opengl()
    with HouseRenderer(WORLD.model, 240, 120) as made:
        picture = made.frame(STATE, overview_camera(tiny_scene(), (room,), aspect=2.0)).astype(int)
    columns = np.flatnonzero((np.abs(picture - picture[0, 0]).max(axis=2) > 8).any(axis=0))
    # The outer wall of the room is near the edge of the picture, and nothing of the room is cut off.
    assert 0 < np.abs(columns[side] - (0, 239)[side]) < 24


@pytest.mark.parametrize("width", [120, 160, 240])
def test_an_overview_shows_the_whole_house_and_fills_the_picture(width):
    skip_without_opengl()
    with HouseRenderer(WORLD.model, width, 120) as made:
        picture = made.frame(STATE, overview_camera(tiny_scene(), aspect=width / 120)).astype(int)
    house = np.abs(picture - picture[0, 0]).max(axis=2) > 8
    rows, columns = np.flatnonzero(house.any(axis=1)), np.flatnonzero(house.any(axis=0))
    assert rows[0] > 0
    assert rows[-1] < 119
    assert columns[0] > 0
    assert columns[-1] < width - 1
    # The house fills the picture in at least one direction.
    assert max((rows[-1] - rows[0]) / 120, (columns[-1] - columns[0]) / width) > 0.85


def test_cameras_see_rooms():
    house, room = overview_camera(tiny_scene()), overview_camera(tiny_scene(), ("bedroom",))
    assert house.centre[0] == pytest.approx(4.0)
    assert room.distance < house.distance
    with pytest.raises(InvalidInputError, match=r"no room 'garage'.*bedroom, living_room"):
        overview_camera(tiny_scene(), ("garage",))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("no display"),
        AttributeError("'NoneType' object has no attribute 'eglQueryString'"),
        ImportError("Unable to load OpenGL library"),
    ],
)
def test_without_opengl_the_error_names_what_to_install(monkeypatch, error):
    break_opengl(monkeypatch, error)
    with pytest.raises(InvalidInputError) as raised:
        HouseRenderer(WORLD.model, 160, 120)
    for fact in (str(error), "MUJOCO_GL=egl", "libegl1", "MUJOCO_GL=osmesa", "libosmesa6"):
        assert fact in str(raised.value)


def test_an_unusable_context_is_the_same_error(renderer, monkeypatch):
    """Without a display, GLFW only warns, and the first use of its context fails."""

    def broken(model, scale):
        raise mujoco.FatalError("an OpenGL platform library has not been loaded")

    monkeypatch.setattr(mujoco, "MjrContext", broken)
    with pytest.raises(InvalidInputError, match=r"has not been loaded.*MUJOCO_GL=egl"):
        HouseRenderer(WORLD.model, 160, 120)
