"""Plan: ground operators, search for abstract plans and refine them.

This package exports planners, searches, and interfaces with which you can write your own planner. They are
listed in `__init__.pyi`. Each is loaded on first use.
"""

from __future__ import annotations

from needful.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
