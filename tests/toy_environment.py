"""The toy world as an environment."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np

import toy_world
from needful.core.atoms import AbstractState
from needful.core.controllers import Execution, GroundController
from needful.core.model import ConstantSampler, PlanningModel
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ToyEnvironment(Environment):
    """Balls go into jars; each task has one ball more than the previous one."""

    name = "toy"
    description = "Balls go into jars."
    vocabulary = toy_world.VOCABULARY

    def simulate(self, state: State, action: GroundController) -> State:
        return toy_world.execute(state, action).state

    def execute(self, state: State, action: GroundController) -> Execution:
        return toy_world.execute(state, action)

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        return toy_world.task(balls=index + 1)

    def oracle_model(self) -> PlanningModel:
        return toy_world.model(ConstantSampler((0.0,)))

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        axes.axis("off")


class Unreliable(ToyEnvironment):
    """Counts its executions from 1; those in `idle` leave the state unchanged."""

    def __init__(self, idle: Container[int]) -> None:
        self.idle = idle
        self.executions = 0

    def execute(self, state: State, action: GroundController) -> Execution:
        self.executions += 1
        return Execution(state) if self.executions in self.idle else super().execute(state, action)
