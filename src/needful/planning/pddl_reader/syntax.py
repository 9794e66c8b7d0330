"""What all parts of a PDDL file are made of, and errors that name their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from needful.core.s_expressions import Expression, Form, Word, shown
from needful.errors import InvalidInputError, UnknownNameError

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
    def located(self, at: Expression) -> Iterator[None]:
        """Let errors of the vocabulary say where in the text they come from."""
        try:
            yield
        except InvalidInputError as error:
            raise self.fault(at, str(error)) from error

    def word(self, expression: Expression) -> Word:
        """Return a name."""
        if isinstance(expression, Form):
            raise self.fault(expression, f"expected a name, got {shown(expression)}.")
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
                raise self.fault(kind, f"types such as {shown(kind)} are not supported: name one type.")
            pairs += [(name, kind) for name in waiting]
            waiting = []
        pairs += [(name, Word(ROOT, name.line)) for name in waiting]
        names = [name.lower() for name, _ in pairs]
        for name, _ in pairs:
            if names.count(name.lower()) > 1:
                raise self.fault(name, f"{name} is listed twice.")
        return pairs
