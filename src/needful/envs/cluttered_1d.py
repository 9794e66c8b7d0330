"""Cluttered 1D: a robot on a line moves to dots and grasps them.

One controller both moves and grasps, so a learner must distinguish the operators Move and Grasp by their
effects. When the robot moves to a dot, other dots come into reach or leave it by chance. Plans need not
predict these changes.
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
from needful.envs.drawing import palette
from needful.envs.drawing.palette import draw_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEFT_END, RIGHT_END = 0.0, 100.0
REACH = 0.5
DOTS = 15
MAX_GOALS = 3

ROBOT = Type("robot", ("x",))
DOT = Type("dot", ("x", "grasped"))


def _is_grasped(state: State, dot: Object) -> bool:
    return state.get(dot, "grasped") > 0.5


def _distance(state: State, robot: Object, dot: Object) -> float:
    return abs(state.get(robot, "x") - state.get(dot, "x"))


def _next_to(state: State, objects: Sequence[Object]) -> bool:
    robot, dot = objects
    return not _is_grasped(state, dot) and _distance(state, robot, dot) < REACH


def _next_to_nothing(state: State, objects: Sequence[Object]) -> bool:
    (robot,) = objects
    return not any(_next_to(state, (robot, dot)) for dot in state.of_type(DOT))


def _grasped(state: State, objects: Sequence[Object]) -> bool:
    _, dot = objects
    return _is_grasped(state, dot)


NEXT_TO = Predicate("NextTo", (ROBOT, DOT), _next_to)
NEXT_TO_NOTHING = Predicate("NextToNothing", (ROBOT,), _next_to_nothing)
GRASPED = Predicate("Grasped", (ROBOT, DOT), _grasped)

# The two parameters: a mode (move if negative, else grasp), and where to move, relative to the dot.
MOVE_GRASP = Controller("MoveGrasp", (ROBOT, DOT), low=(-1.0, -1.0), high=(1.0, 1.0))

LEGEND = {
    palette.RED: "out of reach",
    palette.ORANGE: "next to the robot",
    palette.GREEN: "grasped",
    palette.DARK_GREY: "with outline: to be grasped",
}


class Cluttered1D(Environment):
    """The Cluttered 1D domain: a robot on a line grasps some of 15 dots."""

    name = "cluttered-1d"
    description = "A robot on a line grasps some of 15 dots; neighbouring dots come in reach by chance."
    vocabulary = Vocabulary((ROBOT, DOT), (NEXT_TO, NEXT_TO_NOTHING, GRASPED), (MOVE_GRASP,))
    picture_size = (8.0, 1.8)

    def simulate(self, state: State, action: GroundController) -> State:
        """Move the robot to a position near the dot, or grasp the dot if it is in reach."""
        robot, dot = action.objects
        mode, displacement = action.parameters
        if mode < 0.0:
            target = state.get(dot, "x") + displacement
            return state.replace({robot: {"x": min(max(target, LEFT_END), RIGHT_END)}})
        if _distance(state, robot, dot) <= REACH:
            return state.replace({dot: {"grasped": 1.0}})
        return state

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Sample the positions of the robot and the dots; the goal is to grasp one to three of the dots."""
        robot, dots = ROBOT("robby"), [DOT(f"dot{number}") for number in range(DOTS)]
        vectors: dict[Object, tuple[float, ...]] = {
            dot: (rng.uniform(LEFT_END, RIGHT_END), 0.0) for dot in dots
        }
        vectors[robot] = (rng.uniform(LEFT_END, RIGHT_END),)
        wanted = dots[: index % MAX_GOALS + 1]
        return Task(State(vectors), frozenset(GRASPED(robot, dot) for dot in wanted))

    def oracle_model(self) -> PlanningModel:
        """Return the operators Move and Grasp, which call the same controller."""
        robot, dot = Variable("?robot", ROBOT), Variable("?dot", DOT)
        pair = (robot, dot)
        next_to = NEXT_TO.lifted(*pair)
        move = oracle_operator(
            "Move", pair, (MOVE_GRASP, pair), adds=[next_to], forgets=[NEXT_TO, NEXT_TO_NOTHING]
        )
        grasp = oracle_operator(
            "Grasp",
            pair,
            (MOVE_GRASP, pair),
            needs=[next_to],
            adds=[GRASPED.lifted(*pair)],
            deletes=[next_to],
            forgets=[NEXT_TO_NOTHING],
        )
        samplers = {"Move": ConstantSampler((-1.0, 0.0)), "Grasp": ConstantSampler((1.0, 0.0))}
        return PlanningModel(self.vocabulary, (move, grasp), samplers)

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw the robot in blue, and dots in red (far), orange (next to the robot) or green (grasped)."""
        axes.set(xlim=(LEFT_END - 3, RIGHT_END + 3), ylim=(-1.6, 1.1))
        axes.axis("off")
        axes.plot((LEFT_END, RIGHT_END), (0, 0), color=palette.LIGHT_GREY, linewidth=1.5, zorder=1)
        (robot,) = state.of_type(ROBOT)
        wanted = {obj for atom in goal for obj in atom.objects if obj.type == DOT}
        others = set(state.of_type(DOT)) - wanted
        for dots, edge, layer in ((others, palette.WHITE, 2), (wanted, palette.DARK_GREY, 3)):
            positions = [state.get(dot, "x") for dot in sorted(dots)]
            colours = [_colour(state, robot, dot) for dot in sorted(dots)]
            axes.scatter(positions, [0] * len(dots), s=55, color=colours, edgecolors=edge, zorder=layer)
        x = state.get(robot, "x")
        axes.scatter(x, 0.45, s=55, color=palette.BLUE)
        axes.text(x, 0.7, robot.name, color=palette.BLUE, ha="center", va="bottom", fontsize=8)
        _label(state, axes, sorted(wanted, key=lambda dot: (state.get(dot, "x"), dot)))
        draw_legend(axes, LEGEND)


def _colour(state: State, robot: Object, dot: Object) -> str:
    if _is_grasped(state, dot):
        return palette.GREEN
    return palette.ORANGE if _next_to(state, (robot, dot)) else palette.RED


def _label(state: State, axes: Axes, dots: Sequence[Object]) -> None:
    """Write the name of each dot below it, one line lower if the previous dot in `dots` is close."""
    level, last = 0, -RIGHT_END
    for dot in dots:
        x = state.get(dot, "x")
        level = level + 1 if x - last < 8 else 0
        last = x
        axes.text(
            x, -0.3 - 0.35 * level, dot.name, color=palette.DARK_GREY, ha="center", va="top", fontsize=8
        )
