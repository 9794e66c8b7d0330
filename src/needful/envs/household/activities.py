"""The four activities: definitions of BEHAVIOR, with how many things there are in training and in test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product

import numpy as np

from needful.envs.contract import Split
from needful.envs.household.bddl import Definition, Literal, read_bddl
from needful.envs.household.object_types import THE_ROBOT
from needful.errors import InvalidInputError, UnknownNameError

Range = tuple[int, int]

# What BDDL calls the things of our houses.
OUR_CATEGORIES = {
    "agent.n.01": "robot",
    "bed.n.01": "bed",
    "book.n.02": "book",
    "bucket.n.01": "bucket",
    "floor.n.01": "floor",
    "hardback.n.01": "hardback",
    "package.n.02": "package",
    "pop.n.02": "pop_can",
    "shelf.n.01": "shelf",
    "sofa.n.01": "sofa",
    "table.n.02": "table",
    "window.n.01": "window",
}


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity and the distribution of its tasks.

    Attributes:
        name: of the domain.
        file: of the definition, without its ending.
        counts: for each split, from how many to how many things there are of a category; of others
            there are as many as the definition says.
        clutter: for each split, how many things lie about that the activity is not about.
    """

    name: str
    file: str
    counts: Mapping[Split, Mapping[str, Range]]
    clutter: Mapping[Split, Range]

    def definition(self) -> Definition:
        """Return the definition as it was published, in our names."""
        path = resources.files("needful.envs.household") / "bddl_files" / f"{self.file}.bddl"
        text = path.read_text("utf-8")
        return in_our_names(read_bddl(text, path.name, OUR_CATEGORIES))

    def draw(self, split: Split, rng: np.random.Generator) -> tuple[Definition, int]:
        """Return a definition with as many things as a task of the split has, and the count of clutter."""
        counts = {
            category: int(rng.integers(low, high + 1))
            for category, (low, high) in sorted(self.counts[split].items())
        }
        low, high = self.clutter[split]
        return scaled(self.definition(), counts), int(rng.integers(low, high + 1))


CLUTTER = {Split.TRAIN: (18, 22), Split.TEST: (40, 70)}

ACTIVITIES = (
    Activity(
        "opening-presents",
        "opening_presents",
        {Split.TRAIN: {}, Split.TEST: {"package": (3, 4)}},
        CLUTTER,
    ),
    Activity(
        "locking-windows",
        "locking_every_window",
        {Split.TRAIN: {}, Split.TEST: {"window": (6, 6)}},
        CLUTTER,
    ),
    Activity(
        "collecting-cans",
        "collecting_aluminum_cans",
        {Split.TRAIN: {"pop_can": (3, 3)}, Split.TEST: {"pop_can": (6, 8)}},
        CLUTTER,
    ),
    Activity(
        "sorting-books",
        "sorting_books",
        {Split.TRAIN: {}, Split.TEST: {"book": (3, 4), "hardback": (3, 4)}},
        CLUTTER,
    ),
)


def in_our_names(definition: Definition) -> Definition:
    """Return a definition with our categories, rooms' floors by room, and `onfloor` as `ontop`."""
    names: dict[str, str] = {}
    rooms = {one.arguments[0]: one.arguments[1] for one in definition.initial if one.predicate == "inroom"}
    for name, category in definition.categories.items():
        if category not in OUR_CATEGORIES:
            raise UnknownNameError(f"category in {definition.name}", category, OUR_CATEGORIES)
        ours = OUR_CATEGORIES[category]
        if ours == "floor" and name not in rooms:
            raise InvalidInputError(f"{definition.name} does not say in which room {name} is.")
        number = re.search(r"\d*$", name)
        names[name] = {
            "floor": f"{rooms.get(name)}_floor",
            "robot": THE_ROBOT.name,
        }.get(ours, f"{ours}_{number[0] if number else ''}")
    return Definition(
        definition.name,
        {names[name]: OUR_CATEGORIES[category] for name, category in definition.categories.items()},
        _renamed(definition.initial, names),
        _renamed(definition.goal, names),
    )


def _renamed(literals: Iterable[Literal], names: Mapping[str, str]) -> tuple[Literal, ...]:
    return tuple(
        Literal(
            "ontop" if one.predicate == "onfloor" else one.predicate,
            tuple(names.get(name, name) for name in one.arguments),
            one.positive,
        )
        for one in literals
    )


def scaled(definition: Definition, counts: Mapping[str, int]) -> Definition:
    """Return a definition with other numbers of things.

    New things are like the old ones, in fair shares: of eight cans that are to be like two, four are
    like the first and four like the second, in what is true of them and in what is wanted of them.
    """
    copies: dict[str, list[str]] = {}
    for category in dict.fromkeys(definition.categories.values()):
        old = [name for name, own in definition.categories.items() if own == category]
        copies |= {name: [] for name in old}
        count = counts.get(category, len(old))
        for number in range(count):
            model = old[number * len(old) // count]
            copies[model].append(f"{category}_{number + 1}" if category in counts else model)
    unknown = sorted(set(counts) - set(definition.categories.values()))
    if unknown:
        raise UnknownNameError(f"category in {definition.name}", unknown[0], definition.categories.values())
    return Definition(
        definition.name,
        {copy: definition.categories[name] for name, made in copies.items() for copy in made},
        _copied(definition.initial, copies),
        _copied(definition.goal, copies),
    )


def _copied(literals: Iterable[Literal], copies: Mapping[str, list[str]]) -> tuple[Literal, ...]:
    return tuple(
        Literal(one.predicate, arguments, one.positive)
        for one in literals
        for arguments in product(*(copies.get(name, [name]) for name in one.arguments))
    )
