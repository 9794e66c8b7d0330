"""Plan: ground operators, search for abstract plans and refine them.

The planners, searches and interfaces for your own planner are listed in `__init__.pyi` and can be
imported from this package. Each is loaded on first use.
"""

from __future__ import annotations

from needful.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
