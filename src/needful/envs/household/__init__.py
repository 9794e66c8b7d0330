"""Household activities in procedural houses, simulated by MuJoCo."""

from __future__ import annotations

import os

_GL_VARIABLE = "MUJOCO_GL"


def import_mujoco() -> None:
    """Import MuJoCo, without OpenGL if it is not to be had.

    MuJoCo looks for OpenGL as soon as it is imported, and fails if MUJOCO_GL names what is missing.
    Whoever asks for pictures is told about that; physics goes on. If MuJoCo itself is missing, nothing
    happens: the first module that needs it says so.
    """
    try:
        import mujoco
    except ImportError:
        return
    except Exception:
        wanted = os.environ.get(_GL_VARIABLE)
        os.environ[_GL_VARIABLE] = "disabled"
        try:
            import mujoco  # noqa: F401
        finally:
            os.environ.pop(_GL_VARIABLE)
            if wanted is not None:
                os.environ[_GL_VARIABLE] = wanted


import_mujoco()
