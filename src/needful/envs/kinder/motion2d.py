"""Motion2D: a robot drives through narrow passages to a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kinder.envs.kinematic2d.motion2d import Motion2DEnv

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import Parameters
from needful.core.model import PlanningModel
from needful.core.objects import Object, Type, Variable
from needful.core.state import State
from needful.envs.contract import oracle_operator
from needful.envs.kinder.blocks import UniformSampler
from needful.envs.kinder.environment import RECTANGLE, ROBOT, KinderEnvironment, Room, Skill
from needful.envs.kinder.motion import Waypoints, find_path
from needful.errors import EnvironmentFailure

REGION = Type("target_region", RECTANGLE.features, RECTANGLE)


def _is_in_region(state: State, objects: Sequence[Object]) -> bool:
    """Return whether the centre of the robot's base is in the region, an axis-aligned rectangle."""
    robot, region = objects
    x, y, low_x, low_y = *state[robot][:2], *state[region][:2]
    width, height = state.get(region, "width"), state.get(region, "height")
    return low_x <= x <= low_x + width and low_y <= y <= low_y + height


IN_REGION = Predicate("InRegion", (ROBOT, REGION), _is_in_region)


def _move_to_region(
    room: Room, state: State, objects: Sequence[Object], parameters: Parameters
) -> Waypoints:
    """Drive to a point in the region.

    Parameters: x and y of the point as fractions of the region's width and height.
    """
    _, region = objects
    x, y = state[region][:2]
    width, height = state.get(region, "width"), state.get(region, "height")
    scene = room.scene(state)
    goal = replace(scene.pose, x=x + parameters[0] * width, y=y + parameters[1] * height)
    path = find_path(scene, goal, room.limits, room.bounds)
    if path is None:
        raise EnvironmentFailure("There is no way to this point of the region.")
    return path


MOVE_TO_REGION = Skill("MoveToRegion", (ROBOT, REGION), _move_to_region, (0.0, 0.0), (1.0, 1.0))


class Motion2D(KinderEnvironment):
    """A robot drives through narrow passages to a region."""

    family = "Motion2D"
    letter = "p"
    description = "KinDER: a robot drives through narrow passages to a region."
    gym_class = Motion2DEnv
    size_argument = "num_passages"
    training_sizes = (0, 1, 2)
    types = (ROBOT, RECTANGLE, REGION)
    predicates = (IN_REGION,)
    skills = (MOVE_TO_REGION,)

    def goal(self, state: State) -> AbstractState:
        """Return the goal: the robot is in the region."""
        return frozenset({IN_REGION(state.of_type(ROBOT)[0], state.of_type(REGION)[0])})

    def oracle_model(self) -> PlanningModel:
        """Return a model with one operator, and a sampler of points in the region."""
        (move,) = self.vocabulary.controllers
        pair = (Variable("?robot", ROBOT), Variable("?region", REGION))
        operator = oracle_operator("MoveToRegion", pair, (move, pair), adds=[IN_REGION.lifted(*pair)])
        # Sample points that are not too close to the border of the region.
        sampler = UniformSampler((0.1, 0.1), (0.9, 0.9))
        return PlanningModel(self.vocabulary, (operator,), {"MoveToRegion": sampler})
