"""Pictures of houses; without OpenGL they are skipped, but for the one that says so."""

from __future__ import annotations

import mujoco.egl
import numpy as np
import pytest

from needful.envs.household.scene.scene import ROBOT_OBJECT
from needful.envs.household.simulation.world import World
from needful.envs.household.view.rendering import Camera, HouseRenderer, overview_camera
from needful.errors import InvalidInputError
from tiny_house import named, tiny_scene

WORLD = World(tiny_scene())
STATE = WORLD.settled()


@pytest.fixture(scope="module")
def renderer():
    try:
        made = HouseRenderer(WORLD.model, 160, 120)
    except InvalidInputError as error:
        pytest.skip(str(error))
    with made:
        yield made


def test_pictures_are_arrays_and_always_the_same(renderer):
    picture = renderer.frame(STATE)
    assert picture.shape == (120, 160, 3)
    assert picture.dtype == np.uint8
    assert picture.std() > 10
    assert (renderer.frame(STATE) == picture).all()


def test_what_changes_is_seen(renderer):
    picture = renderer.frame(STATE)
    moved = STATE.replace({ROBOT_OBJECT: {"x": 2.0, "y": 1.5, "hand_x": 2.0, "hand_y": 1.5}})
    opened = STATE.replace({named(STATE)["package"]: {"joint": 1.0}})
    for other in (moved, opened):
        different = (renderer.frame(other) != picture).any(axis=2)
        assert 0.0005 < different.mean() < 0.2


def test_walls_do_not_hide_the_rooms(renderer):
    # From the near side one looks over the near wall onto the package behind it.
    close = Camera((2.8, 0.9, 0.1), 3.0)
    without = STATE.replace({named(STATE)["package"]: {"x": 100.0}})
    assert (renderer.frame(STATE, close) != renderer.frame(without, close)).any(axis=2).mean() > 0.01


@pytest.mark.parametrize("width", [120, 160, 240])
def test_an_overview_shows_all_and_wastes_no_room(width):
    try:
        made = HouseRenderer(WORLD.model, width, 120)
    except InvalidInputError as error:
        pytest.skip(str(error))
    with made:
        picture = made.frame(STATE, overview_camera(tiny_scene(), aspect=width / 120)).astype(int)
    house = np.abs(picture - picture[0, 0]).max(axis=2) > 8
    rows, columns = np.flatnonzero(house.any(axis=1)), np.flatnonzero(house.any(axis=0))
    assert rows[0] > 0
    assert rows[-1] < 119
    assert columns[0] > 0
    assert columns[-1] < width - 1
    # One of the two is what keeps the camera away.
    assert max((rows[-1] - rows[0]) / 120, (columns[-1] - columns[0]) / width) > 0.85


def test_cameras_see_rooms():
    house, room = overview_camera(tiny_scene()), overview_camera(tiny_scene(), ("bedroom",))
    assert house.centre[0] == pytest.approx(4.0)
    assert room.centre[0] == pytest.approx(2.0)
    assert room.distance < house.distance
    with pytest.raises(InvalidInputError, match=r"no room 'garage'.*bedroom, living_room"):
        overview_camera(tiny_scene(), ("garage",))


def test_without_opengl_one_is_told_what_to_do(monkeypatch):
    def broken(width, height):
        raise RuntimeError("no display")

    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(mujoco.egl, "GLContext", broken)
    with pytest.raises(InvalidInputError, match=r"no display.*MUJOCO_GL=egl.*libosmesa6"):
        HouseRenderer(WORLD.model, 160, 120)


def test_a_context_in_which_nothing_can_be_drawn_is_no_traceback(renderer, monkeypatch):
    """Without a screen, GLFW makes a context of no use and only warns of it."""

    def broken(model, scale):
        raise mujoco.FatalError("an OpenGL platform library has not been loaded")

    monkeypatch.setattr(mujoco, "MjrContext", broken)
    with pytest.raises(InvalidInputError, match=r"has not been loaded\. Set MUJOCO_GL=egl"):
        HouseRenderer(WORLD.model, 160, 120)
