"""The documents evidence.json, climb.json and doubts.json: round trips, and errors that locate damage."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrying_world import AT, BOX, BOX1, CUP, GO, HELD, IN, NEAR, PUT, ROBOT, A, B, C, D, R, carrying
from json_damage import container_of, positions
from needful.core.atoms import GroundAtom
from needful.core.model import PlanningModel, Vocabulary
from needful.errors import ModelError
from needful.operator_learning.doubts import Doubt, DoubtKind, Doubts
from needful.operator_learning.explanation import TransitionEvidence, explain_operator, gather_evidence
from needful.operator_learning.hill_climbing import ClimbStep
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.objective import Objective
from needful.storage.evidence import (
    CLIMB_FILE,
    DOUBTS_FILE,
    EVIDENCE_FILE,
    RecordedClimb,
    climb_to_json,
    doubts_to_json,
    evidence_to_json,
    load_climb,
    load_doubts,
    load_evidence,
)
from needful.storage.json_fields import JsonValue
from needful.storage.model_directory import save_model

VOCABULARY = Vocabulary((ROBOT, CUP, BOX), (NEAR, AT, HELD, IN), (GO, PUT))
DEMOS = (carrying(B, (A, B, C), (A, B)), carrying(A, (A,), (A, D)))
LEARNED = learn_operators(DEMOS)
MODEL = PlanningModel(VOCABULARY, LEARNED.operators)
EVIDENCE = gather_evidence(LEARNED, DEMOS)


def written(folder: Path, evidence: Any) -> Path:
    save_model(folder / "model", MODEL, {}, "", {EVIDENCE_FILE: evidence}, force=True)
    return folder / "model"


def test_evidence_survives_the_round_trip(tmp_path: Path) -> None:
    path = written(tmp_path, evidence_to_json(EVIDENCE, DEMOS))
    assert load_evidence(path, MODEL) == EVIDENCE
    assert list(EVIDENCE) == ["Go", "Put"]
    assert [len(transitions) for transitions in EVIDENCE.values()] == [2, 2]


def test_transitions_that_backchaining_did_not_reach_survive_too(tmp_path: Path) -> None:
    unreached = TransitionEvidence(1, 0, (R, BOX1, A), None, frozenset({AT(R, BOX1)}), frozenset(), {})
    evidence = {**EVIDENCE, "Go": (unreached,)}
    assert load_evidence(written(tmp_path, evidence_to_json(evidence, DEMOS)), MODEL) == evidence
    nothing = {"Go": (), "Put": ()}
    assert load_evidence(written(tmp_path, evidence_to_json(nothing, [])), MODEL) == nothing


def test_the_document_by_hand() -> None:
    document = evidence_to_json(EVIDENCE, DEMOS[:1])
    assert document["demonstrations"] == [
        {"robby": "robot", "box1": "box", "a": "cup", "b": "cup", "c": "cup", "d": "cup"}
    ]
    operators = document["operators"]
    assert isinstance(operators, dict)
    assert operators["Go"][0] == {
        "demonstration": 0,
        "step": 0,
        "objects": ["robby", "box1", "b"],
        "necessary": [["At", "robby", "box1"], ["Held", "b"], ["Near", "robby", "b"]],
        "added": [["At", "robby", "box1"]],
        "deleted": [["Near", "robby", "c"]],
        "needed_by": [[["At", "robby", "box1"], "Put(robby, b, box1) at step 2"]],
    }


def test_the_order_of_reasons_does_not_matter() -> None:
    def document(needed_by: dict[GroundAtom, str]) -> dict[str, JsonValue]:
        one = TransitionEvidence(0, 0, (R, BOX1, A), None, frozenset(), frozenset(), needed_by)
        return evidence_to_json({"Go": (one,)}, DEMOS)

    reasons = {HELD(A): "goal", AT(R, BOX1): "goal"}
    assert document(reasons) == document(dict(reversed(reasons.items())))


def test_a_model_without_evidence(tmp_path: Path) -> None:
    path = written(tmp_path, evidence_to_json(EVIDENCE, DEMOS))
    (path / EVIDENCE_FILE).unlink()
    with pytest.raises(ModelError, match=r"evidence.json cannot be read: No such file.*learn it again"):
        load_evidence(path, MODEL)


@pytest.mark.parametrize(
    ("location", "value", "message"),
    [
        (["format"], "needful-model", '"format" is not "needful-evidence"'),
        (["version"], 2, "version 2 of 'needful-evidence' is not known"),
        (["demonstrations", 0, "a"], "cupp", r"demonstrations\[0\].a: Unknown type .* mean 'cup'"),
        (["operators", "Fly"], [], "operators: unknown field 'Fly'"),
        (["operators"], {"Go": []}, "operators: the field 'Put' is missing. Needed: Go, Put"),
        (["operators", "Go"], {}, "operators.Go: expected an array"),
        (["operators", "Go", 0, "demonstration"], 2, r"Go\[0\].demonstration: there is no demonstration 2"),
        (["operators", "Go", 0, "demonstration"], -1, "there is no demonstration -1"),
        (["operators", "Go", 0, "step"], "1", r"Go\[0\].step: expected a whole number"),
        (["operators", "Go", 0, "objects"], ["robby"], r"Go\[0\].objects: .* 3 parameters, got 1"),
        (["operators", "Go", 0, "objects", 2], "e", r"Go\[0\].objects\[2\]: Unknown object 'e'"),
        (["operators", "Go", 0, "objects", 2], "box1", r"Go\[0\].objects: .* distinct objects"),
        (["operators", "Go", 0, "added"], [["At", "robby"]], r"Go\[0\].added\[0\]: .* takes 2 arguments"),
        (
            ["operators", "Go", 0, "needed_by", 0],
            ["x"],
            r"needed_by\[0\]: expected an atom and the consumer",
        ),
        (["operators", "Go", 0, "needed_by", 0, 1], None, r"needed_by\[0\]\[1\]: expected a string"),
    ],
)
def test_damage_is_located(location: list[Any], value: Any, message: str, tmp_path: Path) -> None:
    document: Any = copy.deepcopy(evidence_to_json(EVIDENCE, DEMOS))
    container_of(document, location)[location[-1]] = value
    path = written(tmp_path, document)
    with pytest.raises(ModelError, match=message) as caught:
        load_evidence(path, MODEL)
    assert str(caught.value).startswith(str(path / EVIDENCE_FILE))


odd_values = st.sampled_from([None, True, -1, 7, 1.5, "", "a", "Near", "box", [], [[]], ["Held", "a"], {}])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_loaded_evidence_can_be_explained(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    document: Any = json.loads(json.dumps(evidence_to_json(EVIDENCE, DEMOS)))
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        container, key = data.draw(st.sampled_from(positions(document)), label="position")
        if data.draw(st.booleans(), label="remove"):
            del container[key]
        else:
            container[key] = copy.deepcopy(data.draw(odd_values, label="value"))
        if not positions(document):
            break
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / EVIDENCE_FILE).write_text(json.dumps(document))
    with suppress(ModelError):
        loaded = load_evidence(folder, MODEL)
        for operator in MODEL.operators:
            assert explain_operator(operator, loaded[operator.name]).operator == operator


CLIMB = RecordedClimb(
    8,
    (
        ClimbStep("cover", Objective(3, 2), ("A", "B"), ()),
        ClimbStep("delete", Objective(3, 1), (), ("B",)),
    ),
)


def test_a_climb_survives_the_round_trip(tmp_path: Path) -> None:
    for climb in (CLIMB, RecordedClimb(0, ())):
        (tmp_path / CLIMB_FILE).write_text(json.dumps(climb_to_json(climb)))
        assert load_climb(tmp_path) == climb


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "needful-model"}, 'the field "format" is not "needful-climb"'),
        ({"version": 2}, "version 2 of 'needful-climb' is not known"),
        ({"transitions": "many"}, "transitions: expected a whole number"),
        ({"steps": [{"move": "cover"}]}, "steps[0]: the field 'uncovered' is missing"),
    ],
)
def test_damage_of_a_climb_is_located(change: dict[str, object], message: str, tmp_path: Path) -> None:
    (tmp_path / CLIMB_FILE).write_text(json.dumps({**climb_to_json(CLIMB), **change}))
    with pytest.raises(ModelError) as error:
        load_climb(tmp_path)
    assert message in str(error.value)


DOUBTS = Doubts(
    *(8, 1, 7, 3, 4, 5, 6),
    items=(
        Doubt(
            DoubtKind.FALSE_CLAIM,
            "Go",
            "Go",
            3,
            "Go claims At(?x0)",
            "for example demonstration 0",
            "Look.",
        ),
        Doubt(DoubtKind.REPAIRED, None, None, 6, "6 atoms of Near were repaired", "", "Look."),
    ),
)


def test_doubts_survive_the_round_trip(tmp_path: Path) -> None:
    assert load_doubts(tmp_path) is None, "a model of an earlier version has no doubts"
    for doubts in (DOUBTS, Doubts()):
        (tmp_path / DOUBTS_FILE).write_text(json.dumps(doubts_to_json(doubts)))
        assert load_doubts(tmp_path) == doubts


@pytest.mark.parametrize(
    ("location", "value", "message"),
    [
        (["format"], "needful-climb", '"format" is not "needful-doubts"'),
        (["version"], 2, "version 2 of 'needful-doubts' is not known"),
        (["false_claims"], "many", "false_claims: expected a whole number"),
        (
            ["doubts", 0, "kind"],
            "false_claims",
            r"doubts\[0\].kind: Unknown kind of doubt .* mean 'false_claim'",
        ),
        (["doubts", 0, "operator"], 3, r"doubts\[0\].operator: expected a string"),
        (["doubts", 1], {"kind": "idle"}, r"doubts\[1\]: the field 'operator' is missing"),
    ],
)
def test_damage_of_doubts_is_located(location: list[Any], value: Any, message: str, tmp_path: Path) -> None:
    document: Any = copy.deepcopy(doubts_to_json(DOUBTS))
    container_of(document, location)[location[-1]] = value
    (tmp_path / DOUBTS_FILE).write_text(json.dumps(document))
    with pytest.raises(ModelError, match=message):
        load_doubts(tmp_path)
