"""Films of plans in a house: the house, and a caption with the current step and its subgoal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from math import ceil

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import GroundController
from needful.core.objects import Object
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.drawing.film import LAST_FRAME_MILLISECONDS, Film, PlanCaptions, add_captions
from needful.envs.household.scene.scene import ROBOT_OBJECT, Scene
from needful.envs.household.simulation.world import World
from needful.envs.household.view.rendering import HouseRenderer, overview_camera
from needful.errors import InvalidInputError

# The maximum number of pictures per film; without a GPU, rendering one picture takes about 0.3 s.
MAX_PICTURES = 160
WIDTH, HEIGHT = 960, 720
MILLISECONDS, STEP_MILLISECONDS = 50, 1_000


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A moment in the execution of a plan.

    Attributes:
        step: the number of the current step; 0 before the first step.
        state: the state at this moment.
        last: whether the current step ends at this moment.
        moment: the number of this moment in the execution, including moments without keyframes.
    """

    step: int
    state: State
    last: bool
    moment: int


def plan_keyframes(
    world: World, states: Sequence[State], actions: Sequence[GroundController], max_count: int
) -> tuple[Keyframe, ...]:
    """Return about `max_count` evenly spaced moments of a plan, including the end of each step.

    `states` has the initial state and the state after each action. If the last action is not known, there
    is one more state, and no moments before it.
    """
    if not states:
        raise InvalidInputError("There is nothing to show: planning ended before the first step.")
    moments = [(0, states[0], True)]
    executed = zip_longest(actions, states, states[1:])
    for step, (action, before, after) in enumerate(islice(executed, len(states) - 1), 1):
        if action is not None:
            theta = action.controller.clip(action.parameters)
            between = world.trace(before, action.controller.name, action.objects[0], theta)[1:-1]
            moments += [(step, state, False) for state in between]
        moments.append((step, after, True))
    ends = sum(last for _, _, last in moments)
    every = ceil((len(moments) - ends) / max(1, max_count - ends)) or 1
    return tuple(
        Keyframe(step, state, last, moment)
        for moment, (step, state, last) in enumerate(moments)
        if last or moment % every == 0
    )


def rooms_shown(scene: Scene, keyframes: Sequence[Keyframe], goal: AbstractState) -> tuple[str, ...]:
    """Return the names of the rooms to show in a film or page of a plan.

    A room is shown if the robot visits it, or if an object of the goal is in it at the start or at the end.
    """
    positions = [_position(keyframe.state, ROBOT_OBJECT) for keyframe in keyframes]
    goal_objects = sorted({obj for atom in goal for obj in atom.objects})
    positions += [
        _position(keyframe.state, obj) for keyframe in (keyframes[0], keyframes[-1]) for obj in goal_objects
    ]
    return tuple(
        room.name
        for room in scene.rooms
        if any(
            room.low[0] <= x <= room.high[0] and room.low[1] <= y <= room.high[1] for x, y in set(positions)
        )
    )


def _position(state: State, obj: Object) -> tuple[float, float]:
    return state.get(obj, "x"), state.get(obj, "y")


def film_house(
    world: World, result: PlanningResult, goal: AbstractState, predicates: Sequence[Predicate]
) -> Film:
    """Return a film of a planning result; a failed plan is shown up to the best try of the failed step.

    Captions list changes of the given predicates that an operator does not predict. Rendering needs OpenGL.
    """
    from PIL import Image

    scene, result = world.model.scene, result.with_missed_step()
    keyframes = plan_keyframes(world, result.states, result.actions, MAX_PICTURES)
    texts = PlanCaptions(result, goal, predicates)
    captions = [
        (texts.still if keyframe.last else texts.moving)(keyframe.step, keyframe.state)
        for keyframe in keyframes
    ]
    camera = overview_camera(scene, rooms_shown(scene, keyframes, goal), WIDTH / HEIGHT)
    with HouseRenderer(world.model, WIDTH, HEIGHT) as renderer:
        pictures = [Image.fromarray(renderer.frame(keyframe.state, camera)) for keyframe in keyframes]
    pauses = [STEP_MILLISECONDS if keyframe.last else MILLISECONDS for keyframe in keyframes]
    return Film(add_captions(pictures, captions), (*pauses[:-1], LAST_FRAME_MILLISECONDS))
