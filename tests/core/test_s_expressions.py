"""S-expressions: parsing, line numbers and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.core.s_expressions import MAX_NESTING, Form, Word, expression_text, read_expression
from needful.errors import InvalidInputError

WORDS = st.text("abcXYZ?:-_=.0ä", min_size=1)
NESTED = st.recursive(WORDS, lambda inner: st.lists(inner), max_leaves=20)


def text_of(tree: str | list) -> str:
    return tree if isinstance(tree, str) else f"({' '.join(map(text_of, tree))})"


@given(NESTED)
def test_round_trip(tree: str | list) -> None:
    read = read_expression(text_of(tree), "here")
    assert read == tree  # words are strings, forms are lists
    assert expression_text(read) == text_of(tree)


def test_lines_and_comments() -> None:
    read = read_expression("; (\n(a ;b)\n\n (c\n d)\r\n)  ; )", "here")
    assert read == ["a", ["c", "d"]]
    assert isinstance(read, Form)
    inner = read[1]
    assert isinstance(inner, Form)
    assert (read.line, read[0].line, inner.line, [word.line for word in inner]) == (2, 2, 4, [4, 5])
    assert isinstance(inner[0], Word)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a))", "here: line 1 has a `)` without a matching `(`."),
        (")", "here: line 1 has a `)` without a matching `(`."),
        ("(a\n(b\n", "here: 2 `)` missing at the end; the last `(` that is not closed is in line 2."),
        ("", "here: a file must hold one definition, got 0 expressions."),
        ("a (b)", "here: a file must hold one definition, got 2 expressions."),
        ("(" * 10**6, f"here: brackets are nested more than {MAX_NESTING} deep in line 1."),
    ],
)
def test_invalid_text(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_expression(text, "here")
    assert str(error.value) == message


def test_the_deepest_allowed_nesting() -> None:
    depth = MAX_NESTING - 1
    assert expression_text(read_expression("(" * depth + ")" * depth, "here")).count("(") == depth
