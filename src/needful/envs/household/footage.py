"""What happens while a plan is carried out, from moment to moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from needful.core.atoms import AbstractState
from needful.core.objects import Object
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.household.object_types import THE_ROBOT
from needful.envs.household.scene import Scene
from needful.envs.household.world import World
from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Shot:
    """A moment of a plan.

    Attributes:
        step: the number of the step that is being carried out; 0 is the start.
        state: where everything is.
        last: whether the step ends here.
    """

    step: int
    state: State
    last: bool


def footage(world: World, result: PlanningResult, most: int) -> tuple[Shot, ...]:
    """Return the moments of a plan, evenly left out until there are at most so many.

    The end of each step is always kept. A plan that failed is shown as far as it went.
    """
    if not result.states:
        raise InvalidInputError("There is nothing to show: planning ended before the first step.")
    shots = [Shot(0, result.states[0], last=True)]
    done = zip(result.actions, result.states, result.states[1:], strict=False)
    for step, (action, before, after) in enumerate(done, 1):
        theta = action.controller.clip(action.parameters)
        between = world.trace(before, action.controller.name, action.objects[0], theta)[1:-1]
        shots += [Shot(step, state, last=False) for state in between]
        shots.append(Shot(step, after, last=True))
    ends = sum(shot.last for shot in shots)
    every = ceil((len(shots) - ends) / max(1, most - ends)) or 1
    return tuple(shot for number, shot in enumerate(shots) if shot.last or number % every == 0)


def rooms_shown(scene: Scene, shots: Sequence[Shot], goal: AbstractState) -> tuple[str, ...]:
    """Return the names of the rooms that the robot is in, or in which the goal's objects are."""
    places = [_place(shot.state, THE_ROBOT) for shot in shots]
    wanted = sorted({obj for atom in goal for obj in atom.objects})
    places += [_place(shot.state, obj) for shot in (shots[0], shots[-1]) for obj in wanted]
    return tuple(
        room.name
        for room in scene.rooms
        if any(
            room.low[0] <= x <= room.high[0] and room.low[1] <= y <= room.high[1] for x, y in set(places)
        )
    )


def _place(state: State, obj: Object) -> tuple[float, float]:
    return state.get(obj, "x"), state.get(obj, "y")
