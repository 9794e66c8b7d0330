"""Learn planning models for robots that predict only the changes that planning needs.

Data flows one way:

    environment → demonstrations → operators → samplers → PlanningModel → plans → records

The public names are listed in `__init__.pyi`. Each is imported on first use, so `import needful` loads
neither torch nor matplotlib nor gymnasium.
"""

from __future__ import annotations

from importlib import import_module

with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:
    # Each line reads: from MODULE import NAME as NAME
    _HOME_MODULES = {words[3]: words[1] for words in map(str.split, _stub) if words[:1] == ["from"]}

__all__ = sorted(_HOME_MODULES, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def __getattr__(name: str) -> object:
    if name not in _HOME_MODULES:
        raise AttributeError(f"module 'needful' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
