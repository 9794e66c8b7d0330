"""Read the types, predicates and constants that a PDDL domain declares; errors give the line number."""

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

# In PDDL, names without a declared type have this type.
ROOT_TYPE = "object"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PddlSyntax:
    """Reads names and lists from parsed PDDL; `source` is the name of the PDDL text in error messages."""

    source: str

    def fault(self, at: Expression, message: str) -> InvalidInputError:
        """Return an error whose message starts with the source and the line number of an expression."""
        return InvalidInputError(f"{self.source}, line {at.line}: {message}")

    def unknown(self, kind: str, name: Word, known: Iterable[str]) -> UnknownNameError:
        """Return an error about an undeclared name, with the line number of the name."""
        return UnknownNameError(f"{kind} in {self.source}, line {name.line},", name, known)

    @contextmanager
    def locate_errors(self, at: Expression) -> Iterator[None]:
        """Add the line number of an expression to errors raised inside the `with` block."""
        try:
            yield
        except InvalidInputError as error:
            raise self.fault(at, str(error)) from error

    def word(self, expression: Expression) -> Word:
        """Return the expression unchanged if it is a name; raise if it is a list."""
        if isinstance(expression, Form):
            raise self.fault(expression, f"expected a name, got {expression_text(expression)}.")
        return expression

    def form(self, expression: Expression) -> Form:
        """Return the expression unchanged if it is a list; raise if it is a name."""
        if isinstance(expression, Word):
            raise self.fault(expression, f"expected a list in parentheses, got {expression}.")
        return expression

    def parts(self, expression: Expression) -> tuple[str, list[Expression]]:
        """Return the first word of a list, in lower case, and the other elements of the list."""
        form = self.form(expression)
        if not form:
            raise self.fault(form, "this list is empty.")
        return self.word(form[0]).lower(), form[1:]

    def typed_list(self, words: Sequence[Expression]) -> list[tuple[Word, Word]]:
        """Return the names of a typed list, such as `a b - book c`, with their types."""
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
                raise self.fault(word, "a `-` must be between names and their type.")
            if isinstance(kind, Form):
                raise self.fault(
                    kind, f"types such as {expression_text(kind)} are not supported: name one type."
                )
            pairs += [(name, kind) for name in waiting]
            waiting = []
        pairs += [(name, Word(ROOT_TYPE, name.line)) for name in waiting]
        names = [name.lower() for name, _ in pairs]
        for name, _ in pairs:
            if names.count(name.lower()) > 1:
                raise self.fault(name, f"{name} is listed twice.")
        return pairs


@dataclass(frozen=True, slots=True)
class Symbols:
    """The types, predicates and constants that a domain declares, by lower-case PDDL name."""

    syntax: PddlSyntax
    comments: Comments
    types: Mapping[str, Type]
    predicates: Mapping[str, Predicate]
    constants: Mapping[str, Object]

    def type(self, name: Word) -> Type:
        """Return a type by name."""
        return _declared("type", name, self.types, self.syntax)


def read_symbols(
    sections: Mapping[str, Form],
    actions: Sequence[Form],
    comments: Comments,
    vocabulary: Vocabulary | None,
    syntax: PddlSyntax,
) -> Symbols:
    """Read the types, predicates and constants that a domain declares.

    With a vocabulary, each declared type and predicate is replaced by the one with the same name in the
    vocabulary. The parent type of a type and the argument types of a predicate must be the same in both.
    """
    types_section, constants_section, predicates_section = (
        sections.get(name, [])[1:] for name in (":types", ":constants", ":predicates")
    )
    signatures = [_signature(one, syntax) for one in predicates_section]
    constants = syntax.typed_list(constants_section)
    mentioned = {kind.lower() for _, arguments in signatures for _, kind in arguments}
    mentioned |= {kind.lower() for _, kind in constants}
    mentioned |= {kind.lower() for action in actions for kind in _types_within(action, syntax)}
    reader = _Declarations(comments, vocabulary, syntax)
    types = reader.types(syntax.typed_list(types_section), with_root=ROOT_TYPE in mentioned)
    return Symbols(
        syntax, comments, types, reader.predicates(signatures, types), reader.constants(constants, types)
    )


def _signature(expression: Expression, syntax: PddlSyntax) -> tuple[Word, list[tuple[Word, Word]]]:
    _, arguments = syntax.parts(expression)
    return syntax.word(syntax.form(expression)[0]), syntax.typed_list(arguments)


def _types_within(expression: Expression, syntax: PddlSyntax) -> list[Word]:
    """Return the types of all parameters and quantified variables in an action."""
    if isinstance(expression, Word):
        return []
    found = []
    for before, part in zip([None, *expression], expression, strict=False):
        if isinstance(before, Word) and before.lower() in (":parameters", "forall"):
            found += [kind for _, kind in syntax.typed_list(syntax.form(part))]
        else:
            found += _types_within(part, syntax)
    return found


@dataclass(frozen=True, slots=True)
class _Declarations:
    comments: Comments
    vocabulary: Vocabulary | None
    syntax: PddlSyntax

    def types(self, declared: Sequence[tuple[Word, Word]], with_root: bool) -> dict[str, Type]:
        """Return the types by lower-case name; `with_root` adds `object` as the supertype of all others."""
        parents = {name.lower(): parent for name, parent in declared if name.lower() != ROOT_TYPE}
        types: dict[str, Type] = {}
        if with_root:
            types[ROOT_TYPE] = self._type(Word(ROOT_TYPE, 1), None)
        waiting = [name for name, _ in declared if name.lower() != ROOT_TYPE]
        while waiting:
            later = []
            for name in waiting:
                parent = parents[name.lower()]
                if parent.lower() in (ROOT_TYPE, *types):
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
            return self.syntax.fault(name, f"the ancestors of the type {name} contain a cycle.")
        return self.syntax.unknown("type", parent, (ROOT_TYPE, *parents))

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
        """Return the predicates by lower-case name."""
        predicates: dict[str, Predicate] = {}
        for name, arguments in signatures:
            kinds = tuple(_declared("type", kind, types, self.syntax) for _, kind in arguments)
            if name.lower() in predicates:
                raise self.syntax.fault(name, f"the predicate {name} is declared twice.")
            predicate = Predicate(self.comments.original("predicate", name), kinds)
            if self.vocabulary is not None:
                known = {one.name: one for one in self.vocabulary.predicates}
                found = self._known("predicate", name, known)
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
        """Return the constants by lower-case name.

        Each constant gets a new type: a subtype of its declared type, with the constant as its only object.
        """
        constants = {}
        for name, kind in declared:
            if name.startswith("?"):
                raise self.syntax.fault(
                    name, f"{name} is a variable. Constants must not start with a question mark."
                )
            parent = _declared("type", kind, types, self.syntax)
            original = self.comments.original("object", name)
            constants[name.lower()] = Object(original, Type(f"only {original}", parent.features, parent))
        return constants

    def _known(self, kind: str, name: Word, known: Mapping[str, T]) -> T:
        """Return the type or predicate of the vocabulary that a PDDL name stands for.

        `known` has the types or the predicates of the vocabulary, by original name.
        """
        original = self.comments.original(kind, name)
        if original in known:
            return known[original]
        try:
            return known[NameTable.of(kind, known).original(name)]
        except UnknownNameError:
            raise self.syntax.unknown(kind, name, known) from None


def _declared(kind: str, name: Word, known: Mapping[str, T], syntax: PddlSyntax) -> T:
    if name.lower() not in known:
        raise syntax.unknown(kind, name, known)
    return known[name.lower()]
