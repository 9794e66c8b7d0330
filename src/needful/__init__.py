"""Learn robot planning models that predict only the changes that planning needs.

Data flows one way:

    environment → demonstrations → operators → samplers → PlanningModel → plans → records

The public names are listed in `__init__.pyi`. Each is imported on first use, so `import needful` loads
neither torch nor matplotlib nor gymnasium.
"""

from __future__ import annotations

from needful.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
