"""Identify a configuration by its content."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

from needful.errors import InvalidInputError


def config_hash(*parts: object) -> str:
    """Return 16 hexadecimal digits that depend on the values of configurations alone.

    Parts are numbers, texts, functions, classes, and tuples and dataclasses of these.
    """
    text = json.dumps([_described(part) for part in parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _described(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        if "<" in value.__qualname__:  # <lambda> and <locals>: many functions share such a name
            raise InvalidInputError(
                f"A configuration cannot hold {value.__qualname__}, because others have the same name. "
                "Define it at the top of a module."
            )
        return f"{value.__module__}.{value.__qualname__}"
    if is_dataclass(value):
        content = {one.name: _described(getattr(value, one.name)) for one in fields(value)}
        return {"class": type(value).__qualname__, **content}
    if isinstance(value, tuple):
        return [_described(item) for item in value]
    raise InvalidInputError(
        f"A configuration cannot hold {value!r}, because nothing tells it from another one. "
        "Use numbers, texts, functions, tuples and dataclasses."
    )
