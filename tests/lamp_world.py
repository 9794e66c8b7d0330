"""A domain with configurable names: lamps are switched on one by one.

Whenever a lamp is switched on, all lamps get warm, which is never necessary. Broken lamps stay dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKUP = "</script><img src=x onerror=window.hacked=1>"
QUOTES = "\"double\" 'single' `back` & spaces {{data}}"
LONG = "l" * 200
FOREIGN = "Lämpchen 灯 💡 $\\frac$"


@dataclass(frozen=True)
class LampNames:
    """The names in the domain."""

    domain: str = "lamps"
    type: str = "lamp"
    lit: str = "Lit"
    warm: str = "Warm"
    switch: str = "Switch"
    lamps: tuple[str, ...] = ("lamp0", "lamp1", "lamp2", "lamp3")


HOSTILE = LampNames(
    f"domain {MARKUP}",
    f"type {MARKUP}",
    f"lit {MARKUP}",
    f"warm {QUOTES}",
    f"switch {MARKUP}",
    (f"lamp {MARKUP}", f"lamp {QUOTES}", f"lamp {LONG}", f"lamp {FOREIGN}"),
)


class Lamps(Environment):
    """The goal is to light all lamps; in every second test task the last one is broken."""

    description = "Lamps are switched on."

    def __init__(self, names: LampNames = LampNames()) -> None:  # noqa: B008
        self.names = names
        self.name = names.domain
        self.lamp = Type(names.type, ("x", "lit", "warm", "broken"))
        self.lit = Predicate(names.lit, (self.lamp,), self._is("lit"))
        self.warm = Predicate(names.warm, (self.lamp,), self._is("warm"))
        self.switch = Controller(names.switch, (self.lamp,))
        self.vocabulary = Vocabulary((self.lamp,), (self.lit, self.warm), (self.switch,))

    def _is(self, feature: str):
        def classifier(state: State, objects: Sequence[Object]) -> bool:
            return state.get(objects[0], feature) > 0.5

        return classifier

    def simulate(self, state: State, action: GroundController) -> State:
        (lamp,) = action.objects
        if state.get(lamp, "broken"):
            return state
        warmed = {one: {"warm": 1.0} for one in state.of_type(self.lamp)}
        return state.replace({**warmed, lamp: {"lit": 1.0, "warm": 1.0}})

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        broken = split is Split.TEST and index % 2 == 1
        lamps = [self.lamp(name) for name in self.names.lamps]
        vectors = {
            lamp: (float(position), 0.0, 0.0, float(broken and position == len(lamps) - 1))
            for position, lamp in enumerate(lamps)
        }
        return Task(State(vectors), frozenset(self.lit(lamp) for lamp in lamps))

    def oracle_model(self) -> PlanningModel:
        lamp = Variable("?lamp", self.lamp)
        nothing = frozenset()
        lit = frozenset({self.lit.lifted(lamp)})
        operator = Operator(
            self.names.switch, (lamp,), nothing, lit, nothing, nothing, self.switch, (lamp,)
        )
        return PlanningModel(self.vocabulary, (operator,))

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        axes.set(xlim=(-1, 4), ylim=(-1, 1))
        axes.axis("off")
        for lamp in state.of_type(self.lamp):
            colour = "gold" if state.get(lamp, "lit") else "grey"
            axes.scatter(state.get(lamp, "x"), 0, s=200, color=colour)
            axes.text(state.get(lamp, "x"), 0.5, lamp.name, ha="center", fontsize=6)
