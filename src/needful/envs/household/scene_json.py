"""Scenes as JSON, without loss: what is read back equals what was written.

The fields are those of the dataclasses in `scene`; what is left out has its default.
"""

from __future__ import annotations

import dataclasses
import json
import math
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from needful.envs.household.scene import Scene
from needful.errors import InvalidInputError, UnknownNameError

FORMAT, VERSION = "needful-scene", 1


def scene_to_json(scene: Scene) -> str:
    """Return a scene as JSON text."""
    return json.dumps({"format": FORMAT, "version": VERSION, "scene": dataclasses.asdict(scene)}, indent=1)


def scene_from_json(text: str) -> Scene:
    """Read a scene. Raises with the place of the first thing that is wrong."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"The scene is no JSON: {error}.") from error
    header = (document.get("format"), document.get("version")) if isinstance(document, dict) else None
    if header != (FORMAT, VERSION):
        raise InvalidInputError(f"Expected the format {FORMAT} {VERSION}, got {header}.")
    scene = _read(document.get("scene"), Scene, "scene")
    assert isinstance(scene, Scene)
    known = [category.name for category in scene.categories]
    for thing in scene.things:
        if thing.category not in known:
            raise UnknownNameError(f"category of {thing.name}", thing.category, known)
    names = [thing.name for thing in scene.things] + [room.floor for room in scene.rooms]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"The names {twice} are used twice in one scene.")
    return scene


def _read(value: Any, kind: Any, where: str) -> object:
    """Return a JSON value as a value of a type: of a dataclass, a tuple, an option or a plain one."""
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(value, kind, where)
    if get_origin(kind) is tuple:
        return _read_tuple(value, get_args(kind), where)
    if isinstance(kind, UnionType):
        if value is None:
            return None
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
        return _read(value, kind, where)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
    elif isinstance(value, kind):
        return value
    raise InvalidInputError(f"{where}: expected a {kind.__name__}, got {value!r}.")


def _read_dataclass(value: Any, kind: Any, where: str) -> object:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where}: expected an object, got {value!r}.")
    types = get_type_hints(kind)
    for name in value:
        if name not in types:
            raise UnknownNameError(f"field of {where}", name, types)
    required = [one.name for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING]
    missing = [name for name in required if name not in value]
    if missing:
        raise InvalidInputError(f"{where}: the fields {missing} are missing.")
    return kind(**{name: _read(part, types[name], f"{where}.{name}") for name, part in value.items()})


def _read_tuple(value: Any, kinds: tuple[Any, ...], where: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{where}: expected an array, got {value!r}.")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise InvalidInputError(f"{where}: expected {len(kinds)} items, got {len(value)}.")
    parts = enumerate(zip(value, kinds, strict=True))
    return tuple(_read(part, kind, f"{where}[{index}]") for index, (part, kind) in parts)
