"""Settings for all tests.

Property tests use the same examples in every run, so failures are reproducible. Set
HYPOTHESIS_PROFILE=explore to search for new examples.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
