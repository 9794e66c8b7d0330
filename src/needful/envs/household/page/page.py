"""Write the page of a plan that is carried out in a house."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.plans import PlanningResult
from needful.core.state import State
from needful.envs.household.footage import Shot, footage, rooms_shown
from needful.envs.household.page.stage import arm, bodies_of, movements, shapes
from needful.envs.household.scene import Scene
from needful.envs.household.world import World

# Enough for half a minute of pictures; the page fills in what is between them.
MOST_SHOTS = 1_500

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def make_page(world: World, result: PlanningResult, goal: AbstractState, domain: str) -> str:
    """Return the page of a plan, as far as it went, as one HTML file without a link to anything.

    Its policy lets nothing run or load but the script and the style that are in it.
    """
    heading = domain.replace("-", " ").capitalize()
    style, script = _asset("page.css"), _asset("viewer.js") + _asset("player.js")
    policy = (
        f"default-src 'none'; script-src {_fingerprint(script)}; style-src {_fingerprint(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    blanks = {
        "policy": policy,
        "heading": html.escape(heading),
        "outcome": html.escape(_outcome(result)),
        "style": style,
        "script": script,
        "data": _as_safe_json(_data(world, result, goal)),
    }
    # In one pass, so that no name can be taken for a blank.
    return PLACEHOLDER.sub(lambda blank: blanks[blank[1]], _asset("page.html"))


def _data(world: World, result: PlanningResult, goal: AbstractState) -> dict[str, Any]:
    model, scene = world.model, world.model.scene
    shots = footage(world, result, MOST_SHOTS)
    states = [shot.state for shot in shots]
    atoms = sorted(goal.union(*result.subgoals))
    numbers = {atom: number for number, atom in enumerate(atoms)}
    bodies = bodies_of(model)
    start = {"name": "Start", "bodies": []}
    steps = [start] + [
        {
            "name": str(operator),
            "bodies": sorted(body for obj in operator.objects for body in bodies.get(obj.name, [])),
        }
        for operator in result.abstract_plan
    ]
    return {
        "shapes": shapes(model),
        "arm": arm(model),
        "focus": _focus(scene, shots, goal),
        "moves": list(movements(model, states)),
        "steps": [
            {**step, "subgoal": sorted(numbers[atom] for atom in subgoal)}
            for step, subgoal in zip(steps, result.subgoals, strict=True)
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


def _as_safe_json(value: object) -> str:
    """Return JSON that can stand in a script element whatever names are in it."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files("needful.envs.household.page").joinpath(name).read_text(encoding="utf-8")


def _fingerprint(text: str) -> str:
    """Return how a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
