"""The four BEHAVIOR activities: their definitions, and the numbers of objects in their tasks.

A definition is a file in BDDL, the language of BEHAVIOR. It lists objects, initial literals and a goal.
Only the part of BDDL that these activities need is supported: goals are conjunctions of atoms, negated
atoms and `forall`, which is expanded over the objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product

import numpy as np

from needful.core.s_expressions import Expression, Form, Word, expression_text, read_expression
from needful.envs.contract import Split
from needful.envs.household.scene.scene import ROBOT_OBJECT
from needful.errors import InvalidInputError, UnknownNameError

# The number of arguments of each BDDL predicate.
PREDICATES = {"inroom": 2, "inside": 2, "onfloor": 2, "ontop": 2, "open": 1}
CONNECTIVES = ("and", "forall", "not")
SECTIONS = (":domain", ":goal", ":init", ":objects", "problem")

# BDDL files name the classes of objects by WordNet synsets (word senses). This dictionary maps synsets to
# the categories of this package.
SYNSET_CATEGORIES = {
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

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Literal:
    """A BDDL literal: an atom over object names, or its negation."""

    predicate: str
    arguments: tuple[str, ...]
    positive: bool = True

    def __str__(self) -> str:
        atom = f"({' '.join((self.predicate, *self.arguments))})"
        return atom if self.positive else f"(not {atom})"


@dataclass(frozen=True, slots=True)
class ActivityDefinition:
    """The definition of an activity; `categories` maps each object to its category, in file order."""

    name: str
    categories: Mapping[str, str]
    initial: tuple[Literal, ...]
    goal: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity and the distribution of its tasks.

    Attributes:
        name: the name of the domain.
        file: the file name of the definition, without its suffix.
        counts: for training and for test tasks, the smallest and the largest number of objects of each
            category. A category that is not listed has as many objects as in the definition.
        clutter: for training and for test tasks, the smallest and the largest number of objects that the
            activity does not need.
    """

    name: str
    file: str
    counts: Mapping[Split, Mapping[str, Range]]
    clutter: Mapping[Split, Range]

    def definition(self) -> ActivityDefinition:
        """Return the published definition of this activity, with names converted by `with_local_names`."""
        path = resources.files("needful.envs.household.scene") / "bddl_files" / f"{self.file}.bddl"
        text = path.read_text("utf-8")
        return with_local_names(read_bddl(text, path.name, SYNSET_CATEGORIES))

    def sample(self, split: Split, rng: np.random.Generator) -> tuple[ActivityDefinition, int]:
        """Sample the numbers of objects of a task.

        Returns the definition with these numbers, and the number of objects that the activity does not need
        (clutter).
        """
        counts = {
            category: int(rng.integers(low, high + 1))
            for category, (low, high) in sorted(self.counts[split].items())
        }
        low, high = self.clutter[split]
        return with_counts(self.definition(), counts), int(rng.integers(low, high + 1))


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


