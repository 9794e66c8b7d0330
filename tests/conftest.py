"""Settings for all tests.

Property tests try the same examples every time, so that a change is judged by what it changed. With
HYPOTHESIS_PROFILE=explore they look for new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
