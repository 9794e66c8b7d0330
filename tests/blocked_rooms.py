"""An environment with a negative condition: a robot cannot enter blocked rooms, but it can clear them.

The rooms are in a row. `Enter` has the distance from the centre of the room as a parameter; too far away,
the robot is in no room. `Clear` has the force.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.model import ConstantSampler, PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split, oracle_operator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM, ROBOT = Type("room", ("x", "y", "blocked")), Type("robot", ("x", "y"))
ROBBY = ROBOT("robby")
NEAR_CENTRE, MIN_FORCE = 0.3, 0.5


def place(state: State, obj: Object) -> np.ndarray:
    return np.array([state.get(obj, "x"), state.get(obj, "y")])


def _in(state: State, objects: Sequence[Object]) -> bool:
    robot, room = objects
    return bool(np.abs(place(state, robot) - place(state, room)).max() < NEAR_CENTRE)


def _next_to(state: State, objects: Sequence[Object]) -> bool:
    one, other = objects
    return bool(np.abs(place(state, one) - place(state, other)).sum() == 1.0)


IN = Predicate("In", (ROBOT, ROOM), _in)
NEXT_TO = Predicate("NextTo", (ROOM, ROOM), _next_to)
BLOCKED = Predicate("Blocked", (ROOM,), lambda state, o: state.get(o[0], "blocked") > 0.5)
ENTER = Controller("Enter", (ROBOT, ROOM, ROOM), low=(-1.0,), high=(1.0,))
CLEAR = Controller("Clear", (ROBOT, ROOM, ROOM), low=(0.0,), high=(1.0,))
R, F, T = Variable("?robot", ROBOT), Variable("?from", ROOM), Variable("?to", ROOM)
NEARBY = (IN.lifted(R, F), NEXT_TO.lifted(F, T))


class BlockedRooms(Environment):
    """Train tasks have 3 to 5 rooms, test tasks have `rooms` rooms."""

    name = "blocked-rooms"
    description = "A robot clears blocked rooms on its way."
    vocabulary = Vocabulary((ROOM, ROBOT), (IN, NEXT_TO, BLOCKED), (ENTER, CLEAR))

    def __init__(self, rooms: int) -> None:
        self.rooms = rooms

    def simulate(self, state: State, action: GroundController) -> State:
        robot, here, there = action.objects
        if not (_in(state, (robot, here)) and _next_to(state, (here, there))):
            return state
        if action.controller.name == "Clear":
            strong = action.parameters[0] > MIN_FORCE
            return state.replace({there: {"blocked": 0.0}}) if strong else state
        if state.get(there, "blocked"):
            return state
        x, y = place(state, there)
        return state.replace({robot: {"x": x + action.parameters[0], "y": y}})

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        count = self.rooms if split is Split.TEST else 3 + index % 3
        rooms = [ROOM(f"room{number:02}") for number in rng.permutation(count)]
        start, goal = rng.choice(count, 2, replace=False)
        features: dict[Object, Sequence[float]] = {ROBBY: (0.0, float(start))}
        for number, room in enumerate(rooms):
            features[room] = (0.0, float(number), float(number != start and rng.random() < 0.5))
        return Task(State(features), frozenset({IN(ROBBY, rooms[goal])}))

    def oracle_model(self) -> PlanningModel:
        enter = oracle_operator(
            "Enter",
            (R, F, T),
            (ENTER, (R, F, T)),
            needs=[*NEARBY, ~BLOCKED.lifted(T)],
            adds=[IN.lifted(R, T)],
            deletes=[IN.lifted(R, F)],
        )
        clear = oracle_operator(
            "Clear",
            (R, F, T),
            (CLEAR, (R, F, T)),
            needs=[*NEARBY, BLOCKED.lifted(T)],
            deletes=[BLOCKED.lifted(T)],
        )
        samplers = {"Enter": ConstantSampler((0.0,)), "Clear": ConstantSampler((0.8,))}
        return PlanningModel(self.vocabulary, (enter, clear), samplers)

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        axes.axis("off")
