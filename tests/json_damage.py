"""Change values inside JSON documents, to test that readers detect damage."""

from __future__ import annotations

from typing import Any


def positions(value: Any) -> list[tuple[Any, Any]]:
    """Return every position inside a JSON value, as a container and a key."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [found for key in keys for found in [(value, key), *positions(value[key])]]


def container_of(document: Any, path: list[Any]) -> Any:
    """Return the list or dictionary that holds the last key of a path."""
    for key in path[:-1]:
        document = document[key]
    return document
