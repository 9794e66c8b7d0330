"""Pictures of houses in three dimensions, made offscreen.

This needs OpenGL: `MUJOCO_GL=egl`, which is the default on Linux, or `MUJOCO_GL=osmesa`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import mujoco
import numpy as np

from needful.core.state import State
from needful.envs.household.house_model import HOUSE_ITSELF, HouseModel
from needful.envs.household.posing import pose
from needful.envs.household.robot import SHOULDER
from needful.envs.household.scene import Scene
from needful.envs.household.snapshot import as_snapshot
from needful.errors import InvalidInputError

# Walls are cut off at this height, so that one can look into the rooms.
CUT = 0.9
WALL_OPACITY = 0.35

ARM_RADIUS, ARM_COLOUR = 0.025, (0.55, 0.58, 0.63, 1.0)
MOST_GEOMS = 2000


@dataclass(frozen=True, slots=True)
class Camera:
    """Where a picture is taken from.

    Attributes:
        centre: the point that is in the middle of the picture.
        distance: from there, in metres.
        azimuth: the direction of sight in plan, in degrees; 90 looks along +y.
        elevation: how much it looks down, as a negative number of degrees.
    """

    centre: tuple[float, float, float]
    distance: float
    azimuth: float = 90.0
    elevation: float = -55.0


def overview(scene: Scene, rooms: tuple[str, ...] = ()) -> Camera:
    """Return a camera that sees some rooms, or the whole house, from above at an angle."""
    chosen = [room for room in scene.rooms if not rooms or room.name in rooms]
    if not chosen:
        known = ", ".join(sorted(room.name for room in scene.rooms))
        raise InvalidInputError(f"The house has no room {', '.join(rooms)!r}. Its rooms: {known}.")
    low = np.min([room.low for room in chosen], axis=0)
    high = np.max([room.high for room in chosen], axis=0)
    middle = ((low + high) / 2).tolist()
    # The field of view is 45 degrees high and wider than that.
    distance = 1.25 * max(float(high[1] - low[1]), 0.75 * float(high[0] - low[0])) + 0.5
    return Camera((middle[0], middle[1] - 0.1, 0.3), distance)


class HouseRenderer:
    """Makes pictures of the states of one house; close it, or use it in a `with` statement."""

    def __init__(self, model: HouseModel, width: int = 960, height: int = 720) -> None:
        self._model = model
        self._data = mujoco.MjData(model.still)
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._scene = mujoco.MjvScene(model.still, MOST_GEOMS)
        visual = model.still.vis
        visual.global_.offwidth, visual.global_.offheight = width, height
        visual.headlight.ambient[:], visual.headlight.diffuse[:], visual.headlight.specular[:] = (
            0.4,
            0.35,
            0.0,
        )
        self._gl = _start_opengl(width, height)
        self._context = mujoco.MjrContext(model.still, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)

    def __enter__(self) -> HouseRenderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back the memory of the graphics driver."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()

    def frame(self, state: State, camera: Camera | None = None) -> np.ndarray:
        """Return a picture of a state as an array of height × width × 3 bytes."""
        self._show(state)
        camera = camera or overview(self._model.scene)
        eye = mujoco.MjvCamera()
        eye.lookat[:] = camera.centre
        eye.distance, eye.azimuth, eye.elevation = camera.distance, camera.azimuth, camera.elevation
        self._gl.make_current()
        mujoco.mjv_updateScene(
            self._model.still, self._data, _options(), None, eye, mujoco.mjtCatBit.mjCAT_ALL, self._scene
        )
        self._cut_walls()
        self._add_arm()
        pixels = np.empty((self._rect.height, self._rect.width, 3), dtype=np.uint8)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, self._rect, self._context)
        return pixels[::-1].copy()

    def _show(self, state: State) -> None:
        snapshot = as_snapshot(self._model, state)
        pose(self._model, self._data, snapshot)
        mujoco.mj_forward(self._model.still, self._data)
        x, y = snapshot.robot[:2]
        self._arm = (np.array([x, y, SHOULDER]), snapshot.hand.copy())

    def _cut_walls(self) -> None:
        owner = self._model.owner
        for geom in self._scene.geoms[: self._scene.ngeom]:
            is_geom = geom.objtype == mujoco.mjtObj.mjOBJ_GEOM
            if is_geom and owner[geom.objid] == HOUSE_ITSELF:
                low, high = geom.pos[2] - geom.size[2], min(geom.pos[2] + geom.size[2], CUT)
                geom.pos[2], geom.size[2] = (low + high) / 2, max(high - low, 0.0) / 2
                geom.rgba[3] = WALL_OPACITY

    def _add_arm(self) -> None:
        """Draw a line from the robot's shoulder to its hand."""
        geom = self._scene.geoms[self._scene.ngeom]
        kind = mujoco.mjtGeom.mjGEOM_CAPSULE
        mujoco.mjv_initGeom(
            geom, kind, np.zeros(3), np.zeros(3), np.zeros(9), np.array(ARM_COLOUR, np.float32)
        )
        mujoco.mjv_connector(geom, kind, ARM_RADIUS, *self._arm)
        self._scene.ngeom += 1


def _options() -> Any:
    options = mujoco.MjvOption()
    options.geomgroup[:] = 1
    return options


def _start_opengl(width: int, height: int) -> Any:
    """Return a current OpenGL context, or raise an error that says what to install."""
    backend = os.environ.get("MUJOCO_GL", "")
    try:
        if not backend and sys.platform.startswith("linux"):
            # The engine's own default wants a screen.
            from mujoco.egl import GLContext
        else:
            from mujoco.gl_context import GLContext
        context = GLContext(width, height)
        context.make_current()
    except Exception as error:
        raise InvalidInputError(
            f"Pictures of houses need OpenGL, which did not start with MUJOCO_GL={backend!r}: {error}. Set "
            "MUJOCO_GL=egl (Debian: apt install libegl1 libegl-mesa0 libgl1-mesa-dri libopengl0) or "
            "MUJOCO_GL=osmesa (apt install libosmesa6)."
        ) from error
    return context
