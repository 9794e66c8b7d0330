"""A tiny simulator with hidden state: a puck that slides, of which only the position is observed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from needful import (
    Controller,
    EnvironmentFailure,
    GroundController,
    Object,
    PlanningModel,
    Predicate,
    Split,
    State,
    Task,
    Type,
    Variable,
    Vocabulary,
    oracle_operator,
)
from needful.envs.adapters.snapshots import SnapshotEnvironment

PUCK, MARK = Type("puck", ("x",)), Type("mark", ("x",))
WALL = 10.0


def _past(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[0], "x") >= state.get(objects[1], "x")


PAST = Predicate("Past", (PUCK, MARK), _past)
PUSH = Controller("Push", (PUCK,), low=(-1.0,), high=(1.0,))  # changes the velocity
WAIT = Controller("Wait", (PUCK,))


class Puck:
    """The simulator: `step` moves the puck by its velocity."""

    def __init__(self) -> None:
        self.x = self.velocity = 0.0
        self.mark = 1.0

    def step(self) -> None:
        self.x += self.velocity


class UniformPush:
    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        return [rng.uniform(0.0, 1.0)]


class SlidingPuck(SnapshotEnvironment):
    """A puck keeps its velocity, which is no feature."""

    name = "sliding-puck"
    description = "Push a puck past a mark."
    vocabulary = Vocabulary((PUCK, MARK), (PAST,), (PUSH, WAIT))
    puck = PUCK("puck")

    def make_simulator(self, scene: Hashable) -> Puck:
        return Puck()

    def reset(self, start: float) -> None:
        self.simulator.__init__()
        self.simulator.mark = start

    def run(self, action: GroundController) -> int:
        if action.controller == PUSH:
            self.simulator.velocity += action.parameters[0]
        self.simulator.step()
        if self.simulator.x > WALL:
            raise EnvironmentFailure("The puck hit the wall.", [self.puck])
        return 1

    def observe(self) -> State:
        return State({self.puck: (self.simulator.x,), MARK("mark"): (self.simulator.mark,)})

    def save(self) -> tuple[float, float, float]:
        return self.simulator.x, self.simulator.velocity, self.simulator.mark

    def restore(self, token: Any) -> None:
        self.simulator.x, self.simulator.velocity, self.simulator.mark = token

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        start = self.initial_state(float(rng.uniform(0.1, 0.5)))
        return Task(start, frozenset({PAST(self.puck, MARK("mark"))}))

    def oracle_model(self) -> PlanningModel:
        puck, mark = Variable("?puck", PUCK), Variable("?mark", MARK)
        operators = [
            oracle_operator(f"{one.name}", (puck, mark), (one, (puck,)), adds=[PAST.lifted(puck, mark)])
            for one in (PUSH, WAIT)
        ]
        return PlanningModel(self.vocabulary, tuple(operators), {"Push": UniformPush()})

    def draw(self, state: State, axes: Any, goal: Any) -> None:
        axes.scatter(state.get(self.puck, "x"), 0.0)
