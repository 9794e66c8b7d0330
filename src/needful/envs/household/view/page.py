"""Make an HTML page that plays a plan in a 3D view of the house.

The page contains the shapes in the house, their motion, the steps of the plan, and the atoms that hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import mujoco
import numpy as np

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.failure_causes import explain_failure
from needful.core.plans import Draw, PlanningResult
from needful.core.state import State
from needful.envs.drawing.inline_page import fill_page
from needful.envs.drawing.tries import MAX_DRAWN_TRIES, TONES, group_draws
from needful.envs.household.scene.scene import SHOULDER_HEIGHT, Scene
from needful.envs.household.simulation.house_model import (
    HINGE_SUFFIX,
    OWNER_HOUSE,
    ROBOT_BODY,
    ROBOT_HAND,
    HouseModel,
)
from needful.envs.household.simulation.snapshot import apply_snapshot, as_snapshot
from needful.envs.household.simulation.world import World
from needful.envs.household.view.film import Keyframe, plan_keyframes, rooms_shown
from needful.envs.household.view.rendering import ARM_COLOUR, ARM_RADIUS, WALL_CUT_HEIGHT, WALL_OPACITY

# The numbers of decimal places to which lengths (metres), quaternions and colours are rounded.
LENGTH_DIGITS, QUATERNION_DIGITS, COLOUR_DIGITS = 3, 4, 3

# The copies that show the tries of a failed step, and where they are while they are hidden.
TRY_OPACITY = 0.45
HIDDEN_POSE = (0, 0, -100, 1, 0, 0, 0)

KINDS = {
    mujoco.mjtGeom.mjGEOM_BOX.value: "box",
    mujoco.mjtGeom.mjGEOM_CYLINDER.value: "cylinder",
    mujoco.mjtGeom.mjGEOM_SPHERE.value: "ball",
}


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

    They are the indices of the robot's base and hand, the height of the shoulder above the floor, and the
    radius and colour of the line.
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
    before: list[list[float] | None] = [None] * model.query_model.nbody
    for state in states:
        apply_snapshot(model, data, as_snapshot(model, state))
        mujoco.mj_kinematics(model.query_model, data)
        now = [
            _rounded(position, LENGTH_DIGITS) + _rounded(quaternion, QUATERNION_DIGITS)
            for position, quaternion in zip(data.xpos, data.xquat, strict=True)
        ]
        yield [[body, *new] for body, (old, new) in enumerate(zip(before, now, strict=True)) if old != new]
        before = list(now)


def add_tries(
    model: HouseModel,
    drawn: list[dict[str, Any]],
    moves: list[list[list[float]]],
    draws: Sequence[Draw],
    started: int,
    before: State,
) -> None:
    """Add transparent copies of what each try of the failed step moved, in the colour of the reason.

    Each copy is a body of its own, which is hidden below the house until the keyframe `started`, in which
    the step starts in the state `before`. The shapes are added to `drawn`, and the poses to `moves`.
    """
    groups, _ = group_draws(draws)
    parts, found = list(drawn), len(moves[0])
    landed = [(group, draw.state) for group, draw in zip(groups, draws, strict=True)]
    for group, state in [(group, state) for group, state in landed if state is not None][:MAX_DRAWN_TRIES]:
        colour = [channel / 255 for channel in bytes.fromhex(TONES[group][1:])]
        for body, *pose in list(movements(model, (before, state)))[1]:
            copies = [part for part in parts if part["body"] == body]
            if copies:
                rgba = _rounded([*colour, TRY_OPACITY], COLOUR_DIGITS)
                drawn += [{**part, "body": found, "colour": rgba} for part in copies]
                if started:
                    moves[0].append([found, *HIDDEN_POSE])
                moves[started].append([found, *pose])
                found += 1


def _rounded(numbers: Sequence[float] | np.ndarray, digits: int) -> list[float]:
    """Return the numbers, rounded to `digits` decimal places; whole numbers become int for short JSON."""
    rounded = (round(float(number), digits) for number in numbers)
    return [int(number) if number.is_integer() else number for number in rounded]


# The maximum number of moments of a plan in the page's data; the page interpolates between them.
MAX_KEYFRAMES = 1_500


def make_page(world: World, result: PlanningResult, goal: AbstractState, domain: str) -> str:
    """Return the 3D page of a planning result as one self-contained HTML file.

    A failed plan is shown up to the best try of the failed step. The content security policy of the page
    allows only the script and the style in the file.
    """
    script = _asset("viewer.js") + _asset("player.js")
    explained = explain_failure(result)
    heading = domain.replace("-", " ").capitalize()
    texts = {
        "title": f"{heading} · needful",
        "heading": heading,
        "outcome": _outcome(result),
        "advice": "" if explained is None else f"{explained.cause} {explained.advice}",
    }
    result = result.with_missed_step()
    return fill_page(_asset("page.html"), _asset("page.css"), script, _data(world, result, goal), texts)


def _data(world: World, result: PlanningResult, goal: AbstractState) -> dict[str, Any]:
    model, scene = world.model, world.model.scene
    keyframes, subgoals = plan_keyframes(world, result, MAX_KEYFRAMES), result.expected_atoms(goal)
    states = [keyframe.state for keyframe in keyframes]
    atoms = sorted(goal.union(*subgoals))
    indices = {atom: index for index, atom in enumerate(atoms)}
    bodies = bodies_of(model)
    start = {"name": "Start", "bodies": []}
    steps = [start] + [
        {
            "name": str(step),
            "bodies": sorted(body for obj in step.objects for body in bodies.get(obj.name, [])),
        }
        for step in result.steps
    ]
    moves, drawn = list(movements(model, states)), shapes(model)
    if result.failure is not None:
        started = max(index for index, one in enumerate(keyframes) if one.step <= result.failure.step)
        add_tries(model, drawn, moves, result.failure.draws, started, states[started])
    return {
        "shapes": drawn,
        "names": {body: name for name, found in sorted(bodies.items()) for body in found if body > 0},
        "arm": arm(model),
        "focus": _focus(scene, keyframes, goal),
        "moves": moves,
        "steps": [
            {**step, "subgoal": sorted(indices[atom] for atom in subgoal)}
            for step, subgoal in zip(steps, subgoals, strict=True)
        ],
        "stepOf": [keyframe.step for keyframe in keyframes],
        "atoms": [str(atom) for atom in atoms],
        "goal": sorted(indices[atom] for atom in goal),
        "flips": _flips(atoms, states),
    }


def _focus(scene: Scene, keyframes: Sequence[Keyframe], goal: AbstractState) -> list[list[float]]:
    """Return two opposite corners of the area that the page shows first: all rooms in `rooms_shown`."""
    shown = rooms_shown(scene, keyframes, goal)
    rooms = [room for room in scene.rooms if room.name in shown]
    low = np.min([room.low for room in rooms], axis=0)
    high = np.max([room.high for room in rooms], axis=0)
    return [low.round(3).tolist(), high.round(3).tolist()]


def _flips(atoms: Sequence[GroundAtom], states: Sequence[State]) -> list[list[int]]:
    """Return, for each state, the indices of the atoms whose truth value differs from the previous state.

    Before the first state, all atoms count as false.
    """
    flips, before = [], frozenset[int]()
    for state in states:
        true = frozenset(index for index, atom in enumerate(atoms) if atom.holds(state))
        flips.append(sorted(true ^ before))
        before = true
    return flips


def _outcome(result: PlanningResult) -> str:
    if result.solved:
        return f"Solved in {len(result.actions)} steps."
    reason = result.failure.detail if result.failure else result.outcome.value.replace("_", " ")
    return f"Not solved: {reason}"


def _asset(name: str) -> str:
    return files("needful.envs.household.view").joinpath(name).read_text(encoding="utf-8")
