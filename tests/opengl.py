"""Whether houses can be rendered on this machine, for the tests that need OpenGL.

If an OpenGL library is missing, importing `mujoco.egl` fails with an AttributeError. Tests therefore do not
import it; they call `skip_without_opengl`, or `break_opengl` to test the error.
"""

from __future__ import annotations

from functools import cache

import pytest

from needful.envs.household.simulation.house_model import build_model
from needful.envs.household.view import rendering
from needful.envs.household.view.rendering import HouseRenderer
from needful.errors import NeedfulError
from tiny_house import scene_of


@cache
def opengl_failure() -> str | None:
    """Return why OpenGL does not work, or None if it does."""
    try:
        HouseRenderer(build_model(scene_of([])), 32, 24).close()
    except NeedfulError as error:
        return str(error)
    return None


def skip_without_opengl() -> None:
    """Skip the calling test or fixture if OpenGL does not work; the reason names what to install."""
    reason = opengl_failure()
    if reason is not None:
        pytest.skip(reason)


def break_opengl(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Make OpenGL contexts fail with an error, as on a Linux machine without OpenGL libraries."""

    def failing_import(name: str) -> None:
        raise error

    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(rendering, "import_module", failing_import)
