"""Films of plans in a house: the house, and a caption with the current step and its subgoal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from math import ceil

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import GroundController
from needful.core.objects import Object
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.drawing.film import (
    LAST_FRAME_MILLISECONDS,
    TRIES_MILLISECONDS,
    Film,
    PlanCaptions,
    add_captions,
)
from needful.envs.drawing.pictures import Caption
from needful.envs.drawing.tries import MAX_DRAWN_TRIES, TONES, group_draws, reason_lines
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

    `states` has the initial state and the state after each action. It may have one more state at the end,
    whose action is unknown. In this case, there are no moments between the last two states.
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
    """Return a film of a planning result.

    If a step failed, one picture shows the final states of its tries, and the film ends with the best try.
    Captions list the changes of atoms that an operator did not predict; only atoms of the given predicates
    are compared. Rendering needs OpenGL.
    """
    from PIL import Image

    scene, draws = world.model.scene, () if result.failure is None else result.failure.draws
    started = len(result.states) - 1  # the index of the state in which a failed step started, if any
    result = result.with_missed_step()
    keyframes = plan_keyframes(world, result.states, result.actions, MAX_PICTURES)
    texts = PlanCaptions(result, goal, predicates)
    camera = overview_camera(scene, rooms_shown(scene, keyframes, goal), WIDTH / HEIGHT)
    tones = [TONES[group] for group in group_draws(draws)[0]]
    landed = [(draw.state, tone) for draw, tone in zip(draws, tones, strict=True) if draw.state is not None]
    frames: list[tuple[Image.Image, Caption, int]] = []
    with HouseRenderer(world.model, WIDTH, HEIGHT) as renderer:
        for step, state, last in ((one.step, one.state, one.last) for one in keyframes):
            caption, pause = (texts.still, STEP_MILLISECONDS) if last else (texts.moving, MILLISECONDS)
            picture = Image.fromarray(renderer.frame(state, camera))
            frames.append((picture, caption(step, state), pause))
            if draws and last and step == started:
                tries = Image.fromarray(renderer.frame(state, camera, landed[:MAX_DRAWN_TRIES]))
                text = texts.tries(step, state)
                text = replace(text, notes=(*text.notes, *reason_lines(draws)))
                frames.append((tries, text, TRIES_MILLISECONDS))
    pictures, captions, pauses = zip(*frames, strict=True)
    return Film(add_captions(pictures, captions), (*pauses[:-1], LAST_FRAME_MILLISECONDS))
