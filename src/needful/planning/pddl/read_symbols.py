"""The types, predicates and constants that a PDDL domain declares.

What all parts of a PDDL file are made of, and errors that name their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from needful.core.atoms import Predicate
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type
from needful.core.s_expressions import Expression, Form, Word, expression_text
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.pddl.names import Comments, NameTable

# The type of whatever has no other.
ROOT = "object"


@dataclass(frozen=True, slots=True)
class PddlSyntax:
    """Reads the smallest parts; `source` says in errors where the text is from."""

    source: str

    def fault(self, at: Expression, message: str) -> InvalidInputError:
        """Return an error about a part of the text."""
        return InvalidInputError(f"{self.source}, line {at.line}: {message}")

    def unknown(self, kind: str, name: Word, known: Iterable[str]) -> UnknownNameError:
        """Return an error about a name that nobody declared."""
        return UnknownNameError(f"{kind} in {self.source}, line {name.line},", name, known)

    @contextmanager
    def locate_errors(self, at: Expression) -> Iterator[None]:
        """Let errors of the vocabulary say where in the text they come from."""
        try:
            yield
        except InvalidInputError as error:
            raise self.fault(at, str(error)) from error

    def word(self, expression: Expression) -> Word:
        """Return a name."""
        if isinstance(expression, Form):
            raise self.fault(expression, f"expected a name, got {expression_text(expression)}.")
        return expression

    def form(self, expression: Expression) -> Form:
        """Return a list."""
        if isinstance(expression, Word):
            raise self.fault(expression, f"expected a list in brackets, got {expression}.")
        return expression

    def parts(self, expression: Expression) -> tuple[str, list[Expression]]:
        """Return the first word of a list, in lower case, and what follows it."""
        form = self.form(expression)
        if not form:
            raise self.fault(form, "these brackets are empty.")
        return self.word(form[0]).lower(), form[1:]

    def typed(self, words: Sequence[Expression]) -> list[tuple[Word, Word]]:
        """Return the names of a typed list, such as `a b - book c`, each with its type."""
        pairs: list[tuple[Word, Word]] = []
        waiting: list[Word] = []
        following = iter(words)
        for expression in following:
            word = self.word(expression)
            if word != "-":
                waiting.append(word)
                continue
            kind = next(following, None)
            if kind is None or not waiting:
                raise self.fault(word, "a `-` stands between names and their type.")
            if isinstance(kind, Form):
                raise self.fault(
                    kind, f"types such as {expression_text(kind)} are not supported: name one type."
                )
            pairs += [(name, kind) for name in waiting]
            waiting = []
        pairs += [(name, Word(ROOT, name.line)) for name in waiting]
        names = [name.lower() for name, _ in pairs]
        for name, _ in pairs:
            if names.count(name.lower()) > 1:
                raise self.fault(name, f"{name} is listed twice.")
        return pairs


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Symbols:
    """What the actions of a domain may speak of, by PDDL name in lower case."""

    syntax: PddlSyntax
    comments: Comments
    types: Mapping[str, Type]
    predicates: Mapping[str, Predicate]
    constants: Mapping[str, Object]

    def type(self, name: Word) -> Type:
        """Return a type by its name."""
        return _declared("type", name, self.types, self.syntax)


def read_symbols(
    sections: Mapping[str, Form],
    actions: Sequence[Form],
    comments: Comments,
    vocabulary: Vocabulary | None,
    syntax: PddlSyntax,
) -> Symbols:
    """Read the declarations of a domain; what a vocabulary has already is taken from there."""
    types_section, constants_section, predicates_section = (
        sections.get(name, [])[1:] for name in (":types", ":constants", ":predicates")
    )
    signatures = [_signature(one, syntax) for one in predicates_section]
    constants = syntax.typed(constants_section)
    mentioned = {kind.lower() for _, arguments in signatures for _, kind in arguments}
    mentioned |= {kind.lower() for _, kind in constants}
    mentioned |= {kind.lower() for action in actions for kind in _types_within(action, syntax)}
    reader = _Declarations(comments, vocabulary, syntax)
    types = reader.types(syntax.typed(types_section), with_root=ROOT in mentioned)
    return Symbols(
        syntax,
        comments,
        types,
        reader.predicates(signatures, types),
        reader.constants(constants, types),
    )


def _signature(expression: Expression, syntax: PddlSyntax) -> tuple[Word, list[tuple[Word, Word]]]:
    _, arguments = syntax.parts(expression)
    return syntax.word(syntax.form(expression)[0]), syntax.typed(arguments)


def _types_within(expression: Expression, syntax: PddlSyntax) -> list[Word]:
    """Return the types of all parameters and quantified variables inside an action."""
    if isinstance(expression, Word):
        return []
    found = []
    for before, part in zip([None, *expression], expression, strict=False):
        if isinstance(before, Word) and before.lower() in (":parameters", "forall"):
            found += [kind for _, kind in syntax.typed(syntax.form(part))]
        else:
            found += _types_within(part, syntax)
    return found


@dataclass(frozen=True, slots=True)
class _Declarations:
    comments: Comments
    vocabulary: Vocabulary | None
    syntax: PddlSyntax

    def types(self, declared: Sequence[tuple[Word, Word]], with_root: bool) -> dict[str, Type]:
        """Return the types. `object` is one of them, and the parent of all, only if it is made use of."""
        parents = {name.lower(): parent for name, parent in declared if name.lower() != ROOT}
        types: dict[str, Type] = {}
        if with_root:
            types[ROOT] = self._type(Word(ROOT, 1), None)
        waiting = [name for name, _ in declared if name.lower() != ROOT]
        while waiting:
            later = []
            for name in waiting:
                parent = parents[name.lower()]
                if parent.lower() in (ROOT, *types):
                    types[name.lower()] = self._type(name, types.get(parent.lower()))
                else:
                    later.append(name)
            if len(later) == len(waiting):
                raise self._no_parent(later[0], parents)
            waiting = later
        return types

    def _no_parent(self, name: Word, parents: Mapping[str, Word]) -> Exception:
        parent = parents[name.lower()]
        if parent.lower() in parents:
            return self.syntax.fault(name, f"the type {name} or an ancestor of it is its own ancestor.")
        return self.syntax.unknown("type", parent, (ROOT, *parents))

    def _type(self, name: Word, parent: Type | None) -> Type:
        if self.vocabulary is None:
            return Type(self.comments.original("type", name), parent=parent)
        found = self._known("type", name, {kind.name: kind for kind in self.vocabulary.types})
        if found.parent != parent:
            raise self.syntax.fault(
                name,
                f"the parent of the type {found.name!r} is {parent.name if parent else None!r} here and "
                f"{found.parent.name if found.parent else None!r} in the vocabulary.",
            )
        return found

    def predicates(
        self, signatures: Sequence[tuple[Word, list[tuple[Word, Word]]]], types: Mapping[str, Type]
    ) -> dict[str, Predicate]:
        """Return the predicates."""
        predicates: dict[str, Predicate] = {}
        for name, arguments in signatures:
            kinds = tuple(_declared("type", kind, types, self.syntax) for _, kind in arguments)
            if name.lower() in predicates:
                raise self.syntax.fault(name, f"the predicate {name} is declared twice.")
            predicate = Predicate(self.comments.original("predicate", name), kinds)
            if self.vocabulary is not None:
                own = {one.name: one for one in self.vocabulary.predicates}
                found = self._known("predicate", name, own)
                if found.types != kinds:
                    raise self.syntax.fault(
                        name, f"the predicate is {predicate} here and {found} in the vocabulary."
                    )
                predicate = found
            predicates[name.lower()] = predicate
        return predicates

    def constants(
        self, declared: Sequence[tuple[Word, Word]], types: Mapping[str, Type]
    ) -> dict[str, Object]:
        """Return the constants, each the only object of a type of its own."""
        constants = {}
        for name, kind in declared:
            if name.startswith("?"):
                raise self.syntax.fault(name, f"{name} is a variable. Constants have no question mark.")
            parent = _declared("type", kind, types, self.syntax)
            original = self.comments.original("object", name)
            constants[name.lower()] = Object(original, Type(f"only {original}", parent.features, parent))
        return constants

    def _known(self, kind: str, name: Word, own: Mapping[str, T]) -> T:
        """Return what the vocabulary calls by this name, whichever way it had to be changed."""
        original = self.comments.original(kind, name)
        if original in own:
            return own[original]
        try:
            return own[NameTable.of(kind, own).original(name)]
        except UnknownNameError:
            raise self.syntax.unknown(kind, name, own) from None


def _declared(kind: str, name: Word, known: Mapping[str, T], syntax: PddlSyntax) -> T:
    if name.lower() not in known:
        raise syntax.unknown(kind, name, known)
    return known[name.lower()]
