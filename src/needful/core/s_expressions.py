"""S-expressions, the syntax of PDDL and BDDL: nested lists of words with their line numbers."""

from __future__ import annotations

import re
from typing import TypeAlias

from needful.errors import InvalidInputError

# The maximum depth of nested lists. It must stay below Python's recursion limit, because the functions that
# walk expressions are recursive.
MAX_NESTING = 200


class Word(str):
    """A word of an S-expression, with its line number in the parsed text."""

    __slots__ = ("line",)
    line: int

    def __new__(cls, text: str, line: int) -> Word:
        """Create the word `text`, found in the given line."""
        word = super().__new__(cls, text)
        word.line = line
        return word


class Form(list["Word | Form"]):
    """A list of words and lists in brackets, with the line number of the opening bracket."""

    __slots__ = ("line",)

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


Expression: TypeAlias = Word | Form


def read_expression(text: str, source: str) -> Expression:
    """Parse a text that consists of one S-expression.

    A `;` starts a comment that lasts until the end of the line. Error messages name `source`, such as a
    file name, as the origin of the text.
    """
    root = Form(1)
    open_forms = [root]
    for number, line in enumerate(text.split("\n"), start=1):
        for word in re.findall(r"[()]|[^\s()]+", line.partition(";")[0]):
            if word == "(":
                form = Form(number)
                open_forms[-1].append(form)
                open_forms.append(form)
            elif word == ")":
                open_forms.pop()
            else:
                open_forms[-1].append(Word(word, number))
            if not open_forms:
                raise InvalidInputError(f"{source}: line {number} has a `)` without a matching `(`.")
            if len(open_forms) > MAX_NESTING:
                raise InvalidInputError(
                    f"{source}: brackets are nested more than {MAX_NESTING} deep in line {number}."
                )
    if len(open_forms) > 1:
        raise InvalidInputError(
            f"{source}: {len(open_forms) - 1} `)` missing at the end; "
            f"the last `(` that is not closed is in line {open_forms[-1].line}."
        )
    if len(root) != 1:
        raise InvalidInputError(f"{source}: a file must hold one definition, got {len(root)} expressions.")
    return root[0]


def expression_text(expression: Expression | list[Expression]) -> str:
    """Return the given S-expression as one line of text."""
    if isinstance(expression, Word):
        return str(expression)
    return f"({' '.join(map(expression_text, expression))})"
