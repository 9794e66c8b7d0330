"""An environment without an oracle model and without a drawing: a hand opens drawers along a wall.

`Drawers` has a scripted policy. `RecordedDrawers` has none, so its demonstrations come from files. The
controllers are closed loops: reaching takes one low-level action per 0.1 metres.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from needful import (
    Controller,
    Environment,
    GroundController,
    Object,
    Predicate,
    Split,
    State,
    Task,
    Type,
    Vocabulary,
)
from needful.core.controllers import Execution

HAND = Type("hand", ("x",))
DRAWER = Type("drawer", ("x", "open"))
REACH = 0.3


def _near(state: State, objects: Sequence[Object]) -> bool:
    hand, drawer = objects
    return abs(state.get(hand, "x") - state.get(drawer, "x")) < REACH


def _open(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[0], "open") > 0.5


NEAR = Predicate("Near", (HAND, DRAWER), _near)
OPEN = Predicate("Open", (DRAWER,), _open)
REACH_FOR = Controller("ReachFor", (HAND, DRAWER), low=(-1.0,), high=(1.0,))
PULL = Controller("Pull", (HAND, DRAWER))


class RecordedDrawers(Environment):
    """Drawers without a demonstrator."""

    name = "drawers"
    description = "A hand opens drawers along a wall."
    vocabulary = Vocabulary((HAND, DRAWER), (NEAR, OPEN), (REACH_FOR, PULL))
    horizon = 500

    def simulate(self, state: State, action: GroundController) -> State:
        hand, drawer = action.objects
        if action.controller == REACH_FOR:
            return state.replace({hand: {"x": state.get(drawer, "x") + action.parameters[0]}})
        return state.replace({drawer: {"open": 1.0}}) if _near(state, action.objects) else state

    def execute(self, state: State, action: GroundController) -> Execution:
        execution = super().execute(state, action)
        hand = action.objects[0]
        distance = abs(execution.state.get(hand, "x") - state.get(hand, "x"))
        return Execution(execution.state, 1 + round(10 * distance))

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        count = 3 if split is Split.TRAIN else 5
        drawers = [DRAWER(f"drawer{number}") for number in range(count)]
        hand = HAND("hand")
        xs = rng.permutation(count) * 2.0
        state = State({hand: (-3.0,)} | {one: (x, 0.0) for one, x in zip(drawers, xs, strict=True)})
        return Task(state, frozenset(map(OPEN, drawers[: 1 + index % 2])))


class Drawers(RecordedDrawers):
    """Drawers with a scripted policy that looks at the state after each action."""

    def demonstrate(self, task: Task, rng: np.random.Generator) -> Generator[GroundController, State, None]:
        state, hand = task.initial_state, HAND("hand")
        for (drawer,) in sorted(atom.objects for atom in task.goal):
            while not NEAR.holds(state, (hand, drawer)):
                state = yield REACH_FOR(hand, drawer, parameters=(rng.uniform(-0.6, 0.6),))
            state = yield PULL(hand, drawer)
