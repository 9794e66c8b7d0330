"""Films of plans in a house, as pictures with captions and as data of 3D films.

A picture shows the house, and its caption the current step and its subgoal. The data of a 3D film has the
shapes of the house and their motion. If a step failed, it was tried with several sampled parameters; the
data then also has the final poses of the objects that each of these tries moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, zip_longest
from math import ceil
from typing import Any

import mujoco
import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import GroundController
from needful.core.objects import Object
from needful.core.plans import Draw, PlanningResult, best_draw
from needful.core.state import State
from needful.envs.drawing.film import (
    LAST_FRAME_MILLISECONDS,
    TRIES_MILLISECONDS,
    Film,
    FilmedPlan,
    PlanCaptions,
    add_captions,
)
from needful.envs.drawing.pictures import Caption
from needful.envs.drawing.tries import MAX_DRAWN_TRIES, TONES, group_draws, reason_lines
from needful.envs.household.scene.scene import ROBOT_OBJECT, SHOULDER_HEIGHT, Scene
from needful.envs.household.simulation.house_model import (
    HINGE_SUFFIX,
    OWNER_HOUSE,
    ROBOT_BODY,
    ROBOT_HAND,
    HouseModel,
)
from needful.envs.household.simulation.snapshot import apply_snapshot, as_snapshot
from needful.envs.household.simulation.world import World
from needful.envs.household.view.rendering import (
    ARM_COLOUR,
    ARM_RADIUS,
    WALL_CUT_HEIGHT,
    WALL_OPACITY,
    HouseRenderer,
    overview_camera,
)
from needful.errors import InvalidInputError

# The maximum number of pictures per film; without a GPU, rendering one picture takes about 0.3 s.
MAX_PICTURES = 160
WIDTH, HEIGHT = 960, 720
MILLISECONDS, STEP_MILLISECONDS = 50, 1_000
# The numbers of decimal places to which lengths (metres), quaternions and colours are rounded.
LENGTH_DIGITS, QUATERNION_DIGITS, COLOUR_DIGITS = 3, 4, 3

KINDS = {
    mujoco.mjtGeom.mjGEOM_BOX.value: "box",
    mujoco.mjtGeom.mjGEOM_CYLINDER.value: "cylinder",
    mujoco.mjtGeom.mjGEOM_SPHERE.value: "ball",
}


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A moment in the execution of a plan.

    Attributes:
        step: the number of the current step; 0 before the first step.
        state: the state at this moment.
        last: whether the current step ends at this moment.
        moment: the index of this moment among all simulated moments; only some of them become keyframes.
    """

    step: int
    state: State
    last: bool
    moment: int


