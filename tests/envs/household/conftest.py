"""Load MuJoCo through the package, which also works if MUJOCO_GL names a library that is missing."""

from __future__ import annotations

import needful.envs.household  # noqa: F401
