"""The list of domains by name; the module of a domain is imported only by `make_environment`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType

from needful.envs.contract import Environment
from needful.envs.findings import Findings
from needful.errors import MissingPackageError, UnknownNameError, importing_extra, install_command

ATTRIBUTES = "class attributes"
SET_ATTRIBUTES = (
    "Set `name` (such as cup-stacking), `description` (one line) and `vocabulary` on the class."
)
MAX_NAME_LENGTH = 80
OWN_ENVIRONMENT = "Commands take an environment of your own as FILE:CLASS, such as my_robot.py:MyRobot."


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of a domain's types, predicates, controllers and objects.

    Attributes:
        types: number of types.
        predicates: number of predicates.
        controllers: number of controllers.
        objects: for each split ("train" and "test"), the range of the number of objects per task, such as
            "35-50".
    """

    types: int
    predicates: int
    controllers: int
    objects: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """The class of a domain, and facts about the domain that are known without importing its module.

    Attributes:
        module: the module that defines the class.
        class_name: the name of the class.
        description: one line of text.
        extra: the group of optional dependencies that the domain needs; None if it needs none.
        required_module: a module of this group; if it can be imported, the group counts as installed.
        sizes: the sizes of the domain, stored here if computing them takes long; otherwise None.
    """

    module: str
    class_name: str
    description: str
    extra: str | None = None
    required_module: str | None = None
    sizes: Sizes | None = None

    @property
    def installed(self) -> bool:
        """Whether the optional dependencies of the domain are installed."""
        return self.required_module is None or find_spec(self.required_module) is not None


