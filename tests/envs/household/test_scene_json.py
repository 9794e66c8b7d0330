"""Scenes as JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from needful.envs.household.scene_json import scene_from_json, scene_to_json

from envs.household.house_drawing import drawn_house
from needful.envs.contract import Split
from needful.errors import InvalidInputError

_, SCENE = drawn_house(0, Split.TRAIN, 0)
TEXT = scene_to_json(SCENE)


def test_nothing_is_lost() -> None:
    assert scene_from_json(TEXT) == SCENE
    assert scene_to_json(scene_from_json(TEXT)) == TEXT


def test_what_is_left_out_has_its_default() -> None:
    document = json.loads(TEXT)
    del document["scene"]["identity"]
    document["scene"]["things"] = [{"name": "a", "category": "mug", "position": [1, 2, 3]}]
    (thing,) = scene_from_json(json.dumps(document)).things
    assert (thing.position, thing.yaw, thing.opened) == ((1.0, 2.0, 3.0), 0.0, 0.0)


def changed(*path: str | int, value: Any) -> str:
    document = json.loads(TEXT)
    place = document["scene"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "Expected the format needful-scene 1"),
        (TEXT.replace('"version": 1', '"version": 2'), "got ('needful-scene', 2)"),
        (changed("robot", value=[1, 2]), "scene.robot: expected 3 items, got 2"),
        (changed("robot", value=[1, 2, "3"]), "scene.robot[2]: expected a float, got '3'"),
        (changed("robot", value=[1, 2, float("nan")]), "scene.robot[2]: expected a float, got nan"),
        (changed("robot", value=[1, 2, True]), "scene.robot[2]: expected a float, got True"),
        (changed("robot", value=7), "scene.robot: expected an array, got 7"),
        (changed("rooms", 0, value=1), "scene.rooms[0]: expected an object, got 1"),
        (changed("rooms", 0, "name", value=1), "scene.rooms[0].name: expected a str, got 1"),
        (
            changed("rooms", 0, "hight", value=1),
            "Unknown field of scene.rooms[0] 'hight'. Did you mean 'high'",
        ),
        (changed("rooms", 0, value={"name": "a"}), "the fields ['floor', 'low', 'high'] are missing"),
        (changed("things", 0, "category", value="bet"), "'bet'. Did you mean 'bed'"),
        (changed("things", 0, "name", value=SCENE.things[1].name), "are used twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        scene_from_json(text)
    assert message in str(error.value)
