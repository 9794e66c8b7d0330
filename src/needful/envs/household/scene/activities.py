"""The four activities: definitions of BEHAVIOR, with how many things there are in training and in test.

Read activities of BEHAVIOR, written in BDDL, as far as our activities need the language.

A definition names objects, what is true of them at first, and a goal. Goals are conjunctions of atoms,
negated atoms and `forall`, which is expanded over the objects of the definition.
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
from needful.envs.household.scene.scene import THE_ROBOT
from needful.errors import InvalidInputError, UnknownNameError

# How many arguments each predicate takes.
PREDICATES = {"inroom": 2, "inside": 2, "onfloor": 2, "ontop": 2, "open": 1}
CONNECTIVES = ("and", "forall", "not")
SECTIONS = (":domain", ":goal", ":init", ":objects", "problem")


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom over names of objects, or the negation of one."""

    predicate: str
    arguments: tuple[str, ...]
    positive: bool = True

    def __str__(self) -> str:
        atom = f"({' '.join((self.predicate, *self.arguments))})"
        return atom if self.positive else f"(not {atom})"


@dataclass(frozen=True, slots=True)
class ActivityDefinition:
    """An activity: `categories` maps each object to its category, in the order of the file."""

    name: str
    categories: Mapping[str, str]
    initial: tuple[Literal, ...]
    goal: tuple[Literal, ...]


def read_bddl(text: str, source: str, categories: Iterable[str] | None = None) -> ActivityDefinition:
    """Read one definition; `source` says in errors, with the line, where the text is from.

    Question marks before names are dropped, so that a goal may say `?bucket_1` and mean the object.
    If `categories` are given, there are no others.
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
        _plain(names[0], source),
        reader.categories,
        tuple(literal for one in found[":init"][1:] for literal in reader.literals(one, {})),
        tuple(literal for one in found[":goal"][1:] for literal in reader.literals(one, {})),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    source: str
    categories: Mapping[str, str]

    def literals(self, expression: Expression, binding: Mapping[str, str]) -> Iterator[Literal]:
        """Yield the literals of a conjunction; `binding` maps variables of `forall` to objects."""
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
                    f"{self._place(expression)}: cannot read {expression_text(expression)}."
                )

    def _for_all(self, variables: Form, body: Expression, binding: Mapping[str, str]) -> Iterator[Literal]:
        known = set(self.categories.values())
        typed = list(_typed_names(variables, self.source, variables.line, known))
        if len(typed) != 1:
            raise InvalidInputError(
                f"{self._place(variables)}: `forall` takes one variable, got {expression_text(variables)}."
            )
        ((variable, category),) = typed
        for name, own in self.categories.items():
            if own == category:
                yield from self.literals(body, {**binding, variable: name})

    def _literal(
        self, predicate: Word, arguments: list[Expression], binding: Mapping[str, str], *, positive: bool
    ) -> Literal:
        place = self._place(predicate)
        if predicate not in PREDICATES:
            raise UnknownNameError(f"predicate in {place},", predicate, (*PREDICATES, *CONNECTIVES))
        if len(arguments) != PREDICATES[predicate]:
            raise InvalidInputError(
                f"{place}: {predicate} takes {PREDICATES[predicate]} arguments, "
                f"got {expression_text(arguments)}."
            )
        names = [_plain(argument, self.source) for argument in arguments]
        names = [binding.get(name, name) for name in names]
        # The second argument of `inroom` is a kind of room, not an object.
        for name in names[:1] if predicate == "inroom" else names:
            if name not in self.categories:
                raise UnknownNameError(f"object in {place},", name, self.categories)
        return Literal(str(predicate), tuple(names), positive)

    def _place(self, expression: Expression) -> str:
        return f"{self.source}, line {expression.line}"


def _typed_names(
    words: Iterable[Expression], source: str, line: int, categories: Iterable[str] | None
) -> Iterator[tuple[str, str]]:
    """Yield the names of a typed list, such as `a b - book  c - cup`, with their categories."""
    waiting: list[str] = []
    following = iter(words)
    for word in following:
        if word != "-":
            waiting.append(_plain(word, source))
            continue
        kind = next(following, None)
        if not waiting or kind is None:
            raise InvalidInputError(
                f"{source}, line {word.line}: a `-` needs names before it and a category after it."
            )
        category = _plain(kind, source)
        if categories is not None and category not in categories:
            raise UnknownNameError(f"category in {source}, line {kind.line},", category, categories)
        yield from ((name, category) for name in waiting)
        waiting = []
    if waiting:
        raise InvalidInputError(f"{source}, line {line}: the objects {waiting} have no category.")


def _plain(word: Expression, source: str) -> str:
    if isinstance(word, Form):
        raise InvalidInputError(
            f"{source}, line {word.line}: expected a name, got {expression_text(word)}."
        )
    return str(word).removeprefix("?")


Range = tuple[int, int]

# What BDDL calls the things of our houses.
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

    def definition(self) -> ActivityDefinition:
        """Return the definition as it was published, in our names."""
        path = resources.files("needful.envs.household.scene") / "bddl_files" / f"{self.file}.bddl"
        text = path.read_text("utf-8")
        return with_local_names(read_bddl(text, path.name, SYNSET_CATEGORIES))

    def draw(self, split: Split, rng: np.random.Generator) -> tuple[ActivityDefinition, int]:
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


def with_local_names(definition: ActivityDefinition) -> ActivityDefinition:
    """Return a definition with our categories, rooms' floors by room, and `onfloor` as `ontop`."""
    names: dict[str, str] = {}
    rooms = {one.arguments[0]: one.arguments[1] for one in definition.initial if one.predicate == "inroom"}
    for name, category in definition.categories.items():
        if category not in SYNSET_CATEGORIES:
            raise UnknownNameError(f"category in {definition.name}", category, SYNSET_CATEGORIES)
        ours = SYNSET_CATEGORIES[category]
        if ours == "floor" and name not in rooms:
            raise InvalidInputError(f"{definition.name} does not say in which room {name} is.")
        number = re.search(r"\d*$", name)
        names[name] = {
            "floor": f"{rooms.get(name)}_floor",
            "robot": THE_ROBOT.name,
        }.get(ours, f"{ours}_{number[0] if number else ''}")
    return ActivityDefinition(
        definition.name,
        {names[name]: SYNSET_CATEGORIES[category] for name, category in definition.categories.items()},
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


def scaled(definition: ActivityDefinition, counts: Mapping[str, int]) -> ActivityDefinition:
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
