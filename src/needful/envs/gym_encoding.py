"""States, goals and actions as arrays of a fixed size.

Tasks differ in their objects, spaces must not. So an object is a row, in the order of its name, up to a
largest number of rows; a mask tells which rows there are. Wherever an array speaks of an object (in goals
and actions) it gives the number of the row. What is not there is zero.

The spaces need gymnasium, which takes long to import: only `needful.envs.gym` imports this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from needful.core.atoms import AbstractState
from needful.core.controllers import Controller, GroundController
from needful.core.model import Vocabulary
from needful.core.objects import Object
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import InvalidInputError, UnknownNameError

# Named arrays, and the number of the controller; the types are those that Gymnasium declares.
Observation: TypeAlias = dict[str, Any]
Action: TypeAlias = dict[str, Any]

# Features have no bounds that we know of, but learners ask for finite ones.
MAX_FEATURE = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class GymEncoding:
    """The arrays for all tasks with at most so many objects and goal atoms.

    An observation has

        features   float, objects x columns: see `columns`; zero where a type has no such feature
        types      the number of each object's type in the vocabulary
        mask       1 for the rows that are objects
        goal       goal atoms x (1 + arguments): the number of the predicate, then rows of objects
        goal_mask  1 for the rows of `goal` that are atoms

    and an action is hybrid:

        controller the number of the controller in the vocabulary
        objects    a row for each argument; those beyond the controller's own arguments are ignored
        parameters the controller's box scaled to [-1, 1]; likewise
    """

    vocabulary: Vocabulary
    max_objects: int
    max_goal_atoms: int

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The feature of each column: types that share a feature's name share its column."""
        return tuple(sorted({feature for kind in self.vocabulary.types for feature in kind.features}))

    @cached_property
    def observation_space(self) -> spaces.Dict:
        """The space of all observations."""
        rows, atoms = self.max_objects, self.max_goal_atoms
        arity = max((len(predicate.types) for predicate in self.vocabulary.predicates), default=0)
        atom_sizes = [len(self.vocabulary.predicates), *[rows] * arity]
        limit = MAX_FEATURE
        return spaces.Dict(
            {
                "features": spaces.Box(-limit, limit, (rows, len(self.columns)), np.float32),
                "types": spaces.MultiDiscrete([len(self.vocabulary.types)] * rows),
                "mask": spaces.MultiBinary(rows),
                "goal": spaces.MultiDiscrete(np.tile(atom_sizes, (atoms, 1))),
                "goal_mask": spaces.MultiBinary(atoms),
            }
        )

    @cached_property
    def action_space(self) -> spaces.Dict:
        """The space of all actions, those with objects of wrong types among them."""
        controllers = self.vocabulary.controllers
        arity = max(len(controller.types) for controller in controllers)
        dimension = max(controller.dimension for controller in controllers)
        return spaces.Dict(
            {
                "controller": spaces.Discrete(len(controllers)),
                "objects": spaces.MultiDiscrete(np.full(arity, self.max_objects)),
                # Doubles, because this is what the simulator gets: nothing but rounding is lost.
                "parameters": spaces.Box(-1.0, 1.0, (dimension,), np.float64),
            }
        )

    def fits(self, task: Task) -> bool:
        """Return whether a task is small enough."""
        return len(task.objects) <= self.max_objects and len(task.goal) <= self.max_goal_atoms

    def observe(self, state: State, goal: AbstractState) -> Observation:
        """Return a state and a goal of a task that fits."""
        objects = state.objects
        features = np.zeros((self.max_objects, len(self.columns)), dtype=np.float32)
        types = np.zeros(self.max_objects, dtype=np.int64)
        for row, obj in enumerate(objects):
            places = [self.columns.index(feature) for feature in obj.type.features]
            features[row, places] = np.clip(state[obj], -MAX_FEATURE, MAX_FEATURE)
            types[row] = self.vocabulary.types.index(obj.type)
        atoms = np.zeros(self.observation_space["goal"].shape or (), dtype=np.int64)
        for row, atom in enumerate(sorted(goal)):
            numbers = [objects.index(obj) for obj in atom.objects]
            atoms[row, : 1 + len(numbers)] = self.vocabulary.predicates.index(atom.predicate), *numbers
        return {
            "features": features,
            "types": types,
            "mask": _mask(len(objects), self.max_objects),
            "goal": atoms,
            "goal_mask": _mask(len(goal), self.max_goal_atoms),
        }

    def decode_state(self, observation: Mapping[str, Any]) -> State:
        """Return the state that an observation shows, as exactly as its arrays do.

        Observations hold no names: objects are called `object00`, `object01` and so on, by their rows.
        """
        digits = len(str(self.max_objects - 1))
        vectors: dict[Object, Sequence[float]] = {}
        for row in np.flatnonzero(observation["mask"]).tolist():
            kind = self.vocabulary.types[int(observation["types"][row])]
            places = [self.columns.index(feature) for feature in kind.features]
            vectors[kind(f"object{row:0{digits}}")] = observation["features"][row, places].tolist()
        return State(vectors)

    def decode_goal(self, observation: Mapping[str, Any], state: State) -> AbstractState:
        """Return the goal of an observation, over the objects of the state that it shows."""
        atoms = []
        for row in np.flatnonzero(observation["goal_mask"]).tolist():
            number, *rows = observation["goal"][row].tolist()
            predicate = self.vocabulary.predicates[number]
            atoms.append(predicate(*(state.objects[one] for one in rows[: len(predicate.types)])))
        return frozenset(atoms)

    def encode_action(self, action: GroundController, objects: Sequence[Object]) -> Action:
        """Return an action over the objects of a task as arrays; parameters are clipped to the box."""
        controllers = self.vocabulary.controllers
        if action.controller not in controllers:
            raise UnknownNameError("controller", action.controller.name, (one.name for one in controllers))
        for obj in action.objects:
            if obj not in objects:
                raise UnknownNameError("object", obj.name, (one.name for one in objects))
        coded: Action = {
            "controller": np.int64(controllers.index(action.controller)),
            "objects": np.zeros(self.action_space["objects"].shape or (), dtype=np.int64),
            "parameters": np.zeros(self.action_space["parameters"].shape or (), dtype=np.float64),
        }
        coded["objects"][: len(action.objects)] = [objects.index(obj) for obj in action.objects]
        coded["parameters"][: len(action.parameters)] = _scale(action.controller, action.parameters)
        return coded

    def decode_action(self, action: Mapping[str, Any], objects: Sequence[Object]) -> GroundController:
        """Return what arrays say; raise if they name no objects of the types that the controller wants."""
        controller = self.vocabulary.controllers[int(action["controller"])]
        rows = [int(row) for row in action["objects"][: len(controller.types)]]
        for row in rows:
            if not 0 <= row < len(objects):
                raise InvalidInputError(f"Row {row} holds no object: the task has {len(objects)} of them.")
        parameters = _unscale(controller, action["parameters"][: controller.dimension])
        return controller(*(objects[row] for row in rows), parameters=parameters)

    def check_action(self, action: Mapping[str, Any]) -> None:
        """Raise unless an action has the parts and sizes of the action space."""
        parts = action if isinstance(action, Mapping) else {}
        for name, space in self.action_space.items():
            if name not in parts or np.shape(parts[name]) != space.shape:
                raise InvalidInputError(f"An action of {dict(self.action_space)} is needed, got {action}.")
        if int(action["controller"]) not in range(len(self.vocabulary.controllers)):
            known = {number: one.name for number, one in enumerate(self.vocabulary.controllers)}
            raise InvalidInputError(f"There is no controller {action['controller']}. Known: {known}.")


def _mask(count: int, size: int) -> np.ndarray:
    return (np.arange(size) < count).astype(np.int8)


def _scale(controller: Controller, parameters: Sequence[float]) -> list[float]:
    """Return parameters from the controller's box as numbers in [-1, 1]."""
    bounds = zip(controller.clip(parameters), controller.low, controller.high, strict=True)
    return [2.0 * (value - low) / (high - low) - 1.0 if low < high else 0.0 for value, low, high in bounds]


def _unscale(controller: Controller, scaled: Sequence[float]) -> list[float]:
    """Return numbers in [-1, 1] as parameters in the controller's box, both ends exact."""
    shares = (np.clip(np.asarray(scaled, dtype=np.float64), -1.0, 1.0) + 1.0) / 2.0
    bounds = zip(shares.tolist(), controller.low, controller.high, strict=True)
    return [(1.0 - share) * low + share * high for share, low, high in bounds]
