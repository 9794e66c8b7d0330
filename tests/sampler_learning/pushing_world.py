"""Demonstrations of a robot that pushes things, for sampler learning; the right push is known exactly.

`Push(robot, thing; distance, force)` succeeds if the distance is the gap between the two; the force
is constant. `Look(robot)` has no parameters. `Wave(robot; speed)` always has the same speed.
"""

from __future__ import annotations

import numpy as np

from needful.core.atoms import GroundAtom, Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Type, Variable
from needful.core.operators import GroundedTransition, Operator, OperatorData
from needful.core.state import State

ROBOT = Type("robot", ("x",))
THING = Type("thing", ("x", "weight"))
PUSHED = Predicate("Pushed", (THING,))
SEEN = Predicate("Seen", (ROBOT,))
WAVED = Predicate("Waved", (ROBOT,))
PUSH = Controller("Push", (ROBOT, THING), low=(-20.0, 0.0), high=(20.0, 5.0))
LOOK = Controller("Look", (ROBOT,))
WAVE = Controller("Wave", (ROBOT,), low=(0.0,), high=(1.0,))
FORCE = 2.5
SPEED = 0.25
R, T = Variable("?r", ROBOT), Variable("?t", THING)


def _operator(controller: Controller, parameters: tuple[Variable, ...], added: Predicate) -> Operator:
    effect = added.lifted(parameters[-1])
    return Operator(
        controller.name,
        parameters,
        frozenset(),
        frozenset({effect}),
        frozenset(),
        frozenset(),
        controller,
        parameters,
    )


PUSHING = _operator(PUSH, (R, T), PUSHED)
LOOKING = _operator(LOOK, (R,), SEEN)
WAVING = _operator(WAVE, (R,), WAVED)


def right_distance(state: State, robot: Object, thing: Object) -> float:
    """Return the distance that a push needs."""
    return state.get(thing, "x") - state.get(robot, "x")


def demonstrate(rng: np.random.Generator, things: int = 3) -> Demonstration:
    """Return a demonstration that looks, pushes one of the things and waves."""
    robot, *others = ROBOT("robby"), *(THING(f"thing{i}") for i in range(things))
    state = State(
        {robot: (rng.uniform(-5, 5),)} | {t: (rng.uniform(-5, 5), rng.uniform(0, 1)) for t in others}
    )
    target = others[rng.integers(things)]
    steps: list[set[GroundAtom]] = [set(), {SEEN(robot)}, {PUSHED(target)}, {WAVED(robot)}]
    abstract = [frozenset().union(*steps[: i + 1]) for i in range(4)]
    actions = (
        LOOK(robot),
        PUSH(robot, target, parameters=(right_distance(state, robot, target), FORCE)),
        WAVE(robot, parameters=(SPEED,)),
    )
    return Demonstration(
        (robot, *others), frozenset({WAVED(robot)}), tuple(abstract), actions, (state,) * 4
    )


def demonstrations(count: int, seed: int = 0) -> tuple[Demonstration, ...]:
    """Return several demonstrations."""
    rng = np.random.default_rng(seed)
    return tuple(demonstrate(rng) for _ in range(count))


def operator_data(demos: tuple[Demonstration, ...]) -> tuple[OperatorData, ...]:
    """Return the transitions of each operator, as operator learning would."""
    return tuple(
        OperatorData(
            operator,
            tuple(GroundedTransition(i, step, demo.actions[step].objects) for i, demo in enumerate(demos)),
        )
        for step, operator in enumerate((LOOKING, PUSHING, WAVING))
    )
