"""Household activities in procedural houses, simulated by MuJoCo."""

from __future__ import annotations

import os

_GL_VARIABLE = "MUJOCO_GL"


def import_mujoco() -> None:
    """Import MuJoCo, without OpenGL if OpenGL does not work.

    MuJoCo loads OpenGL when it is imported. If the environment variable MUJOCO_GL names an OpenGL library
    that is missing, the import fails. Physics needs no OpenGL, so this function then repeats the import
    with MUJOCO_GL=disabled. Later, only rendering fails, with an error that names the missing library.

    If MuJoCo is not installed, this function does nothing; the first module that needs MuJoCo raises the
    ImportError.
    """
    try:
        import mujoco
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "mujoco":
            return
        backend = os.environ.get(_GL_VARIABLE)
        os.environ[_GL_VARIABLE] = "disabled"
        try:
            import mujoco  # noqa: F401
        finally:
            os.environ.pop(_GL_VARIABLE)
            if backend is not None:
                os.environ[_GL_VARIABLE] = backend


import_mujoco()
