"""Write the page of a plan that is carried out in a house."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.drawing.inline_page import fill_page
from needful.envs.household.footage import Shot, footage, rooms_shown
from needful.envs.household.page.stage import arm, bodies_of, movements, shapes
from needful.envs.household.scene import Scene
from needful.envs.household.world import World

# Enough for half a minute of pictures; the page fills in what is between them.
MOST_SHOTS = 1_500


def make_page(world: World, result: PlanningResult, goal: AbstractState, domain: str) -> str:
    """Return the page of a plan, as far as it went, as one HTML file without a link to anything.

    Its policy lets nothing run or load but the script and the style that are in it.
    """
    script = _asset("viewer.js") + _asset("player.js")
    texts = {"heading": domain.replace("-", " ").capitalize(), "outcome": _outcome(result)}
    return fill_page(_asset("page.html"), _asset("page.css"), script, _data(world, result, goal), texts)


def _data(world: World, result: PlanningResult, goal: AbstractState) -> dict[str, Any]:
    model, scene = world.model, world.model.scene
    shots, subgoals = footage(world, result, MOST_SHOTS), result.milestones(goal)
    states = [shot.state for shot in shots]
    atoms = sorted(goal.union(*subgoals))
    numbers = {atom: number for number, atom in enumerate(atoms)}
    bodies = bodies_of(model)
    start = {"name": "Start", "bodies": []}
    steps = [start] + [
        {
            "name": str(step),
            "bodies": sorted(body for obj in step.objects for body in bodies.get(obj.name, [])),
        }
        for step in result.steps
    ]
    return {
        "shapes": shapes(model),
        "arm": arm(model),
        "focus": _focus(scene, shots, goal),
        "moves": list(movements(model, states)),
        "steps": [
            {**step, "subgoal": sorted(numbers[atom] for atom in subgoal)}
            for step, subgoal in zip(steps, subgoals, strict=True)
        ],
        "stepOf": [shot.step for shot in shots],
        "atoms": [str(atom) for atom in atoms],
        "goal": sorted(numbers[atom] for atom in goal),
        "flips": _flips(atoms, states),
    }


def _focus(scene: Scene, shots: Sequence[Shot], goal: AbstractState) -> list[list[float]]:
    """Return the low and the high corner of the rooms that matter."""
    shown = rooms_shown(scene, shots, goal)
    rooms = [room for room in scene.rooms if room.name in shown]
    low = np.min([room.low for room in rooms], axis=0)
    high = np.max([room.high for room in rooms], axis=0)
    return [low.round(3).tolist(), high.round(3).tolist()]


def _flips(atoms: Sequence[GroundAtom], states: Sequence[State]) -> list[list[int]]:
    """Return for each state the numbers of the atoms that became true or false; at first all are false."""
    flips, before = [], frozenset[int]()
    for state in states:
        true = frozenset(number for number, atom in enumerate(atoms) if atom.holds(state))
        flips.append(sorted(true ^ before))
        before = true
    return flips


def _outcome(result: PlanningResult) -> str:
    if result.solved:
        return f"Solved in {len(result.actions)} steps."
    reason = result.failure.detail if result.failure else result.outcome.value.replace("_", " ")
    return f"Not solved: {reason}"


def _asset(name: str) -> str:
    return files("needful.envs.household.page").joinpath(name).read_text(encoding="utf-8")
