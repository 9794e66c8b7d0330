"""The document about hill climbing: written, read again, and refused if it is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from needful.errors import ModelError
from needful.operator_learning.hill_climbing import ClimbStep
from needful.operator_learning.objective import Objective
from needful.storage.evidence import CLIMB_FILE, RecordedClimb, climb_to_json, load_climb

CLIMB = RecordedClimb(
    8,
    (
        ClimbStep("cover", Objective(3, 2), ("A", "B"), ()),
        ClimbStep("delete", Objective(3, 1), (), ("B",)),
    ),
)


def test_a_climb_can_be_read_again(tmp_path: Path) -> None:
    for climb in (CLIMB, RecordedClimb(0, ())):
        (tmp_path / CLIMB_FILE).write_text(json.dumps(climb_to_json(climb)))
        assert load_climb(tmp_path) == climb


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": "needful-model"}, 'the field "format" is not "needful-climb"'),
        ({"version": 2}, "version 2 of 'needful-climb' is not known"),
        ({"transitions": "many"}, "transitions: expected a whole number"),
        ({"steps": [{"move": "cover"}]}, "steps[0]: the field 'uncovered' is missing"),
    ],
)
def test_damage_is_named(change: dict[str, object], complaint: str, tmp_path: Path) -> None:
    (tmp_path / CLIMB_FILE).write_text(json.dumps({**climb_to_json(CLIMB), **change}))
    with pytest.raises(ModelError) as error:
        load_climb(tmp_path)
    assert complaint in str(error.value)
