"""The document `climb.json` of a model directory: the way that hill climbing took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from needful.operator_learning.hill_climbing import ClimbStep
from needful.operator_learning.objective import Objective
from needful.storage.json_fields import Field, JsonValue
from needful.storage.model_directory import load_document

CLIMB_FILE = "climb.json"
FORMAT = "needful-climb"
VERSION = 1


@dataclass(frozen=True, slots=True)
class RecordedClimb:
    """The steps of hill climbing, and how many transitions there were to cover."""

    transitions: int
    steps: tuple[ClimbStep, ...]


def climb_to_json(climb: RecordedClimb) -> dict[str, JsonValue]:
    """Return the content of climb.json."""
    return {
        "format": FORMAT,
        "version": VERSION,
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
    """Read the climb that led to the model of a directory."""
    field = load_document(path, CLIMB_FILE)
    field.check_format(FORMAT, VERSION)
    record = field.record("format", "version", "transitions", "steps")
    return RecordedClimb(record["transitions"].integer(), tuple(map(_step, record["steps"].items())))


def _step(field: Field) -> ClimbStep:
    record = field.record("move", "uncovered", "operators", "added", "removed")
    return ClimbStep(
        record["move"].text(),
        Objective(record["uncovered"].integer(), record["operators"].integer()),
        tuple(item.text() for item in record["added"].items()),
        tuple(item.text() for item in record["removed"].items()),
    )