def plan_keyframes(
    world: World, states: Sequence[State], actions: Sequence[GroundController], max_count: int
) -> tuple[Keyframe, ...]:
    """Return about `max_count` evenly spaced moments of a plan, including the end of each step.

    `states` has the initial state and the state after each action. If a step failed, it may also have the
    state in which a try of this step ended. If `actions` does not contain the action of this try, there are
    no moments between the last two states.
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

    If a step failed, it was tried with several sampled parameters. One picture then shows the final states
    of these tries, and the film ends with the best try (see `best_draw`). Captions list the changes of
    atoms that an operator did not predict; only atoms of the given predicates are compared.

    Rendering needs OpenGL.
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


def shapes(model: HouseModel) -> list[dict[str, Any]]:
    """Return all visible shapes of the house, each with its kind, MuJoCo body, position, size and colour.

    The kind is a box, a cylinder or a ball. Walls are transparent and end at `WALL_CUT_HEIGHT`, so that the
    rooms are visible.
    """
    query_model, found = model.query_model, []
    for geom, owner in enumerate(model.owner):
        kind = KINDS.get(int(query_model.geom_type[geom]))
        if kind is None:
            continue  # the ground plane below all floors
        centre, half = query_model.geom_pos[geom].copy(), model.half_sizes[geom].copy()
        opacity = float(query_model.geom_rgba[geom, 3])
        if owner == OWNER_HOUSE:
            low, high = centre[2] - half[2], min(centre[2] + half[2], WALL_CUT_HEIGHT)
            if high <= low:
                continue
            centre[2], half[2], opacity = (low + high) / 2, (high - low) / 2, WALL_OPACITY
        found.append(
            {
                "kind": kind,
                "body": int(query_model.geom_bodyid[geom]),
                "centre": _rounded(centre, LENGTH_DIGITS),
                "half": _rounded(half, LENGTH_DIGITS),
                "colour": _rounded([*query_model.geom_rgba[geom, :3], opacity], COLOUR_DIGITS),
            }
        )
    return found


def arm(model: HouseModel) -> dict[str, Any]:
    """Return the data for drawing the robot's arm as a line from the shoulder to the hand.

    The data are the indices of the MuJoCo bodies of the robot's base and hand, the height of the shoulder
    above the floor, and the radius and colour of the line.
    """
    return {
        "from": int(model.query_model.body(ROBOT_BODY).id),
        "shoulder": SHOULDER_HEIGHT,
        "to": int(model.query_model.body(ROBOT_HAND).id),
        "radius": ARM_RADIUS,
        "colour": list(ARM_COLOUR),
    }


def bodies_of(model: HouseModel) -> dict[str, list[int]]:
    """Return a map from the name of each thing to the indices of its MuJoCo bodies."""
    found: dict[str, list[int]] = {}
    for body in range(model.query_model.nbody):
        found.setdefault(model.query_model.body(body).name.removesuffix(HINGE_SUFFIX), []).append(body)
    return found


def movements(model: HouseModel, states: Sequence[State]) -> Iterator[list[list[float]]]:
    """Yield, for each state, the MuJoCo bodies that moved since the previous state.

    For the first state, these are all bodies. Each body is a list: its index, its position (3 numbers) and
    its quaternion (4 numbers, w first).
    """
    data = mujoco.MjData(model.query_model)
    before = np.full((model.query_model.nbody, 7), np.nan)
    for state in states:
        apply_snapshot(model, data, as_snapshot(model, state))
        mujoco.mj_kinematics(model.query_model, data)
        positions, quaternions = data.xpos.round(LENGTH_DIGITS), data.xquat.round(QUATERNION_DIGITS)
        now = np.hstack((positions, quaternions)) + 0.0  # adding 0.0 turns -0.0 into 0.0
        moved = np.flatnonzero((now != before).any(axis=1))
        yield [[int(body), *map(_compact, now[body].tolist())] for body in moved]
        before = now


def moved_by_tries(model: HouseModel, before: State, draws: Sequence[Draw]) -> list[list[Any]]:
    """Return, for each try of the failed step, the MuJoCo bodies that the try moved.

    A try is one run of the step's controller with sampled parameters. There is one list per try, with three
    items: the number of its reason of failure (see `group_draws`), the moved bodies with their new poses
    (see `movements`), and its index in `draws`. `before` is the state in which the step starts. Draws whose
    controller did not run are left out, and at most `MAX_DRAWN_TRIES` tries are returned.
    """
    groups, _ = group_draws(draws)
    landed = [
        (group, draw.state, number)
        for number, (group, draw) in enumerate(zip(groups, draws, strict=True))
        if draw.state is not None
    ]
    return [
        [group, list(movements(model, (before, state)))[1], number]
        for group, state, number in landed[:MAX_DRAWN_TRIES]
    ]


def _rounded(numbers: Sequence[float] | np.ndarray, digits: int) -> list[float]:
    """Return the numbers, rounded to `digits` decimal places; whole numbers become int for short JSON."""
    return [_compact(round(float(number), digits)) for number in numbers]


def _compact(number: float) -> float:
    return int(number) if number.is_integer() else number


def film_house_3d(world: World, plan: FilmedPlan, max_keyframes: int) -> dict[str, Any]:
    """Return the data of a 3D film, as JSON values; see `Filmable.film_3d`."""
    model, best = world.model, best_draw(plan.draws)
    missed = [] if best is None or best.state is None else [best.state]
    keyframes = plan_keyframes(world, [*plan.states, *missed], plan.actions, max_keyframes)
    ends = [index for index, keyframe in enumerate(keyframes) if keyframe.last]
    moments = [keyframes[end].moment for end in ends]
    return {
        "shapes": shapes(model),
        "bodies": {name: found for name, found in sorted(bodies_of(model).items()) if found != [0]},
        "arm": arm(model),
        "focus": _focus(model.scene, keyframes, plan.goal),
        "moves": list(movements(model, [keyframe.state for keyframe in keyframes])),
        "ends": ends,
        "milliseconds": [MILLISECONDS * (after - before) for before, after in pairwise(moments)],
        "tries": moved_by_tries(model, plan.states[-1], plan.draws),
    }


def _focus(scene: Scene, keyframes: Sequence[Keyframe], goal: AbstractState) -> list[list[float]]:
    """Return two opposite corners of the area that the page shows first: all rooms in `rooms_shown`."""
    shown = rooms_shown(scene, keyframes, goal)
    rooms = [room for room in scene.rooms if room.name in shown]
    low = np.min([room.low for room in rooms], axis=0)
    high = np.max([room.high for room in rooms], axis=0)
    return [low.round(3).tolist(), high.round(3).tolist()]
