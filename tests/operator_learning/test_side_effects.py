"""Side effects that no demonstration shows are found by experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from needful.core.atoms import LiftedAtom
from needful.core.controllers import Parameters
from needful.core.model import PlanningModel
from needful.core.objects import Object
from needful.core.state import State
from needful.operator_learning.accidental_preconditions import ExperimentConfig, find_situations
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.side_effects import NOTHING, SideEffect, add_side_effects
from workshop_world import CLEAN, RED, WORDS, demonstrate, execute, workshop

DRY, WET = (0.3, 1.0, 0.0), (0.5, 0.0, 1.0)


class SpotSampler:
    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        return (state.get(objects[1], "spot"),)


def model(*demonstrations: State) -> PlanningModel:
    demos = [demonstrate(one) for one in demonstrations]
    return PlanningModel(WORDS, learn_operators(demos).operators, {"Paint": SpotSampler()})


def with_side_effects(
    before: PlanningModel, *states: State, unnecessary: Mapping[str, frozenset[LiftedAtom]] = NOTHING
) -> tuple[PlanningModel, tuple[SideEffect, ...]]:
    situations = find_situations(before, [demonstrate(state) for state in states], execute)
    return add_side_effects(before, situations, execute, 0, ExperimentConfig(), unnecessary)


def without_red(before: PlanningModel) -> PlanningModel:
    (paint,) = before.operators
    kept = frozenset(atom for atom in paint.preconditions if atom.predicate != RED)
    return replace(before, operators=(replace(paint, preconditions=kept),))


def test_a_side_effect_becomes_a_delete() -> None:
    """Only dry things were painted. Painting the wet thing makes the robot dirty."""
    before = without_red(model(workshop(DRY)))
    after, found = with_side_effects(before, workshop(DRY, WET))
    (paint,) = after.operators
    clean = CLEAN.lifted(paint.parameters[0])
    assert paint.delete_effects == before.operators[0].delete_effects | {clean}
    assert found == (SideEffect("Paint", clean),)


def test_true_operators_stay_as_they_are() -> None:
    before = model(workshop(DRY))
    assert with_side_effects(before, workshop(DRY, DRY)) == (before, ())


def test_unnecessary_effects_are_refuted() -> None:
    (paint,) = (before := without_red(model(workshop(DRY)))).operators
    clean = CLEAN.lifted(paint.parameters[0])
    claiming = replace(before, operators=(replace(paint, add_effects=paint.add_effects | {clean}),))
    after, _ = with_side_effects(claiming, workshop(DRY, WET), unnecessary={"Paint": frozenset({clean})})
    assert after.operators[0].add_effects == paint.add_effects
    # An effect that a demonstration needed is not refuted: the experiment counts as failed.
    assert with_side_effects(claiming, workshop(DRY, WET))[0] == claiming