def with_local_names(definition: ActivityDefinition) -> ActivityDefinition:
    """Return the definition with its BDDL names converted to the names of this package.

    Synsets become categories, floors are named after their rooms, and `onfloor` becomes `ontop`.
    """
    names: dict[str, str] = {}
    rooms = {one.arguments[0]: one.arguments[1] for one in definition.initial if one.predicate == "inroom"}
    for name, synset in definition.categories.items():
        if synset not in SYNSET_CATEGORIES:
            raise UnknownNameError(f"category in {definition.name}", synset, SYNSET_CATEGORIES)
        category = SYNSET_CATEGORIES[synset]
        if category == "floor" and name not in rooms:
            raise InvalidInputError(
                f"{definition.name}: {name} has no room. Add (inroom {name} ROOM) to :init."
            )
        number = re.search(r"\d*$", name)
        names[name] = {
            "floor": f"{rooms.get(name)}_floor",
            "robot": ROBOT_OBJECT.name,
        }.get(category, f"{category}_{number[0] if number else ''}")
    return ActivityDefinition(
        definition.name,
        {names[name]: SYNSET_CATEGORIES[synset] for name, synset in definition.categories.items()},
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


def with_counts(definition: ActivityDefinition, counts: Mapping[str, int]) -> ActivityDefinition:
    """Return the definition with other numbers of objects; `counts` maps categories to these numbers.

    The new objects are copies of the old ones, in equal numbers: if two cans become eight, four have the
    initial and goal literals of the first can, and four have those of the second can.
    """
    copies: dict[str, list[str]] = {}
    for category in dict.fromkeys(definition.categories.values()):
        old = [name for name, own in definition.categories.items() if own == category]
        copies |= {name: [] for name in old}
        count = counts.get(category, len(old))
        for number in range(count):
            template = old[number * len(old) // count]
            copies[template].append(f"{category}_{number + 1}" if category in counts else template)
    unknown = sorted(set(counts) - set(definition.categories.values()))
    if unknown:
        raise UnknownNameError(f"category in {definition.name}", unknown[0], definition.categories.values())
    return ActivityDefinition(
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


def read_bddl(text: str, source: str, categories: Iterable[str] | None = None) -> ActivityDefinition:
    """Read the definition of an activity from BDDL text.

    A question mark before a name is dropped, because published goals write `?bucket_1` for the object
    `bucket_1`. If `categories` are given, any other category is an error. Error messages name the line and
    `source`, such as the file name.
    """
    root = read_expression(text.lower(), source)
    match root:
        case ["define", *sections]:
            pass
        case _:
            raise InvalidInputError(
                f"{source}, line {root.line}: a definition has the form (define (problem ...) ...)."
            )
    found = {expression_text(one[0]): one for one in sections if isinstance(one, Form) and one}
    for name, section in found.items():
        if name not in SECTIONS:
            raise UnknownNameError(f"section in {source}, line {section.line},", name, SECTIONS)
    missing = sorted(set(SECTIONS) - set(found))
    if missing:
        raise InvalidInputError(f"{source}: the sections {missing} are missing.")
    objects, (_, *names) = found[":objects"], found["problem"]
    if not names:
        raise InvalidInputError(f"{source}, line {found['problem'].line}: the problem has no name.")
    typed = _typed_names(objects[1:], source, objects.line, categories)
    reader = _Reader(source, dict(typed))
    return ActivityDefinition(
        _plain_name(names[0], source),
        reader.categories,
        tuple(literal for one in found[":init"][1:] for literal in reader.literals(one, {})),
        tuple(literal for one in found[":goal"][1:] for literal in reader.literals(one, {})),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    source: str
    categories: Mapping[str, str]

    def literals(self, expression: Expression, binding: Mapping[str, str]) -> Iterator[Literal]:
        """Yield the literals of a BDDL conjunction; `binding` maps the variables of `forall` to objects."""
        match expression:
            case ["and", *parts]:
                for part in parts:
                    yield from self.literals(part, binding)
            case ["forall", Form() as variables, body]:
                yield from self._for_all(variables, body, binding)
            case ["not", [Word() as predicate, *arguments]] if predicate not in CONNECTIVES:
                yield self._literal(predicate, arguments, binding, positive=False)
            case [Word() as predicate, *arguments] if predicate not in CONNECTIVES:
                yield self._literal(predicate, arguments, binding, positive=True)
            case _:
                raise InvalidInputError(
                    f"{self._location(expression)}: cannot read {expression_text(expression)}."
                )

    def _for_all(self, variables: Form, body: Expression, binding: Mapping[str, str]) -> Iterator[Literal]:
        known = set(self.categories.values())
        typed = list(_typed_names(variables, self.source, variables.line, known))
        if len(typed) != 1:
            raise InvalidInputError(
                f"{self._location(variables)}: `forall` takes one variable, "
                f"got {expression_text(variables)}."
            )
        ((variable, category),) = typed
        for name, own in self.categories.items():
            if own == category:
                yield from self.literals(body, {**binding, variable: name})

    def _literal(
        self, predicate: Word, arguments: list[Expression], binding: Mapping[str, str], *, positive: bool
    ) -> Literal:
        location = self._location(predicate)
        if predicate not in PREDICATES:
            raise UnknownNameError(f"predicate in {location},", predicate, (*PREDICATES, *CONNECTIVES))
        if len(arguments) != PREDICATES[predicate]:
            raise InvalidInputError(
                f"{location}: {predicate} takes {PREDICATES[predicate]} arguments, "
                f"got {expression_text(arguments)}."
            )
        names = [_plain_name(argument, self.source) for argument in arguments]
        names = [binding.get(name, name) for name in names]
        # The second argument of `inroom` is the name of a room, which is not an object.
        for name in names[:1] if predicate == "inroom" else names:
            if name not in self.categories:
                raise UnknownNameError(f"object in {location},", name, self.categories)
        return Literal(str(predicate), tuple(names), positive)

    def _location(self, expression: Expression) -> str:
        return f"{self.source}, line {expression.line}"


def _typed_names(
    words: Iterable[Expression], source: str, line: int, categories: Iterable[str] | None
) -> Iterator[tuple[str, str]]:
    """Yield each name of a BDDL list, such as `a b - book  c - cup`, with its category."""
    names: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word != "-":
            names.append(_plain_name(word, source))
            continue
        kind = next(remaining, None)
        if not names or kind is None:
            raise InvalidInputError(
                f"{source}, line {word.line}: a `-` needs names before it and a category after it."
            )
        category = _plain_name(kind, source)
        if categories is not None and category not in categories:
            raise UnknownNameError(f"category in {source}, line {kind.line},", category, categories)
        yield from ((name, category) for name in names)
        names = []
    if names:
        raise InvalidInputError(f"{source}, line {line}: the objects {names} have no category.")


def _plain_name(word: Expression, source: str) -> str:
    if isinstance(word, Form):
        raise InvalidInputError(
            f"{source}, line {word.line}: expected a name, got {expression_text(word)}."
        )
    return str(word).removeprefix("?")
