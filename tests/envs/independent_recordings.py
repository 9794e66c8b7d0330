"""Reads recordings of an independent implementation of the domains.

A small sample is in `tests/data`; the full files are read too if they exist beside the checkout.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import Object
from needful.core.state import State
from needful.envs.catalogue import CATALOGUE, environment_names, make_environment
from needful.envs.contract import Environment
from needful.envs.painting import Painting

CHECKOUT = Path(__file__).parents[2]
FOLDERS = [
    folder
    for folder in (CHECKOUT / "tests" / "data", CHECKOUT.parent / "shared" / "data")
    if folder.exists()
]


def recordings(kind: str) -> list[tuple[str, Path]]:
    """Return the names of the analytic domains, each with its file of a kind."""
    return [
        (name, folder / f"independent_{kind}" / f"{name}.jsonl.gz")
        for folder in FOLDERS
        for name in environment_names()
        if CATALOGUE[name].extra is None
    ]


def recorded_environment(name: str) -> Environment:
    """Return the domain as it was recorded: with IsOpen if it has a lid."""
    env = make_environment(name)
    return type(env)(include_is_open=True) if isinstance(env, Painting) else env


@dataclass(frozen=True)
class RecordedStep:
    state: State
    atoms: AbstractState
    action: GroundController
    next_state: State
    next_atoms: AbstractState
    offending: tuple[str, ...]


class Reader:
    """Reads one file with the types, predicates and controllers of a vocabulary."""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            self.header, *self.rows = (json.loads(line) for line in lines)
        self.types = {kind.name: kind for kind in vocabulary.types}
        self.predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
        self.controllers = {controller.name: controller for controller in vocabulary.controllers}

    def steps(self) -> list[RecordedStep]:
        return [self._step(row) for row in self.rows]

    def demonstrations(self) -> list[Demonstration]:
        return [self._demonstration(row) for row in self.rows]

    def _step(self, row: dict[str, Any]) -> RecordedStep:
        objects = self._objects(row)
        state, atoms = self._state(objects, row["state"]), self._atoms(objects, row["atoms"])
        failed = "failure" in row
        return RecordedStep(
            state,
            atoms,
            self._action(objects, row["action"]),
            state if failed else self._state(objects, row["next_state"]),
            atoms if failed else self._atoms(objects, row["next_atoms"]),
            tuple(sorted(row.get("failure", ()))),
        )

    def _demonstration(self, row: dict[str, Any]) -> Demonstration:
        objects = self._objects(row)
        return Demonstration(
            tuple(sorted(objects.values())),
            self._atoms(objects, row["goal"]),
            tuple(self._atoms(objects, atoms) for atoms in row["atoms"]),
            tuple(self._action(objects, action) for action in row["actions"]),
            tuple(self._state(objects, state) for state in row["states"]),
        )

    def _objects(self, row: dict[str, Any]) -> dict[str, Object]:
        return {name: self.types[kind](name) for name, kind in row["objects"].items()}

    def _state(self, objects: dict[str, Object], features: dict[str, list[float]]) -> State:
        return State({objects[name]: vector for name, vector in features.items()})

    def _atoms(self, objects: dict[str, Object], atoms: list[list[str]]) -> AbstractState:
        return frozenset(
            GroundAtom(self.predicates[name], tuple(objects[argument] for argument in arguments))
            for name, *arguments in atoms
        )

    def _action(self, objects: dict[str, Object], action: dict[str, Any]) -> GroundController:
        arguments = (objects[name] for name in action["objects"])
        return self.controllers[action["controller"]](*arguments, parameters=action["params"])
