"""A toy domain with closed-loop controllers: a walker on a line with a wall at 5 and a hole at -5."""

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
from needful.envs.contract import MultiStepEnvironment, Split, oracle_operator
from needful.errors import EnvironmentFailure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WALKER = Type("walker", ("x",))
FAR_RIGHT_FROM = 3.0
LONGEST_STRIDE = 0.5


def _far_right(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[0], "x") > FAR_RIGHT_FROM


FAR_RIGHT = Predicate("FarRight", (WALKER,), _far_right)


class WalkTo:
    """Walks towards a target and terminates there."""

    def act(self, state: State, action: GroundController, memory: dict[str, object]) -> np.ndarray:
        return np.array([action.parameters[0] - state.get(action.objects[0], "x")])

    def terminal(self, state: State, action: GroundController, memory: dict[str, object]) -> bool:
        return abs(state.get(action.objects[0], "x") - action.parameters[0]) < 1e-6


class Pace:
    """Paces back and forth a given number of times, counted in its memory."""

    def act(self, state: State, action: GroundController, memory: dict[str, object]) -> np.ndarray:
        turns = memory.setdefault("turns", [])
        assert isinstance(turns, list)
        turns.append(1)
        return np.array([0.25 if len(turns) % 2 else -0.25])

    def terminal(self, state: State, action: GroundController, memory: dict[str, object]) -> bool:
        turns = memory["turns"]
        assert isinstance(turns, list)
        return len(turns) >= action.parameters[0]


WALK_TO = Controller("WalkTo", (WALKER,), low=(-6.0,), high=(6.0,), policy=WalkTo())
PACE = Controller("Pace", (WALKER,), low=(1.0,), high=(5000.0,), policy=Pace())


class ToyWalk(MultiStepEnvironment):
    """The toy domain."""

    name = "toy-walk"
    description = "A walker on a line."
    vocabulary = Vocabulary((WALKER,), (FAR_RIGHT,), (WALK_TO, PACE))

    def step(self, state: State, low_level_action: np.ndarray) -> State:
        (walker,) = state
        stride = float(np.clip(low_level_action[0], -LONGEST_STRIDE, LONGEST_STRIDE))
        x = min(state.get(walker, "x") + stride, 5.0)
        if x < -5.0:
            raise EnvironmentFailure("the walker fell", [walker])
        return state.replace({walker: {"x": x}})

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        walker = WALKER("walker")
        return Task(State({walker: (rng.uniform(-2.0, 2.0),)}), frozenset({FAR_RIGHT(walker)}))

    def oracle_model(self) -> PlanningModel:
        walker = Variable("?walker", WALKER)
        walk = oracle_operator("Walk", [walker], (WALK_TO, [walker]), adds=[FAR_RIGHT.lifted(walker)])
        return PlanningModel(self.vocabulary, (walk,), {"Walk": ConstantSampler((4.0,))})

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        axes.scatter([state.get(walker, "x") for walker in state], [0.0] * len(state.objects))
