"""Read activities of BEHAVIOR, written in BDDL, as far as our activities need the language.

A definition names objects, what is true of them at first, and a goal. Goals are conjunctions of atoms,
negated atoms and `forall`, which is expanded over the objects of the definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from needful.core.s_expressions import Expression, Form, Word, read_expression, shown
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
class Definition:
    """An activity: `categories` maps each object to its category, in the order of the file."""

    name: str
    categories: Mapping[str, str]
    initial: tuple[Literal, ...]
    goal: tuple[Literal, ...]


def read_bddl(text: str, source: str, categories: Iterable[str] | None = None) -> Definition:
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
    found = {shown(one[0]): one for one in sections if isinstance(one, Form) and one}
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
    return Definition(
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
                raise InvalidInputError(f"{self._place(expression)}: cannot read {shown(expression)}.")

    def _for_all(self, variables: Form, body: Expression, binding: Mapping[str, str]) -> Iterator[Literal]:
        known = set(self.categories.values())
        typed = list(_typed_names(variables, self.source, variables.line, known))
        if len(typed) != 1:
            raise InvalidInputError(
                f"{self._place(variables)}: `forall` takes one variable, got {shown(variables)}."
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
                f"{place}: {predicate} takes {PREDICATES[predicate]} arguments, got {shown(arguments)}."
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
        raise InvalidInputError(f"{source}, line {word.line}: expected a name, got {shown(word)}.")
    return str(word).removeprefix("?")
