"""Import the public names of a package on first use; the stub `__init__.pyi` lists them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module


def lazy_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for the `__init__.py` of the package with this name.

    The package's stub `__init__.pyi` has one line `from MODULE import NAME as NAME` per public name.
    `__all__` lists constants first, then classes, then functions.
    """
    module = sys.modules[package]
    with open(f"{module.__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        imports = re.findall(r"^from (\S+) import \(?\s*(\w+) as", stub.read(), re.MULTILINE)
    home_modules = {name: home for home, name in imports}
    public = sorted(home_modules, key=lambda name: (not name.isupper(), not name[0].isupper(), name))

    def load(name: str) -> object:
        if name not in home_modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(home_modules[name]), name)
        setattr(module, name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(module), *public})

    return load, list_names, public
