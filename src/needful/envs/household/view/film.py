"""Films of plans in a house: the house is on the left, the current step and its subgoal on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from needful.core.atoms import AbstractState
from needful.core.objects import Object
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.drawing.film import DOTS_PER_INCH, LAST_FRAME_MILLISECONDS, Film, draw_caption
from needful.envs.drawing.pictures import Caption, make_caption, step_titles
from needful.envs.household.scene.scene import ROBOT_OBJECT, Scene
from needful.envs.household.simulation.world import World
from needful.envs.household.view.rendering import HouseRenderer, overview_camera
from needful.errors import InvalidInputError

if TYPE_CHECKING:
    from PIL.Image import Image

# The maximum number of pictures per film; without a GPU, rendering one picture takes about 0.2 s.
MAX_PICTURES = 80
WIDTH, HEIGHT = 640, 480
MILLISECONDS, STEP_MILLISECONDS = 100, 400


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A moment in the execution of a plan.

    Attributes:
        step: the number of the current step; 0 before the first step.
        state: the state at this moment.
        last: whether the current step ends at this moment.
    """

    step: int
    state: State
    last: bool


def plan_keyframes(world: World, result: PlanningResult, max_count: int) -> tuple[Keyframe, ...]:
    """Return about `max_count` evenly spaced moments of a plan, including the end of each step.

    The moments of a failed plan end where the plan failed.
    """
    if not result.states:
        raise InvalidInputError("There is nothing to show: planning ended before the first step.")
    keyframes = [Keyframe(0, result.states[0], last=True)]
    executed = zip(result.actions, result.states, result.states[1:], strict=False)
    for step, (action, before, after) in enumerate(executed, 1):
        theta = action.controller.clip(action.parameters)
        between = world.trace(before, action.controller.name, action.objects[0], theta)[1:-1]
        keyframes += [Keyframe(step, state, last=False) for state in between]
        keyframes.append(Keyframe(step, after, last=True))
    ends = sum(keyframe.last for keyframe in keyframes)
    every = ceil((len(keyframes) - ends) / max(1, max_count - ends)) or 1
    return tuple(
        keyframe for index, keyframe in enumerate(keyframes) if keyframe.last or index % every == 0
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


def film_house(world: World, result: PlanningResult, goal: AbstractState) -> Film:
    """Return a film of a planning result; a failed plan is shown up to the failure.

    Rendering needs OpenGL.
    """
    from PIL import Image

    scene = world.model.scene
    keyframes = plan_keyframes(world, result, MAX_PICTURES)
    titles, subgoals = step_titles(result.steps), result.expected_atoms(goal)
    captions = [
        make_caption(titles[keyframe.step], subgoals[keyframe.step], keyframe.state)
        for keyframe in keyframes
    ]
    camera = overview_camera(scene, rooms_shown(scene, keyframes, goal), WIDTH / HEIGHT)
    caption_images: dict[Caption, Image.Image] = {}
    pictures = []
    with HouseRenderer(world.model, WIDTH, HEIGHT) as renderer:
        for keyframe, caption in zip(keyframes, captions, strict=True):
            if caption not in caption_images:
                caption_images[caption] = draw_caption(caption, HEIGHT / DOTS_PER_INCH)
            house = Image.fromarray(renderer.frame(keyframe.state, camera))
            pictures.append(_side_by_side(house, caption_images[caption]))
    pauses = [STEP_MILLISECONDS if keyframe.last else MILLISECONDS for keyframe in keyframes]
    return Film(tuple(pictures), (*pauses[:-1], LAST_FRAME_MILLISECONDS))


def _side_by_side(left: Image, right: Image) -> Image:
    from PIL import Image

    both = Image.new("RGB", (left.width + right.width, left.height))
    both.paste(left, (0, 0))
    both.paste(right, (left.width, 0))
    return both
