"""Read activities of BEHAVIOR, written in BDDL, as far as our activities need the language.

A definition names objects, what is true of them at first, and a goal. Goals are conjunctions of atoms,
negated atoms and `forall`, which is expanded over the objects of the definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from needful.errors import InvalidInputError, UnknownNameError

Expression: TypeAlias = "str | list[Expression]"

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
class Definition:
    """An activity: `categories` maps each object to its category, in the order of the file."""

    name: str
    categories: Mapping[str, str]
    initial: tuple[Literal, ...]
    goal: tuple[Literal, ...]


def read_bddl(text: str, source: str) -> Definition:
    """Read one definition; `source` says in errors where the text is from.

    Question marks before names are dropped, so that a goal may say `?bucket_1` and mean the object.
    """
    match _parsed(text, source):
        case ["define", *sections]:
            pass
        case _:
            raise InvalidInputError(f"{source}: a definition has the form (define (problem ...) ...).")
    found = {str(one[0]): one[1:] for one in sections if isinstance(one, list) and one}
    for name in found:
        if name not in SECTIONS:
            raise UnknownNameError(f"section in {source}", name, SECTIONS)
    missing = sorted(set(SECTIONS) - set(found))
    if missing:
        raise InvalidInputError(f"{source}: the sections {missing} are missing.")
    reader = _Reader(source, dict(_typed_names(found[":objects"], source)))
    return Definition(
        str(found["problem"][0]),
        reader.categories,
        tuple(literal for one in found[":init"] for literal in reader.literals(one, {})),
        tuple(literal for one in found[":goal"] for literal in reader.literals(one, {})),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    source: str
    categories: Mapping[str, str] = field(default_factory=dict)

    def literals(self, expression: Expression, binding: Mapping[str, str]) -> Iterator[Literal]:
        """Yield the literals of a conjunction; `binding` maps variables of `forall` to objects."""
        match expression:
            case ["and", *parts]:
                for part in parts:
                    yield from self.literals(part, binding)
            case ["forall", list(variables), body]:
                yield from self._for_all(variables, body, binding)
            case ["not", [str(predicate), *arguments]] if predicate not in CONNECTIVES:
                yield self._literal(predicate, arguments, binding, positive=False)
            case [str(predicate), *arguments] if predicate not in CONNECTIVES:
                yield self._literal(predicate, arguments, binding, positive=True)
            case _:
                raise InvalidInputError(f"{self.source}: cannot read {_shown(expression)}.")

    def _for_all(
        self, variables: list[Expression], body: Expression, binding: Mapping[str, str]
    ) -> Iterator[Literal]:
        ((variable, category), *more) = _typed_names(variables, self.source)
        if more:
            raise InvalidInputError(f"{self.source}: `forall` takes one variable, got {_shown(variables)}.")
        if category not in self.categories.values():
            raise UnknownNameError(f"category in {self.source}", category, set(self.categories.values()))
        for name, own in self.categories.items():
            if own == category:
                yield from self.literals(body, {**binding, variable: name})

    def _literal(
        self, predicate: str, arguments: list[Expression], binding: Mapping[str, str], *, positive: bool
    ) -> Literal:
        if predicate not in PREDICATES:
            raise UnknownNameError(f"predicate in {self.source}", predicate, (*PREDICATES, *CONNECTIVES))
        if len(arguments) != PREDICATES[predicate]:
            raise InvalidInputError(
                f"{self.source}: {predicate} takes {PREDICATES[predicate]} arguments, "
                f"got {_shown(arguments)}."
            )
        names = [_plain(argument, self.source) for argument in arguments]
        names = [binding.get(name, name) for name in names]
        # The second argument of `inroom` is a kind of room, not an object.
        for name in names[:1] if predicate == "inroom" else names:
            if name not in self.categories:
                raise UnknownNameError(f"object in {self.source}", name, self.categories)
        return Literal(predicate, tuple(names), positive)


def _parsed(text: str, source: str) -> Expression:
    """Return the one expression of a text, as nested lists of words."""
    words = re.findall(r"[()]|[^\s()]+", re.sub(r";[^\n]*", "", text).lower())
    root: list[Expression] = []
    stack = [root]
    for word in words:
        if word == "(":
            inner: list[Expression] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif word == ")" and len(stack) > 1:
            stack.pop()
        elif word == ")":
            raise InvalidInputError(f"{source}: there is a `)` too many.")
        else:
            stack[-1].append(word)
    if len(stack) > 1:
        raise InvalidInputError(f"{source}: there are {len(stack) - 1} `)` too few.")
    if len(root) != 1:
        raise InvalidInputError(f"{source}: a file holds one definition, got {len(root)} expressions.")
    return root[0]


def _typed_names(words: list[Expression], source: str) -> Iterator[tuple[str, str]]:
    """Yield the names of a typed list, such as `a b - book  c - cup`, with their categories."""
    waiting: list[str] = []
    following = iter(words)
    for word in following:
        if word != "-":
            waiting.append(_plain(word, source))
            continue
        category = _plain(next(following, "-"), source)
        if not waiting or category == "-":
            raise InvalidInputError(f"{source}: cannot read the typed list {_shown(words)}.")
        yield from ((name, category) for name in waiting)
        waiting = []
    if waiting:
        raise InvalidInputError(f"{source}: the objects {waiting} have no category.")


def _plain(word: Expression, source: str) -> str:
    if isinstance(word, list):
        raise InvalidInputError(f"{source}: expected a name, got {_shown(word)}.")
    return word.removeprefix("?")


def _shown(expression: Expression) -> str:
    if isinstance(expression, str):
        return expression
    return f"({' '.join(map(_shown, expression))})"
