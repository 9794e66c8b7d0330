"""Find out whether houses can be rendered on this machine.

MuJoCo loads OpenGL as soon as it is imported. If the library is missing, the import fails with an
AttributeError, so tests must not import `mujoco.egl` themselves.
"""

from __future__ import annotations

from functools import cache

import pytest
from tiny_house import scene_of

from needful.envs.household.simulation.house_model import build_model
from needful.envs.household.view.rendering import HouseRenderer
from needful.errors import NeedfulError


@cache
def opengl_failure() -> str | None:
    """Return why OpenGL does not work here, or None if it does."""
    try:
        HouseRenderer(build_model(scene_of([])), 32, 24).close()
    except NeedfulError as error:
        return str(error)
    return None


def skip_without_opengl() -> None:
    """Skip the calling test, with the reason, if OpenGL does not work."""
    reason = opengl_failure()
    if reason is not None:
        pytest.skip(reason)
