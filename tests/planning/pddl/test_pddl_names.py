from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.errors import UnknownNameError
from needful.planning.pddl.names import (
    MAX_LENGTH,
    Comments,
    NameTable,
    controller_comment,
    make_unique,
    name_comment,
)

TEXTS = st.text(max_size=20)

AWKWARD = [
    "",
    "object",
    "Object",
    "OBJECT",
    "and",
    "a b",
    "a_b",
    "A_B",
    'say "hi"',
    "</script>",
    "naïve",
    "naive",
    "箱",
    "箱子",
    "3d",
    "-x",
    "?x",
    "x" * 200,
    "x" * 201,
    "line\nbreak; (not)",
    "object_",
    "n",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(max_size=80))))
def test_names_are_valid_unique_and_reversible(names: list[str]) -> None:
    table = NameTable.of("thing", names)
    written = [table[name] for name in set(names)]
    assert len({name.lower() for name in written}) == len(set(names))
    for name in names:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", table[name])
        assert len(table[name]) <= MAX_LENGTH + len("_-99")
        assert table[name].lower() not in ("object", "and", "not", "when", "forall")
        assert table.original(table[name].lower()) == table.original(table[name].upper()) == name
    assert NameTable.of("thing", reversed(names)) == table


@settings(max_examples=100, deadline=None)
@given(st.sets(st.from_regex(r"x[A-Za-z0-9_-]{0,9}", fullmatch=True)))
def test_accepted_names_stay_unchanged(names: set[str]) -> None:
    fine = {name.lower(): name for name in names}.values()  # one per name, ignoring case
    table = NameTable.of("thing", [*fine, "not fine"])
    assert all(table[name] == name for name in fine)
    assert len(table.rename_comments()) == 1


def test_an_accepted_name_is_not_taken_by_another() -> None:
    table = NameTable.of("thing", ["a b", "a_b", "A_b"])
    assert table["A_b"] == "A_b"
    assert {table["a b"], table["a_b"]} == {"a_b-2", "a_b-3"}


@settings(max_examples=100, deadline=None)
@given(st.sets(st.sampled_from(AWKWARD)), st.sets(st.sampled_from(AWKWARD)))
def test_names_of_other_kinds_are_avoided(others: set[str], names: set[str]) -> None:
    taken = NameTable.of("type", others).by_original.values()
    table = NameTable.of("object", names, taken)
    written = [name.lower() for name in (*taken, *table.by_original.values())]
    assert len(set(written)) == len(written)
    assert {table.original(table[name]) for name in names} == names


def test_a_name_of_another_kind_gets_its_kind_appended() -> None:
    table = NameTable.of("object", ["Robot", "robot", "jar"], taken=["robot"])
    assert dict(table.by_original) == {
        "Robot": "Robot_object",
        "robot": "robot_object-2",
        "jar": "jar",
    }


def test_changed_names_have_comments_of_one_line() -> None:
    table = NameTable.of("object", ["fine", 'a "b"\n(c)', "箱"])
    assert table.rename_comments() == [
        '; object a_b_c is "a \\"b\\"\\n(c)"',
        '; object n is "\\u7bb1"',
    ]


def test_unknown_names() -> None:
    table = NameTable.of("object", ["left"])
    with pytest.raises(UnknownNameError, match="Did you mean 'left'"):
        table["lefd"]
    with pytest.raises(UnknownNameError, match="Unknown PDDL object 'right'"):
        table.original("right")


def test_unique_names_ignore_case_and_avoid_later_names() -> None:
    assert make_unique(["a", "A", "a-2", "b", "a"]) == ("a", "A-3", "a-2", "b", "a-4")
    assert make_unique(["a", "b"], ["A", "a-2"]) == ("a-3", "b")


@given(st.dictionaries(st.sampled_from(["a", "B-2", "c_"]), TEXTS), TEXTS)
def test_comments_are_read_back(originals: dict[str, str], controller: str) -> None:
    lines = [name_comment("type", pddl, original) for pddl, original in originals.items()]
    lines += ["(define", f"  {controller_comment('Go', controller, ['?X', '?y'])}", "  (:action"]
    comments = Comments.of("\n".join(lines))
    for pddl, original in originals.items():
        assert comments.original("type", pddl.upper()) == original
        assert comments.original("object", pddl) == pddl
    assert comments.controllers == {"go": (controller, ("?x", "?y"))}


def test_variables_belong_to_the_action_that_follows() -> None:
    text = "\n".join([name_comment("variable", "x", "ä"), "(", name_comment("variable", "X", "ö"), "("])
    comments = Comments.of(text)
    assert comments.variables_before(2, after=0) == {"x": "ä"}
    assert comments.variables_before(4, after=2) == {"x": "ö"}


def test_other_comments_are_ignored() -> None:
    text = """; type a is "b" or "c"
; type a is b
x ; type a is "b"
; the type a is "b"
; action a runs "b" or "c" with (?x)
; action a runs b with (?x)
; action a runs "b" with ?x
"""
    assert Comments.of(text) == Comments({}, (), {})
