"""Render 3D pictures of houses with MuJoCo, without a window.

Rendering needs OpenGL: `MUJOCO_GL=egl`, which is the default on Linux, or `MUJOCO_GL=osmesa`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from types import TracebackType
from typing import Any

import mujoco
import numpy as np

from needful.core.state import State
from needful.envs.household.scene.scene import SHOULDER_HEIGHT, Scene
from needful.envs.household.simulation.house_model import OWNER_HOUSE, HouseModel
from needful.envs.household.simulation.snapshot import apply_snapshot, as_snapshot
from needful.errors import InvalidInputError

# In pictures, walls are transparent and end at this height (metres), so that the rooms are visible.
WALL_CUT_HEIGHT = 0.9
WALL_OPACITY = 0.35
TRY_OPACITY = 0.45

# An upper bound of the height of furniture (metres), and the fraction of the picture that rooms may fill.
MAX_FURNITURE_HEIGHT, FILL_FRACTION = 1.8, 0.97
ELEVATION = -55.0
FIELD_OF_VIEW = 45.0  # MuJoCo's default vertical field of view, in degrees
# AHEAD is the viewing direction of an overview, and UP points to the top of its picture. At a distance of
# d metres from the camera, rooms may reach d * HALF_HEIGHT metres above and below the picture's middle.
AHEAD = np.array([0.0, np.cos(np.radians(ELEVATION)), np.sin(np.radians(ELEVATION))])
UP = np.array([0.0, -np.sin(np.radians(ELEVATION)), np.cos(np.radians(ELEVATION))])
HALF_HEIGHT = FILL_FRACTION * np.tan(np.radians(FIELD_OF_VIEW) / 2)

ARM_RADIUS, ARM_COLOUR = 0.025, (0.55, 0.58, 0.63, 1.0)
MAX_GEOMS = 2000

# MuJoCo's modules for OpenGL contexts without a window, by the value of the variable MUJOCO_GL.
CONTEXTS = {"egl": "mujoco.egl", "osmesa": "mujoco.osmesa"}


@dataclass(frozen=True, slots=True)
class Camera:
    """The position and direction of a camera.

    Attributes:
        centre: the point in the middle of the picture.
        distance: the distance between the camera and this point, in metres.
        azimuth: the horizontal viewing direction in degrees; 90 looks along +y.
        elevation: the vertical viewing direction in degrees; negative looks down.
    """

    centre: tuple[float, float, float]
    distance: float
    azimuth: float = 90.0
    elevation: float = ELEVATION


def overview_camera(scene: Scene, rooms: tuple[str, ...] = (), aspect: float = 4 / 3) -> Camera:
    """Return a camera that shows the given rooms obliquely from above; without rooms, the whole house.

    `aspect` is the ratio of the picture's width to its height. If the picture is wider than the rooms, the
    camera moves sideways towards the middle of the house, but keeps all given rooms in the picture. So the
    picture shows more of the house and less of the outside.
    """
    chosen = [room for room in scene.rooms if not rooms or room.name in rooms]
    if not chosen:
        known = ", ".join(sorted(room.name for room in scene.rooms))
        raise InvalidInputError(f"The house has no room {', '.join(rooms)!r}. Its rooms: {known}.")
    low = np.min([room.low for room in chosen], axis=0)
    high = np.max([room.high for room in chosen], axis=0)
    corners = np.array(list(product((low[0], high[0]), (low[1], high[1]), (0.0, MAX_FURNITURE_HEIGHT))))
    x, y = ((low + high) / 2).tolist()
    # Perspective enlarges near objects, so the centre of the rooms is not the best centre of the picture.
    # Therefore, compare several centres along y.
    cameras = [
        (*_fit_camera(corners - (x, y + shift, 0.3), aspect), y + shift)
        for shift in np.linspace(-1.5, 1.5, 61).tolist()
    ]
    _, distance, y = min(cameras)
    middle = (min(room.low[0] for room in scene.rooms) + max(room.high[0] for room in scene.rooms)) / 2
    widths = aspect * HALF_HEIGHT * (distance + (corners - (x, y, 0.3)) @ AHEAD)
    x = min(max(middle, (corners[:, 0] - widths).max()), (corners[:, 0] + widths).min())
    return Camera((float(x), y, 0.3), distance)


def _fit_camera(corners: np.ndarray, aspect: float) -> tuple[float, float]:
    """Return how high the rooms reach in the picture, and the smallest camera distance that shows them.

    `corners` are the corners of the rooms, relative to the point that the camera looks at. The first number
    is the largest vertical distance of a corner from the middle of the picture, at this camera distance.
    """
    heights, depths = np.abs(corners @ UP), corners @ AHEAD
    distance = float((np.maximum(heights, np.abs(corners[:, 0]) / aspect) / HALF_HEIGHT - depths).max())
    return round(float((heights / (distance + depths)).max()), 6), distance


class HouseRenderer:
    """Renders pictures of one house; use the renderer in a `with` statement, or call `close` at the end.

    If OpenGL does not work, the constructor raises `InvalidInputError`, which states what to install.
    """

    def __init__(self, model: HouseModel, width: int = 960, height: int = 720) -> None:
        self._model = model
        self._data = mujoco.MjData(model.query_model)
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._scene = mujoco.MjvScene(model.query_model, MAX_GEOMS)
        visual = model.query_model.vis
        visual.global_.offwidth, visual.global_.offheight = width, height
        visual.headlight.ambient[:], visual.headlight.diffuse[:], visual.headlight.specular[:] = (
            0.4,
            0.35,
            0.0,
        )
        self._gl, self._context = _start_opengl(model, width, height)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)

    def __enter__(self) -> HouseRenderer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the OpenGL context; the renderer cannot be used afterwards."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()

    def frame(
        self, state: State, camera: Camera | None = None, tries: Iterable[tuple[State, str]] = ()
    ) -> np.ndarray:
        """Return a picture of a state as an array of height × width × 3 bytes.

        Without a camera, the picture shows the whole house. `tries` are other states, each with a colour
        such as "#ff0000". If a shape has another pose in such a state, a transparent copy of the shape is
        added at this other pose, in this colour.
        """
        self._apply_state(state)
        camera = camera or overview_camera(self._model.scene)
        mujoco_camera = mujoco.MjvCamera()
        mujoco_camera.lookat[:] = camera.centre
        mujoco_camera.distance, mujoco_camera.azimuth, mujoco_camera.elevation = (
            camera.distance,
            camera.azimuth,
            camera.elevation,
        )
        self._gl.make_current()
        mujoco.mjv_updateScene(
            self._model.query_model,
            self._data,
            _options(),
            None,
            mujoco_camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        self._cut_walls()
        self._add_arm()
        for tried, colour in tries:
            self._add_copies(tried, colour)
        pixels = np.empty((self._rect.height, self._rect.width, 3), dtype=np.uint8)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, self._rect, self._context)
        return pixels[::-1].copy()

    def _apply_state(self, state: State) -> None:
        snapshot = as_snapshot(self._model, state)
        apply_snapshot(self._model, self._data, snapshot)
        mujoco.mj_forward(self._model.query_model, self._data)
        x, y = snapshot.robot[:2]
        self._arm = (np.array([x, y, SHOULDER_HEIGHT]), snapshot.hand.copy())

    def _cut_walls(self) -> None:
        owner = self._model.owner
        for geom in self._scene.geoms[: self._scene.ngeom]:
            is_geom = geom.objtype == mujoco.mjtObj.mjOBJ_GEOM
            if is_geom and owner[geom.objid] == OWNER_HOUSE:
                low, high = geom.pos[2] - geom.size[2], min(geom.pos[2] + geom.size[2], WALL_CUT_HEIGHT)
                geom.pos[2], geom.size[2] = (low + high) / 2, max(high - low, 0.0) / 2
                geom.rgba[3] = WALL_OPACITY

    def _add_arm(self) -> None:
        """Add the robot's arm to the picture, as a line from the shoulder to the hand."""
        geom = self._scene.geoms[self._scene.ngeom]
        kind = mujoco.mjtGeom.mjGEOM_CAPSULE
        mujoco.mjv_initGeom(
            geom, kind, np.zeros(3), np.zeros(3), np.zeros(9), np.array(ARM_COLOUR, np.float32)
        )
        mujoco.mjv_connector(geom, kind, ARM_RADIUS, *self._arm)
        self._scene.ngeom += 1

    def _add_copies(self, tried: State, colour: str) -> None:
        """Add transparent copies of the shapes that have another pose in the state `tried`."""
        model, data = self._model.query_model, mujoco.MjData(self._model.query_model)
        apply_snapshot(self._model, data, as_snapshot(self._model, tried))
        mujoco.mj_kinematics(model, data)
        moved = np.abs(data.geom_xpos - self._data.geom_xpos).max(axis=1) > 1e-3
        moved |= np.abs(data.geom_xmat - self._data.geom_xmat).max(axis=1) > 1e-3
        rgba = np.array([*(value / 255 for value in bytes.fromhex(colour[1:])), TRY_OPACITY], np.float32)
        for index in np.flatnonzero(moved)[: MAX_GEOMS - self._scene.ngeom]:
            geom, pose = (
                self._scene.geoms[self._scene.ngeom],
                (data.geom_xpos[index], data.geom_xmat[index]),
            )
            mujoco.mjv_initGeom(geom, model.geom_type[index], model.geom_size[index], *pose, rgba)
            self._scene.ngeom += 1


def _options() -> Any:
    options = mujoco.MjvOption()
    options.geomgroup[:] = 1
    return options


def _start_opengl(model: HouseModel, width: int, height: int) -> tuple[Any, Any]:
    """Create an OpenGL context and make it current; return this context and MuJoCo's rendering context.

    Any failure, even an AttributeError from a missing library, is raised as an `InvalidInputError` that
    describes the remedy.
    """
    backend = os.environ.get("MUJOCO_GL", "")
    # On Linux, use EGL instead of MuJoCo's default, which needs a display.
    wanted = backend or ("egl" if sys.platform.startswith("linux") else "")
    try:
        context = import_module(CONTEXTS.get(wanted, "mujoco.gl_context")).GLContext(width, height)
        context.make_current()
        return context, mujoco.MjrContext(model.query_model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    except Exception as error:
        reason = str(error).rstrip(".")
        raise InvalidInputError(
            f"Rendering houses needs OpenGL, which failed with MUJOCO_GL={backend!r}: {reason}. "
            "Set MUJOCO_GL=egl (Debian: apt install libegl1 libegl-mesa0 libgl1-mesa-dri libopengl0) or "
            "MUJOCO_GL=osmesa (apt install libosmesa6)."
        ) from error
