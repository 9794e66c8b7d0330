"""A real robot, on which an agent executes its plans; planning happens in a simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.core.controllers import Execution, GroundController, Parameters
from needful.core.objects import Object
from needful.core.state import State
from needful.envs.contract import Environment
from needful.errors import EnvironmentFailure, UnknownNameError

Skill: TypeAlias = Callable[[Sequence[Object], Parameters], None]


@dataclass(frozen=True, slots=True)
class Robot:
    """A robot whose sensors and skills are called as functions, for example clients of ROS actions.

    An `Agent` needs only two methods of a robot, `observe` and `act`. A robot cannot return to an earlier
    state. So the agent plans in `environment`, whose simulator starts from the observed state.

    Attributes:
        environment: the environment in which to plan. A `SnapshotEnvironment` must override `start_of`, so
            that its simulator can be set up from an observed state.
        sense: returns the current state of the world, from cameras and encoders.
        skills: for each controller, by name, a function that executes it with the given objects and
            parameters and returns when it has finished. It may raise `EnvironmentFailure`.
    """

    environment: Environment
    sense: Callable[[], State]
    skills: Mapping[str, Skill]

    def __post_init__(self) -> None:
        for controller in self.environment.vocabulary.controllers:
            if controller.name not in self.skills:
                raise UnknownNameError(
                    "skill", controller.name, self.skills, "Every controller needs a function of the robot."
                )

    def observe(self) -> State:
        """Return the current state of the world."""
        return self.sense()

    def act(self, action: GroundController) -> Execution:
        """Execute an action on the robot; the result contains the state observed after it."""
        parameters = action.controller.clip(action.parameters)
        try:
            self.skills[action.controller.name](action.objects, parameters)
        except EnvironmentFailure as failure:
            return Execution(self.observe(), 0, failure.reason, failure.offending)
        return Execution(self.observe())
