"""The domains by name; a domain's module is imported only when the domain is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from needful.envs.contract import Environment
from needful.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """Where a domain is to be found, and one line about it."""

    module: str
    class_name: str
    description: str


CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType(
    {
        "cluttered-1d": CatalogueEntry(
            "needful.envs.cluttered_1d",
            "Cluttered1D",
            "A robot on a line grasps some of 15 dots; neighbouring dots come in reach by chance.",
        ),
        "cluttered-painting": CatalogueEntry(
            "needful.envs.cluttered_painting",
            "ClutteredPainting",
            "Painting among many objects, with a robot that must first go to what it works on.",
        ),
        "cluttered-satellites": CatalogueEntry(
            "needful.envs.satellites",
            "ClutteredSatellites",
            "Satellites take readings of some of many objects, and everything hides everything else.",
        ),
        "painting": CatalogueEntry(
            "needful.envs.painting",
            "Painting",
            "A robot washes, dries and paints things for a shelf and for a box whose lid may be closed.",
        ),
        "satellites": CatalogueEntry(
            "needful.envs.satellites",
            "Satellites",
            "Satellites help each other to take readings of an object and hide it from each other.",
        ),
        "screws": CatalogueEntry(
            "needful.envs.screws",
            "Screws",
            "A magnetic crane carries one screw to a receptacle and picks up many others on the way.",
        ),
    }
)


def environment_names() -> tuple[str, ...]:
    """Return the names of all domains, sorted."""
    return tuple(sorted(CATALOGUE))


def make_environment(name: str) -> Environment:
    """Return the domain of that name."""
    if name not in CATALOGUE:
        raise UnknownNameError("domain", name, CATALOGUE)
    entry = CATALOGUE[name]
    environment: Environment = getattr(import_module(entry.module), entry.class_name)()
    return environment
