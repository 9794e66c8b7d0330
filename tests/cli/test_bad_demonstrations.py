"""Files that are no demonstrations: a sentence that says where and what to do, and nothing left behind."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import needful

HEADER: dict[str, Any] = {
    "format": "needful-demos",
    "version": 1,
    "types": [
        {"name": "robot", "parent": None, "features": ["x"]},
        {"name": "dot", "parent": None, "features": ["x", "grasped"]},
    ],
    "predicates": [{"name": "Grasped", "types": ["robot", "dot"]}],
    "controllers": [{"name": "Grasp", "types": ["robot", "dot"], "low": [-1, -1], "high": [1, 1]}],
}
DEMO: dict[str, Any] = {
    "objects": {"robby": "robot", "dot0": "dot"},
    "goal": [["Grasped", "robby", "dot0"]],
    "atoms": [[], [["Grasped", "robby", "dot0"]]],
    "actions": [{"controller": "Grasp", "objects": ["robby", "dot0"], "params": [1, 0.5]}],
    "states": [{"robby": [3.0], "dot0": [3.2, 0]}, {"robby": [3.0], "dot0": [3.2, 1]}],
}


def written(lines: list[Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def changed(*path: str | int, to: object) -> bytes:
    """Return the file with another value at one place of [header, demonstration]."""
    lines = copy.deepcopy([HEADER, DEMO])
    place: Any = lines
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return written(lines)


def replaced(old: bytes, new: bytes) -> bytes:
    data = written([HEADER, DEMO])
    assert old in data
    return data.replace(old, new, 1)


NAN, INFINITY = float("nan"), float("inf")
BAD = {
    "goal not holding": (
        changed(1, "atoms", 1, to=[]),
        "line 2, goal: Grasped(robby, dot0) does not hold in the last list of atoms. Omit",
    ),
    "wrong arity": (
        changed(1, "atoms", 0, to=[["Grasped", "robby"]]),
        "line 2, atoms[0][0]: Predicate Grasped(robot, dot) takes 2 arguments, got 1.",
    ),
    "wrong types": (
        changed(1, "goal", 0, to=["Grasped", "dot0", "robby"]),
        "line 2, goal[0]: Predicate Grasped(robot, dot) does not take dot0:dot.",
    ),
    "wrong types of an action": (
        changed(1, "actions", 0, "objects", to=["dot0", "robby"]),
        "line 2, actions[0]: Controller 'Grasp' asks for a robot, got dot0:dot.",
    ),
    "wrong parameter count": (
        changed(1, "actions", 0, "params", to=[1]),
        "line 2, actions[0]: Controller 'Grasp' takes 2 parameters, got 1.",
    ),
    "parameter out of bounds": (
        changed(1, "actions", 0, "params", 1, to=7),
        "line 2, actions[0].params[1]: 7.0 is outside of [-1.0, 1.0], the bounds of 'Grasp'. Clip",
    ),
    "NaN": (changed(1, "states", 0, "robby", 0, to=NAN), "line 2: NaN is not a JSON number. All values"),
    "Infinity": (changed(0, "controllers", 0, "high", 0, to=INFINITY), "line 1: Infinity is not a JSON"),
    "wrong version": (
        changed(0, "version", to=2),
        "line 1, version: version 2 of 'needful-demos' is not known. This needful reads version 1: update",
    ),
    "wrong format": (changed(0, "format", to="x"), 'line 1: the field "format" is not "needful-demos". Is'),
    "duplicate objects": (
        replaced(b'"dot0": "dot"', b'"robby": "dot"'),
        "line 2: the key 'robby' appears twice in one object. Keep one of them.",
    ),
    "unknown predicate": (
        changed(1, "goal", 0, 0, to="Graspd"),
        "line 2, goal[0][0]: Unknown predicate 'Graspd'. Did you mean 'Grasped'? Known: Grasped.",
    ),
    "unknown type": (
        changed(1, "objects", "dot0", to="dott"),
        "line 2, objects.dot0: Unknown type 'dott'. Did you mean 'dot'? Known: dot, robot.",
    ),
    "unknown object": (
        changed(1, "goal", 0, 2, to="dot1"),
        "line 2, goal[0][2]: Unknown object 'dot1'. Did you mean 'dot0'? Known: dot0, robby.",
    ),
    "unknown controller": (
        changed(1, "actions", 0, "controller", to="Move"),
        "line 2, actions[0].controller: Unknown controller 'Move'. Known: Grasp.",
    ),
    "too few atoms": (
        changed(1, "atoms", to=[[["Grasped", "robby", "dot0"]]]),
        "line 2, atoms: 1 actions need 2 entries, got 1. Give one entry for the start and one after each",
    ),
    "truncated gzip": (
        gzip.compress(written([HEADER, DEMO]), mtime=0)[:-20],
        "the gzip data is broken or cut off",
    ),
    "truncated text": (written([HEADER, DEMO])[:-9], "line 2: not JSON: "),
    "empty file": (b"", "the file is empty. It needs a header and demonstrations."),
    "only a header": (written([HEADER]), "there is only a header. Add one line per demonstration."),
    "no text at all": (bytes(range(128, 256)), "line 1: byte 0 is not UTF-8. Save the text as UTF-8."),
}


def test_the_file_without_damage_is_fine(tmp_path: Path) -> None:
    (tmp_path / "demos.jsonl").write_bytes(written([HEADER, DEMO]))
    said = needful("learn", tmp_path / "demos.jsonl", "--out", tmp_path / "model", "--json")
    assert (said.code, said.json["operators"], said.json["coverage"]) == (0, 1, 1.0)


@pytest.mark.parametrize("kind", BAD)
def test_damage_is_named_with_place_and_remedy(kind: str, tmp_path: Path) -> None:
    data, complaint = BAD[kind]
    file = tmp_path / "demos.jsonl"
    file.write_bytes(data)
    said = needful("learn", file, "--out", tmp_path / "new" / "model")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"error: {file}")
    assert said.err.count("\n") == 1
    assert complaint in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["demos.jsonl"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent.jsonl", "No such file or directory"),
        (".", "Is a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_paths_that_are_no_files(name: str, reason: str, tmp_path: Path) -> None:
    said = needful("learn", tmp_path / name, "--out", tmp_path / "model")
    assert (said.code, said.out) == (1, "")
    assert said.err == f"error: {tmp_path / name}: cannot be read: {reason}. Give a demonstrations file.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flip", [lambda data: data[:100], lambda data: data[:-1] + b"!"])
def test_a_damaged_file_never_replaces_a_model(flip: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "demos.jsonl").write_bytes(flip(written([HEADER, DEMO])))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.json").write_text("")
    said = needful("learn", tmp_path / "demos.jsonl", "--out", tmp_path / "model", "--force")
    assert said.code == 1
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["model.json"]
