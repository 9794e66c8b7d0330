"""The types, predicates and controllers of all household domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needful.core.atoms import Predicate
from needful.core.controllers import Controller, Parameters
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.envs.household.categories import CATEGORIES
from needful.envs.household.object_types import FLOOR, HOUSE, OBJ, ROBOT, THING, type_of
from needful.envs.household.worlds import Worlds

TYPES = (OBJ, FLOOR, THING, *(type_of(name) for name in CATEGORIES), HOUSE, ROBOT)

PREDICATES: dict[str, tuple[Type, ...]] = {
    "Closed": (OBJ,),
    "HandEmpty": (),
    "Holding": (OBJ,),
    "Inside": (OBJ, OBJ),
    "NotOpenable": (OBJ,),
    "OnTop": (OBJ, OBJ),
    "Open": (OBJ,),
    "Openable": (OBJ,),
    "Reachable": (OBJ,),
    "ReachableNothing": (),
}

# The boxes of the parameters: offsets from the target, in metres and in its own heading.
CONTROLLERS: dict[str, tuple[Parameters, Parameters]] = {
    "NavigateTo": ((-2.5, -2.5), (2.5, 2.5)),
    "Grasp": ((-0.2, -0.2, 0.0), (0.2, 0.2, 0.4)),
    "PlaceOnTop": ((-1.2, -1.2, 0.0), (1.2, 1.2, 2.0)),
    "PlaceInside": ((-0.3, -0.3, 0.0), (0.3, 0.3, 0.8)),
    "Open": ((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)),
    "Close": ((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)),
}


def make_vocabulary(worlds: Worlds) -> Vocabulary:
    """Return the vocabulary, decided in the worlds of the states."""
    return Vocabulary(
        TYPES,
        tuple(
            Predicate(name, types, _Classifier(worlds, name), _Extension(worlds, name))
            for name, types in PREDICATES.items()
        ),
        tuple(
            Controller(name, (OBJ,), low, high, _InitiationTest(worlds, name))
            for name, (low, high) in CONTROLLERS.items()
        ),
    )


@dataclass(frozen=True, slots=True)
class _Classifier:
    worlds: Worlds
    name: str

    def __call__(self, state: State, objects: Sequence[Object]) -> bool:
        return self.worlds.of(state).holds(state, self.name, tuple(objects))


@dataclass(frozen=True, slots=True)
class _Extension:
    worlds: Worlds
    name: str

    def __call__(self, state: State) -> Iterable[tuple[Object, ...]]:
        return self.worlds.of(state).extension(state, self.name)


@dataclass(frozen=True, slots=True)
class _InitiationTest:
    worlds: Worlds
    name: str

    def __call__(self, state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
        return self.why_not(state, objects, parameters) is None

    def why_not(self, state: State, objects: Sequence[Object], parameters: Parameters) -> str | None:
        return self.worlds.of(state).can_start(state, self.name, objects[0], parameters)
