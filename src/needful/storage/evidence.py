"""The documents of a model directory that record how its operators were learned.

`evidence.json` lists the objects of each demonstration, and the transitions that each operator was learned
from; `needful explain` reads it. `climb.json` lists the steps of the hill climbing that found the
operators. `doubts.json` lists the doubts: signs that an operator may be wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.operator_learning.doubts import Doubt, DoubtKind, Doubts
from needful.operator_learning.explanation import TransitionEvidence
from needful.operator_learning.hill_climbing import ClimbStep
from needful.operator_learning.objective import Objective
from needful.storage.json_fields import Field, JsonValue
from needful.storage.model_directory import load_document
from needful.storage.vocabulary_json import (
    GroundAtomReader,
    VocabularyIndex,
    atom_to_json,
    atoms_to_json,
    objects_from_json,
    objects_to_json,
)

EVIDENCE_FILE = "evidence.json"
EVIDENCE_FORMAT = "needful-evidence"
EVIDENCE_VERSION = 1
CLIMB_FILE = "climb.json"
CLIMB_FORMAT = "needful-climb"
CLIMB_VERSION = 1
DOUBTS_FILE = "doubts.json"
DOUBTS_FORMAT = "needful-doubts"
DOUBTS_VERSION = 1
# The fields of doubts.json that are counts. `Doubts` has attributes with the same names.
DOUBTS_COUNTS = (
    "transitions",
    "uncovered",
    "false_claims",
    "false_transitions",
    "purposeless_steps",
    "idle_steps",
    "repaired_atoms",
)

# A map from the name of each operator to the transitions that the operator was learned from.
Evidence: TypeAlias = Mapping[str, tuple[TransitionEvidence, ...]]


@dataclass(frozen=True, slots=True)
class RecordedClimb:
    """The content of climb.json: the steps of the hill climbing that found the operators of a model.

    `transitions` is the number of all demonstrated transitions. In each step, `objective.uncovered` is the
    number of transitions that no operator explains after the step.
    """

    transitions: int
    steps: tuple[ClimbStep, ...]


def evidence_to_json(evidence: Evidence, demonstrations: Sequence[Demonstration]) -> dict[str, JsonValue]:
    """Return the content of evidence.json: the transitions that each operator was learned from."""
    return {
        "format": EVIDENCE_FORMAT,
        "version": EVIDENCE_VERSION,
        "demonstrations": [objects_to_json(demonstration.objects) for demonstration in demonstrations],
        "operators": {
            name: [_transition_to_json(transition) for transition in transitions]
            for name, transitions in evidence.items()
        },
    }


def load_evidence(path: Path, model: PlanningModel) -> dict[str, tuple[TransitionEvidence, ...]]:
    """Read evidence.json in the model directory `path`.

    Returns a map from the name of each operator to the transitions that the operator was learned from.
    """
    field = load_document(path, EVIDENCE_FILE)
    field.check_format(EVIDENCE_FORMAT, EVIDENCE_VERSION)
    record = field.record("format", "version", "demonstrations", "operators")
    index = VocabularyIndex.of(model.vocabulary)
    demonstrations = []
    for item in record["demonstrations"].items():
        objects = objects_from_json(item, index.types)
        demonstrations.append((objects, GroundAtomReader(index, objects)))
    transitions = record["operators"].record(*(operator.name for operator in model.operators))
    return {
        operator.name: tuple(
            _transition_from_json(item, operator, demonstrations)
            for item in transitions[operator.name].items()
        )
        for operator in model.operators
    }


def climb_to_json(climb: RecordedClimb) -> dict[str, JsonValue]:
    """Return the content of climb.json: the steps of the hill climbing that found the operators."""
    return {
        "format": CLIMB_FORMAT,
        "version": CLIMB_VERSION,
        "transitions": climb.transitions,
        "steps": [
            {
                "move": step.move,
                "uncovered": step.objective.uncovered,
                "operators": step.objective.operators,
                "added": list(step.added),
                "removed": list(step.removed),
            }
            for step in climb.steps
        ],
    }


def load_climb(path: Path) -> RecordedClimb:
    """Read climb.json in the model directory `path`: the steps of the hill climbing."""
    field = load_document(path, CLIMB_FILE)
    field.check_format(CLIMB_FORMAT, CLIMB_VERSION)
    record = field.record("format", "version", "transitions", "steps")
    return RecordedClimb(
        record["transitions"].integer(), tuple(map(_step_from_json, record["steps"].items()))
    )


def doubts_to_json(doubts: Doubts) -> dict[str, JsonValue]:
    """Return the content of doubts.json: the doubts about the operators (signs that one may be wrong)."""
    return {
        "format": DOUBTS_FORMAT,
        "version": DOUBTS_VERSION,
        **{name: getattr(doubts, name) for name in DOUBTS_COUNTS},
        "doubts": [
            {
                "kind": one.kind.value,
                "operator": one.operator,
                "controller": one.controller,
                "count": one.count,
                "fact": one.fact,
                "where": one.where,
                "advice": one.advice,
            }
            for one in doubts.items
        ],
    }


def load_doubts(path: Path) -> Doubts | None:
    """Read doubts.json in the model directory `path`; return None if it is not there, as in old models."""
    if not os.path.exists(path / DOUBTS_FILE):
        return None
    field = load_document(path, DOUBTS_FILE)
    field.check_format(DOUBTS_FORMAT, DOUBTS_VERSION)
    record = field.record("format", "version", *DOUBTS_COUNTS, "doubts")
    counts = {name: record[name].integer() for name in DOUBTS_COUNTS}
    return Doubts(**counts, items=tuple(map(_doubt_from_json, record["doubts"].items())))


def _doubt_from_json(field: Field) -> Doubt:
    record = field.record("kind", "operator", "controller", "count", "fact", "where", "advice")
    operator, controller = (
        None if record[name].value is None else record[name].text() for name in ("operator", "controller")
    )
    return Doubt(
        record["kind"].look_up("kind of doubt", {one.value: one for one in DoubtKind}),
        operator,
        controller,
        record["count"].integer(),
        *(record[name].text() for name in ("fact", "where", "advice")),
    )


def _transition_to_json(transition: TransitionEvidence) -> dict[str, JsonValue]:
    return {
        "demonstration": transition.demonstration,
        "step": transition.step,
        "objects": [obj.name for obj in transition.objects],
        "necessary": None if transition.necessary is None else atoms_to_json(transition.necessary),
        "added": atoms_to_json(transition.added),
        "deleted": atoms_to_json(transition.deleted),
        "needed_by": [
            [atom_to_json(atom), consumer] for atom, consumer in sorted(transition.needed_by.items())
        ],
    }


def _transition_from_json(
    field: Field,
    operator: Operator,
    demonstrations: Sequence[tuple[Mapping[str, Object], GroundAtomReader]],
) -> TransitionEvidence:
    record = field.record("demonstration", "step", "objects", "necessary", "added", "deleted", "needed_by")
    number = record["demonstration"].integer()
    if not 0 <= number < len(demonstrations):
        raise record["demonstration"].fault(
            f"there is no demonstration {number}.", "Learn the model again."
        )
    known, reader = demonstrations[number]
    objects = tuple(one.look_up("object", known) for one in record["objects"].items())
    with record["objects"].locate_errors():
        operator.ground(objects)
    needed_by = {}
    for item in record["needed_by"].items():
        pair = item.items()
        if len(pair) != 2:
            raise item.fault("expected an atom and the consumer that needs it.", "Learn the model again.")
        needed_by[reader.atom(pair[0])] = pair[1].text()
    return TransitionEvidence(
        number,
        record["step"].integer(),
        objects,
        None if record["necessary"].value is None else reader.atoms(record["necessary"]),
        reader.atoms(record["added"]),
        reader.atoms(record["deleted"]),
        needed_by,
    )


def _step_from_json(field: Field) -> ClimbStep:
    record = field.record("move", "uncovered", "operators", "added", "removed")
    return ClimbStep(
        record["move"].text(),
        Objective(record["uncovered"].integer(), record["operators"].integer()),
        tuple(item.text() for item in record["added"].items()),
        tuple(item.text() for item in record["removed"].items()),
    )