def _household(class_name: str, description: str) -> CatalogueEntry:
    sizes = Sizes(types=28, predicates=10, controllers=6, objects={"train": "35-50", "test": "60-100"})
    module = "needful.envs.household.environment"
    return CatalogueEntry(module, class_name, description, "household", "mujoco", sizes)


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
            "Painting among many objects, with a robot that must first move to the objects it handles.",
        ),
        "cluttered-satellites": CatalogueEntry(
            "needful.envs.satellites",
            "ClutteredSatellites",
            "Satellites take readings of some of several objects; satellites and objects hide each other.",
        ),
        "collecting-cans": _household(
            "CollectingCans",
            "A robot collects cans from the bed and the floor and puts them into a bucket.",
        ),
        "locking-windows": _household(
            "LockingWindows",
            "A robot goes through a house and closes all the windows that stand open.",
        ),
        "opening-presents": _household(
            "OpeningPresents",
            "A robot opens all the packages on a bedroom floor, among clutter.",
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
        "sorting-books": _household(
            "SortingBooks",
            "A robot carries books from the table and the floor to a shelf.",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class KinderEntry:
    """An environment of KinDER, a third-party benchmark; each of its sizes is a separate domain.

    Attributes:
        module: the module that defines the class.
        class_name: the name of the class; its constructor takes the size.
        letter: the letter before the size in the name of the domain, such as `b` in
            `kinder/StickButton2D-b5`; empty if the environment has only one size.
        sizes: the sizes that KinDER registers, for example numbers of blocks or passages.
        description: one line of text.
    """

    module: str
    class_name: str
    letter: str
    sizes: tuple[int, ...]
    description: str


KINDER: Mapping[str, KinderEntry] = MappingProxyType(
    {
        "kinder/ClutteredRetrieval2D": KinderEntry(
            "needful.envs.kinder.cluttered",
            "ClutteredRetrieval2D",
            "o",
            (1, 10, 25),
            "A robot carries a block out of clutter into a region of the floor.",
        ),
        "kinder/ClutteredStorage2D": KinderEntry(
            "needful.envs.kinder.cluttered",
            "ClutteredStorage2D",
            "b",
            (1, 3, 7, 15),
            "A robot puts blocks into a shelf, in which other blocks may be in the way.",
        ),
        "kinder/DynObstruction2D": KinderEntry(
            "needful.envs.kinder.dyn_obstruction",
            "DynObstruction2D",
            "o",
            (0, 1, 2, 3),
            "With physics, a robot with two fingers puts or pushes a block onto a surface.",
        ),
        "kinder/Motion2D": KinderEntry(
            "needful.envs.kinder.motion2d",
            "Motion2D",
            "p",
            (0, 1, 2, 3, 4, 5),
            "A robot drives through narrow passages to a region.",
        ),
        "kinder/Obstruction2D": KinderEntry(
            "needful.envs.kinder.obstruction",
            "Obstruction2D",
            "o",
            (0, 1, 2, 3, 4),
            "A robot puts a block onto a surface, from which it must first remove other blocks.",
        ),
        "kinder/PushPullHook2D": KinderEntry(
            "needful.envs.kinder.push_pull_hook",
            "PushPullHook2D",
            "",
            (1,),
            "A robot moves a button on a table onto another one with a hook.",
        ),
        "kinder/StickButton2D": KinderEntry(
            "needful.envs.kinder.stick_button",
            "StickButton2D",
            "b",
            (1, 2, 3, 5, 10),
            "A robot presses buttons on the floor and, with a stick, on a table.",
        ),
    }
)
# KinDER and the packages that it needs. The install command uses `--no-deps`, because their other
# dependencies conflict with those of `needful`.
KINDER_PACKAGES = "kindergarden relational-structs prpl-utils tomsgeoms2d"


def environment_names() -> tuple[str, ...]:
    """Return the sorted names of the built-in domains; `kinder_names` returns the domains of KinDER."""
    return tuple(sorted(CATALOGUE))


def kinder_names() -> tuple[str, ...]:
    """Return the names of the domains of KinDER, such as `kinder/StickButton2D-b5`."""
    return tuple(_kinder_domains())


def _kinder_domains() -> dict[str, tuple[KinderEntry, int]]:
    """Map the name of each KinDER domain, such as `kinder/StickButton2D-b5`, to its entry and its size."""
    return {
        f"{name}-{entry.letter}{size}" if entry.letter else name: (entry, size)
        for name, entry in KINDER.items()
        for size in entry.sizes
    }


def make_environment(name: str) -> Environment:
    """Return a new environment of the domain with the given name.

    Raises `UnknownNameError` for an unknown name, and `MissingExtraError` if optional dependencies of the
    domain are not installed.
    """
    kinder = _kinder_domains()
    if name in kinder:
        return _make_kinder_environment(name, *kinder[name])
    if name not in CATALOGUE:
        raise UnknownNameError("domain", name, (*CATALOGUE, *kinder), OWN_ENVIRONMENT)
    entry = CATALOGUE[name]
    with importing_extra(entry.extra, f"The domain {name!r}") if entry.extra else nullcontext():
        module = import_module(entry.module)
    environment: Environment = getattr(module, entry.class_name)()
    return environment


def _make_kinder_environment(name: str, entry: KinderEntry, size: int) -> Environment:
    try:
        module = import_module(entry.module)
    except ModuleNotFoundError as error:
        package = str(error.name).split(".")[0]
        if package == "needful":
            raise
        command = f"{install_command('kinder')} && pip install --no-deps {KINDER_PACKAGES}"
        raise MissingPackageError(f"The domain {name!r}", package, f"Install it: {command}") from error
    environment: Environment = getattr(module, entry.class_name)(size)
    return environment


def register_all() -> tuple[str, ...]:
    """Register every built-in domain with Gymnasium; return the ids, such as `needful/Screws-v0`.

    `gymnasium.make` then passes keyword arguments to `needful.envs.gym.GymView`. Repeated calls have no
    effect.
    """
    with importing_extra("gym", "The Gymnasium view"):
        import gymnasium
    ids = {f"needful/{entry.class_name}-v0": name for name, entry in sorted(CATALOGUE.items())}
    for identifier, name in ids.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier, entry_point="needful.envs.gym:GymView", kwargs={"environment": name}
            )
    return tuple(ids)


def check_name(env: Environment, findings: Findings) -> None:
    """Report a problem if the environment's name is invalid, too long, or the name of another domain."""
    location, remedy = ATTRIBUTES, SET_ATTRIBUTES
    with findings.catch("reading the attributes", location, remedy):
        if not re.fullmatch("[a-z0-9-]+", env.name):
            findings.add(f"the name {env.name!r} must consist of a-z, 0-9 and -", location, remedy)
        elif len(env.name) > MAX_NAME_LENGTH:
            findings.add(f"the name has more than {MAX_NAME_LENGTH} characters", location, remedy)
        elif env.name in CATALOGUE and not _derives_from(env, CATALOGUE[env.name]):
            findings.add(f"the catalogue has another domain {env.name!r}", location, remedy)


def _derives_from(env: Environment, entry: CatalogueEntry) -> bool:
    bases = {(base.__module__, base.__name__) for base in type(env).__mro__}
    return (entry.module, entry.class_name) in bases
