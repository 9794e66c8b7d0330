"""Types with single inheritance, objects and variables."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.objects import InjectiveTuples, Object, Type, Variable
from needful.errors import InvalidInputError

THING = Type("thing", ("x",))
BOOK = Type("book", ("x", "pages"), THING)
NOVEL = Type("novel", ("x", "pages", "plot"), BOOK)
TABLE = Type("table", ("x",), THING)
TYPES = (THING, BOOK, NOVEL, Type("robot"))


def test_ancestry_goes_up_to_the_root():
    assert list(NOVEL.ancestry()) == [NOVEL, BOOK, THING]


@pytest.mark.parametrize(
    ("kind", "other", "expected"),
    [
        (NOVEL, NOVEL, True),
        (NOVEL, BOOK, True),
        (NOVEL, THING, True),
        (NOVEL, Type("book", ("x", "pages"), THING), True),
        (BOOK, NOVEL, False),
        (TABLE, BOOK, False),
        (THING, TABLE, False),
    ],
)
def test_subtypes(kind, other, expected):
    assert kind.is_subtype_of(other) is expected


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (NOVEL, NOVEL, NOVEL),
        (NOVEL, BOOK, BOOK),
        (NOVEL, TABLE, THING),
        (BOOK, THING, THING),
        (NOVEL, Type("robot"), None),
    ],
)
def test_nearest_common_ancestor(one, other, common):
    assert one.nearest_common_ancestor(other) == common
    assert other.nearest_common_ancestor(one) == common


def test_types_with_the_same_name_but_other_features_differ():
    assert not NOVEL.is_subtype_of(Type("book", ("x",), THING))


def test_subtype_may_list_its_parents_features_in_another_order():
    assert Type("scroll", ("pages", "x"), BOOK).is_subtype_of(THING)


def test_subtype_must_list_its_parents_features():
    with pytest.raises(InvalidInputError, match=r"'leaflet' lacks the features \['pages'\] of its parent"):
        Type("leaflet", ("x",), BOOK)


def test_feature_listed_twice():
    with pytest.raises(InvalidInputError, match="lists a feature twice"):
        Type("cup", ("x", "x"))


def test_names_must_not_be_empty():
    with pytest.raises(InvalidInputError, match="A type needs a name"):
        Type("")
    with pytest.raises(InvalidInputError, match="Every object needs a name"):
        Object("", THING)


def test_variable_names_start_with_a_question_mark():
    assert Variable("?b", BOOK).name == "?b"
    with pytest.raises(InvalidInputError, match=r"must start with '\?', got 'b'"):
        Variable("b", BOOK)


def test_calling_a_type_makes_an_object_of_it():
    assert BOOK("dune") == Object("dune", BOOK)
    assert str(BOOK("dune")) == "dune:book"


def test_objects_are_equal_by_name_and_type_and_sort_by_name():
    assert BOOK("a") != TABLE("a")
    assert sorted([TABLE("b"), TABLE("a"), BOOK("b")]) == [TABLE("a"), BOOK("b"), TABLE("b")]
    assert len({BOOK("a"), BOOK("a"), TABLE("a")}) == 2


def test_types_and_objects_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BOOK.name = "paper"
    with pytest.raises(dataclasses.FrozenInstanceError):
        BOOK("a").name = "b"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_injective_tuples_are_indexed_without_gaps(data: st.DataObject) -> None:
    objects = [data.draw(st.sampled_from(TYPES))(f"o{i}") for i in range(data.draw(st.integers(0, 5)))]
    kinds = data.draw(st.lists(st.sampled_from(TYPES), max_size=4))
    domains = tuple(tuple(o for o in objects if o.type.is_subtype_of(kind)) for kind in kinds)
    tuples = InjectiveTuples(domains)
    injective = {t for t in itertools.product(*domains) if len(set(t)) == len(t)}
    assert tuples.count == len(injective)
    assert {tuples.at(index) for index in range(tuples.count)} == injective


def test_the_number_of_injective_tuples_may_exceed_64_bits() -> None:
    books = tuple(BOOK(f"book{number:03}") for number in range(100))
    tuples = InjectiveTuples((books,) * 30)
    assert tuples.count > 2**64
    assert len(set(tuples.at(tuples.count - 1))) == 30
