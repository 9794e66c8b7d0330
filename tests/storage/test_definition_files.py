"""Conjunctions and formulas in files: round trips, and errors that name the place."""

from __future__ import annotations

import json

import pytest

from needful import Conjunction, Definition, Expression, ModelError, Type, Vocabulary, defined_predicate
from needful.storage.json_fields import Field, Source
from needful.storage.vocabulary_json import VOCABULARY_FIELDS, vocabulary_from_json, vocabulary_to_json

BOX = Type("box", ("x", "y"))
SPOT = Type("spot", ("x",))
GAP = Definition(Expression("gap: abs(a.x - b.x)", (SPOT, BOX), (("x",), ("x",))), "<=", 0.5)
HIGH = Definition(Expression("feature", (BOX,), (("y",),)), ">", 1.0)
BOTH = Conjunction((BOX, SPOT), ((GAP, (1, 0)), (HIGH, (0,))))
VOCABULARY = Vocabulary((BOX, SPOT), (defined_predicate(BOTH, "both"), defined_predicate(GAP, "near")), ())


def read(document: dict) -> Vocabulary:
    root = Field(document, Source("model.json", ModelError), "")
    return vocabulary_from_json(root.record(*VOCABULARY_FIELDS)).to_vocabulary()


def test_round_trip() -> None:
    written = json.dumps(vocabulary_to_json(VOCABULARY))
    again = read(json.loads(written))
    assert [one.definition for one in again.predicates] == [BOTH, GAP]
    assert json.dumps(vocabulary_to_json(again)) == written


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: one["parts"].pop(), "at least two parts"),
        (lambda one: one["parts"][0].update(arguments=[0, 1]), "does not fit the arguments"),
        (lambda one: one["parts"][0].update(arguments=[1, 7]), "are not those of the arguments"),
        (lambda one: one["parts"][0].update(arguments=["a"]), "expected a whole number"),
        (lambda one: one["parts"][0].update(code="print()"), "unknown field 'code'"),
        (
            lambda one: one["parts"][0]["definition"].update(kind="f: open(a.x)"),
            "'open(a.x)' is not allowed",
        ),
        (lambda one: one["parts"][0]["definition"].update(kind="conjunction"), "Unknown kind"),
        (lambda one: one["parts"][0]["definition"].update(features=[["x"], ["y"]]), "uses the features"),
        (lambda one: one.update(types=["box", "box"]), "does not fit the arguments"),
    ],
)
def test_broken_conjunctions_are_errors(change, expected: str) -> None:
    document = json.loads(json.dumps(vocabulary_to_json(VOCABULARY)))
    change(document["predicates"][0]["definition"])
    with pytest.raises(ModelError) as raised:
        read(document)
    assert expected in str(raised.value)
    assert "predicates[0]" in str(raised.value)
