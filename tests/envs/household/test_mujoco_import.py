"""Without working OpenGL, physics still works, and rendering raises an error with the remedy."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys

import pytest

from needful.envs.household import import_mujoco

PROGRAM = """
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

class Broken(MetaPathFinder, Loader):
    # PyOpenGL raises this error on a machine without the library.
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self) if name == "OpenGL.EGL" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        raise AttributeError("'NoneType' object has no attribute 'eglQueryString'")

sys.meta_path.insert(0, Broken())
import os
from needful.envs.household.environment import OpeningPresents
from needful.envs.household.view.rendering import HouseRenderer
from needful.errors import InvalidInputError

env = OpeningPresents()
task = env.task("train", 0, seed=0)
world = env._worlds.of(task.initial_state)
print(len(world.extension(task.initial_state, "Closed")) > 0, os.environ["MUJOCO_GL"])
try:
    HouseRenderer(world.model, 160, 120)
except InvalidInputError as error:
    print(error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="EGL is for Linux only")
@pytest.mark.parametrize(
    ("backend", "why"),
    [("egl", "no attribute 'eglQueryString'"), ("nonsense", "no attribute 'GLContext'")],
)
def test_physics_works_and_rendering_names_what_is_missing(backend: str, why: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "MUJOCO_GL": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    first, second = finished.stdout.splitlines()
    assert first == f"True {backend}"
    for fact in (f"MUJOCO_GL={backend!r}", why, "libegl1", "MUJOCO_GL=osmesa", "libosmesa6"):
        assert fact in second


@pytest.mark.parametrize("wanted", ["glx", None])
def test_the_import_is_repeated_without_opengl_and_the_environment_restored(
    wanted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def imported(name: str, *arguments: object) -> object:
        asked.append((name, os.environ.get("MUJOCO_GL")))
        if asked[-1][1] != "disabled":
            raise RuntimeError("no OpenGL")
        return sys

    monkeypatch.delenv("MUJOCO_GL", raising=False)
    if wanted is not None:
        monkeypatch.setenv("MUJOCO_GL", wanted)
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "__import__", imported)
        import_mujoco()
    assert asked == [("mujoco", wanted), ("mujoco", "disabled")]
    assert os.environ.get("MUJOCO_GL") == wanted


def test_a_missing_mujoco_is_no_error_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    import_mujoco()
    assert os.environ.get("MUJOCO_GL") != "disabled"
