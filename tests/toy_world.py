"""A toy world for planner and learner tests: a robot puts balls into jars, some of which have a lid.

The robot moves along a line, grasps a ball within reach and drops it into a jar. `Near` holds within a
distance of 1, but the hand reaches only 0.5, so a valid abstract plan can need other parameters.
Dropping a ball into a jar with a lid fails with the jar as offending object; no predicate describes lids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Controller, Execution, GroundController
from needful.core.model import PlanningModel, Sampler, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.core.tasks import Task

NEAR_WITHIN = 1.0
REACH = 0.5

ROBOT = Type("robot", ("x",))
BALL = Type("ball", ("x", "held", "inside"))
JAR = Type("jar", ("x", "lid_on"))


def _near(state: State, objects: Sequence[Object]) -> bool:
    robot, ball = objects
    return abs(state.get(robot, "x") - state.get(ball, "x")) < NEAR_WITHIN


def _hand_free(state: State, objects: Sequence[Object]) -> bool:
    return not any(state.get(ball, "held") for ball in state.of_type(BALL))


def _holding(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[1], "held") > 0.5


def _inside(state: State, objects: Sequence[Object]) -> bool:
    ball, jar = objects
    return state.get(ball, "inside") > 0.5 and state.get(ball, "x") == state.get(jar, "x")


NEAR = Predicate("Near", (ROBOT, BALL), _near)
HAND_FREE = Predicate("HandFree", (ROBOT,), _hand_free)
HOLDING = Predicate("Holding", (ROBOT, BALL), _holding)
INSIDE = Predicate("Inside", (BALL, JAR), _inside)

MOVE_TO = Controller("MoveTo", (ROBOT, BALL), low=(-2.0,), high=(2.0,))
GRASP = Controller("Grasp", (ROBOT, BALL))
DROP = Controller("Drop", (ROBOT, BALL, JAR))
TAKE_LID_OFF = Controller("TakeLidOff", (ROBOT, JAR))

VOCABULARY = Vocabulary(
    (ROBOT, BALL, JAR), (NEAR, HAND_FREE, HOLDING, INSIDE), (MOVE_TO, GRASP, DROP, TAKE_LID_OFF)
)

_R, _B, _J = Variable("?r", ROBOT), Variable("?b", BALL), Variable("?j", JAR)


def operator(
    controller: Controller,
    parameters: Sequence[Variable],
    needs: Sequence[LiftedAtom] = (),
    adds: Sequence[LiftedAtom] = (),
    deletes: Sequence[LiftedAtom] = (),
    forgets: Sequence[Predicate] = (),
) -> Operator:
    """Return an operator named after its controller; `forgets` become patterns of wildcards only."""
    patterns = (DeletePattern(p, tuple(Wildcard(kind) for kind in p.types)) for p in forgets)
    return Operator(
        controller.name,
        tuple(parameters),
        frozenset(needs),
        frozenset(adds),
        frozenset(deletes),
        frozenset(patterns),
        controller,
        tuple(parameters)[: len(controller.types)],
    )


OPERATORS = (
    operator(MOVE_TO, (_R, _B), adds=[NEAR.lifted(_R, _B)], forgets=[NEAR]),
    operator(
        GRASP,
        (_R, _B),
        needs=[NEAR.lifted(_R, _B), HAND_FREE.lifted(_R)],
        adds=[HOLDING.lifted(_R, _B)],
        deletes=[HAND_FREE.lifted(_R)],
    ),
    operator(
        DROP,
        (_R, _B, _J),
        needs=[HOLDING.lifted(_R, _B)],
        adds=[INSIDE.lifted(_B, _J), HAND_FREE.lifted(_R)],
        deletes=[HOLDING.lifted(_R, _B)],
    ),
    operator(TAKE_LID_OFF, (_R, _J)),
)


@dataclass(frozen=True, slots=True)
class UniformSampler:
    """Draws each parameter uniformly between two bounds."""

    low: float
    high: float

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        return [float(rng.uniform(self.low, self.high))]


def model(move_sampler: Sampler) -> PlanningModel:
    """Return the hand-written model with a sampler for the distance to the ball."""
    return PlanningModel(VOCABULARY, OPERATORS, {"MoveTo": move_sampler})


def task(balls: int = 1, jars: int = 1, lids_on: bool = False, goal_balls: int = 1) -> Task:
    """Return the task to put the first balls into the first jar; objects are 10 apart."""
    robot = ROBOT("robot")
    all_balls = [BALL(f"ball{i}") for i in range(balls)]
    all_jars = [JAR(f"jar{i}") for i in range(jars)]
    vectors: dict[Object, Sequence[float]] = {robot: (-10.0,)}
    vectors |= {ball: (10.0 * i, 0.0, 0.0) for i, ball in enumerate(all_balls)}
    vectors |= {jar: (1000.0 + 10.0 * i, float(lids_on)) for i, jar in enumerate(all_jars)}
    return Task(State(vectors), frozenset(INSIDE(ball, all_jars[0]) for ball in all_balls[:goal_balls]))


def execute(state: State, action: GroundController) -> Execution:
    """Simulate one controller; an impossible action leaves the state unchanged."""
    name, robot, thing = action.controller.name, action.objects[0], action.objects[1]
    if name == "MoveTo":
        x = state.get(thing, "x") + action.parameters[0]
        return Execution(state.replace({robot: {"x": x}}))
    if name == "TakeLidOff":
        return Execution(state.replace({thing: {"lid_on": 0.0}}))
    if name == "Grasp":
        in_reach = abs(state.get(robot, "x") - state.get(thing, "x")) < REACH
        free = _hand_free(state, ())
        return Execution(state.replace({thing: {"held": 1.0}}) if in_reach and free else state)
    jar = action.objects[2]
    if state.get(jar, "lid_on"):
        return Execution(state, steps=0, failure="the lid is on", offending=(jar,))
    if not state.get(thing, "held"):
        return Execution(state)
    return Execution(state.replace({thing: {"x": state.get(jar, "x"), "held": 0.0, "inside": 1.0}}))
