"""A complete custom environment: a robot lights lamps along a corridor; lamps nearby light up too.

The learned operators predict that one lamp is lit; they do not predict which other lamps are near.

    python examples/04_add_an_environment.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import needful
from needful import AbstractState, GroundController, Object, PlanningModel, Split, State, Task, Type

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROBOT, LAMP = Type("robot", ("x",)), Type("lamp", ("x", "lit"))


def near(state: State, objects: Sequence[Object]) -> bool:
    """Return whether a lamp is within reach of a robot."""
    return abs(state.get(objects[0], "x") - state.get(objects[1], "x")) < 0.5


NEAR = needful.Predicate("Near", (ROBOT, LAMP), near)
LIT = needful.Predicate("Lit", (LAMP,), lambda state, objects: state.get(objects[0], "lit") > 0.5)
GO = needful.Controller("Go", (ROBOT, LAMP), low=(-2.0,), high=(2.0,))  # offset from the lamp
LIGHT = needful.Controller("Light", (ROBOT, LAMP))


class OffsetSampler:
    """A sampler for the parameter of Go."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        """Return an offset from the lamp within reach."""
        return [rng.uniform(-0.4, 0.4)]


class Corridor(needful.Environment):
    """The vocabulary, the simulator, the tasks, the oracle model and the pictures."""

    name = "corridor"
    description = "A robot lights lamps along a corridor."
    vocabulary = needful.Vocabulary((ROBOT, LAMP), (NEAR, LIT), (GO, LIGHT))

    def simulate(self, state: State, action: GroundController) -> State:
        """Return the state after an action."""
        robot, lamp = action.objects
        if action.controller == GO:
            return state.replace({robot: {"x": state.get(lamp, "x") + action.parameters[0]}})
        lamps = [one for one in state.of_type(LAMP) if near(state, (robot, one))]
        return state.replace({one: {"lit": 1.0} for one in lamps}) if lamp in lamps else state

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Return a task with random lamps; test tasks have more lamps."""
        count, wanted = (5, 2) if split is Split.TRAIN else (15, 5)
        lamps = [LAMP(f"lamp{number}") for number in range(count)]
        positions = rng.uniform(1.0, count, count)
        vectors = {lamp: (x, 0.0) for lamp, x in zip(lamps, positions, strict=True)}
        return Task(State({ROBOT("robot"): (0.0,), **vectors}), frozenset(map(LIT, lamps[:wanted])))

    def oracle_model(self) -> PlanningModel:
        """Return operators and samplers that solve the tasks, for demonstrations."""
        both = robot, lamp = needful.Variable("?robot", ROBOT), needful.Variable("?lamp", LAMP)
        is_near, lit = NEAR.lifted(robot, lamp), LIT.lifted(lamp)
        go = needful.oracle_operator("Go", both, (GO, both), adds=[is_near], forgets=[NEAR])
        light = needful.oracle_operator("Light", both, (LIGHT, both), needs=[is_near], adds=[lit])
        return PlanningModel(self.vocabulary, (go, light), {"Go": OffsetSampler()})

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw the lamps and the robot."""
        for lamp in state.of_type(LAMP):
            axes.scatter(state.get(lamp, "x"), 1.0, color="gold" if LIT.holds(state, (lamp,)) else "grey")
        axes.scatter([state.get(robot, "x") for robot in state.of_type(ROBOT)], 0.0, marker="s")


if __name__ == "__main__":
    result = needful.run(Corridor(), needful.RunConfig(demos=20, tasks=10))
    assert isinstance(result.learned, needful.LearnedModel)
    print(*result.learned.model.operators, sep="\n\n")
    print(f"Solved {result.summary['solved']} of {result.summary['tasks']} unseen tasks.")
