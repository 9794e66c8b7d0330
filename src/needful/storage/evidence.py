"""The document `evidence.json` of a model directory: the transitions behind each operator.

It is what `needful explain` reads. The objects of each demonstration are listed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.objects import Object
from needful.core.operators import Operator
from needful.operator_learning.evidence import TransitionEvidence
from needful.storage.ground_atoms_json import (
    GroundAtomReader,
    atom_to_json,
    atoms_to_json,
    objects_from_json,
    objects_to_json,
)
from needful.storage.json_fields import Field, JsonValue
from needful.storage.model_directory import load_document
from needful.storage.vocabulary_json import Names

EVIDENCE_FILE = "evidence.json"
FORMAT = "needful-evidence"
VERSION = 1

Evidence: TypeAlias = Mapping[str, tuple[TransitionEvidence, ...]]


def evidence_to_json(evidence: Evidence, demonstrations: Sequence[Demonstration]) -> dict[str, JsonValue]:
    """Return the content of evidence.json."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "demonstrations": [objects_to_json(demonstration.objects) for demonstration in demonstrations],
        "operators": {
            name: [_transition_to_json(one) for one in transitions]
            for name, transitions in evidence.items()
        },
    }


def load_evidence(path: Path, model: PlanningModel) -> dict[str, tuple[TransitionEvidence, ...]]:
    """Read the evidence for the model of a directory, by the operators' names."""
    field = load_document(path, EVIDENCE_FILE)
    field.check_format(FORMAT, VERSION)
    record = field.record("format", "version", "demonstrations", "operators")
    names = Names.of(model.vocabulary)
    demonstrations = []
    for item in record["demonstrations"].items():
        objects = objects_from_json(item, names.types)
        demonstrations.append((objects, GroundAtomReader(names, objects)))
    transitions = record["operators"].record(*(operator.name for operator in model.operators))
    return {
        operator.name: tuple(
            _transition_from_json(item, operator, demonstrations)
            for item in transitions[operator.name].items()
        )
        for operator in model.operators
    }


def _transition_to_json(one: TransitionEvidence) -> dict[str, JsonValue]:
    return {
        "demonstration": one.demonstration,
        "step": one.step,
        "objects": [obj.name for obj in one.objects],
        "necessary": None if one.necessary is None else atoms_to_json(one.necessary),
        "added": atoms_to_json(one.added),
        "deleted": atoms_to_json(one.deleted),
        "needed_by": [[atom_to_json(atom), who] for atom, who in sorted(one.needed_by.items())],
    }


def _transition_from_json(
    field: Field,
    operator: Operator,
    demonstrations: Sequence[tuple[Mapping[str, Object], GroundAtomReader]],
) -> TransitionEvidence:
    record = field.record("demonstration", "step", "objects", "necessary", "added", "deleted", "needed_by")
    place = record["demonstration"].integer()
    if not 0 <= place < len(demonstrations):
        raise record["demonstration"].fault(f"there is no demonstration {place}.", "Learn the model again.")
    known, reader = demonstrations[place]
    objects = tuple(one.one_of("object", known) for one in record["objects"].items())
    with record["objects"].located():
        operator.ground(objects)
    needed_by = {}
    for item in record["needed_by"].items():
        pair = item.items()
        if len(pair) != 2:
            raise item.fault("expected an atom and who needs it.", "Learn the model again.")
        needed_by[reader.atom(pair[0])] = pair[1].text()
    return TransitionEvidence(
        place,
        record["step"].integer(),
        objects,
        None if record["necessary"].value is None else reader.atoms(record["necessary"]),
        reader.atoms(record["added"]),
        reader.atoms(record["deleted"]),
        needed_by,
    )
