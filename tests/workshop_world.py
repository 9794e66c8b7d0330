"""A workshop in which a robot paints and polishes things.

A thing is painted at a spot, and the parameter of Paint must be near it. Painting a wet thing makes the
robot dirty. A painted thing can be polished. The colour of a thing does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from needful.abstraction import abstract
from needful.core.atoms import Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.core.tasks import Task

ROBOT = Type("robot", ("clean",))
THING = Type("thing", ("spot", "red", "wet", "painted", "polished"))


def _flag(name: str, kind: Type, feature: str) -> Predicate:
    return Predicate(name, (kind,), lambda state, objects: state.get(objects[0], feature) > 0.5)


CLEAN = _flag("Clean", ROBOT, "clean")
RED, PAINTED = _flag("Red", THING, "red"), _flag("Painted", THING, "painted")
POLISHED = _flag("Polished", THING, "polished")
PAINT = Controller("Paint", (ROBOT, THING), (0.0,), (1.0,))
POLISH = Controller("Polish", (ROBOT, THING))
WORDS = Vocabulary((ROBOT, THING), (CLEAN, RED, PAINTED, POLISHED), (PAINT, POLISH))
ROBBY = ROBOT("robby")
THINGS = tuple(THING(f"thing{number}") for number in range(3))


def execute(state: State, action: GroundController) -> Execution:
    robot, thing = action.objects
    if action.controller == POLISH:
        polished = state.get(thing, "painted") > 0.5
        return Execution(state.replace({thing: {"polished": 1.0}}) if polished else state)
    if abs(action.parameters[0] - state.get(thing, "spot")) > 0.05:
        return Execution(state)
    state = state.replace({thing: {"painted": 1.0}})
    return Execution(state.replace({robot: {"clean": 0.0}}) if state.get(thing, "wet") else state)


def workshop(*things: Sequence[float]) -> State:
    """Return a state; a thing is given by its spot, and whether it is red and wet."""
    vectors: dict[Object, Sequence[float]] = {ROBBY: (1.0,)}
    return State(vectors | {THINGS[n]: (*thing, 0.0, 0.0) for n, thing in enumerate(things)})


def task(state: State, predicate: Predicate = PAINTED) -> Task:
    """Return the task to paint, or polish, the first thing."""
    return Task(state, frozenset({predicate(THINGS[0])}))


def demonstrate(state: State) -> Demonstration:
    """Paint the first thing."""
    action = PAINT(ROBBY, THINGS[0], parameters=(state.get(THINGS[0], "spot"),))
    states = (state, execute(state, action).state)
    atoms = tuple(abstract(one, WORDS.predicates) for one in states)
    return Demonstration(tuple(sorted(state)), task(state).goal, atoms, (action,), states)
