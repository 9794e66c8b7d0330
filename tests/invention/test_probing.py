"""Probing: how far a bound is moved, and which uses of operators are executed."""

from __future__ import annotations

import pytest

from needful import (
    Controller,
    Definition,
    Demonstration,
    Expression,
    GroundController,
    Operator,
    Predicate,
    State,
    Type,
    Variable,
    abstract,
)
from needful.core.controllers import Execution
from needful.core.definitions import defined_predicate
from needful.core.operators import GroundedTransition, OperatorData
from needful.invention.experiments import Simulator
from needful.invention.probing import needs_fixed, probe_elsewhere, widen_bounds
from needful.planning.planners import make_planner

SCREW = Type("screw", ("x", "held"))
MAGNET = Type("magnet", ("x", "y"))
m, s = Variable("?m", MAGNET), Variable("?s", SCREW)
BESIDE = Expression("absolute difference", (MAGNET, SCREW), (("x",), ("x",)))
HELD = Predicate("Held", (SCREW,), lambda state, objects: state.get(objects[0], "held") > 0.5)
MOVE, LIFT = Controller("Move", (MAGNET, SCREW)), Controller("Lift", (MAGNET,))
magnet = MAGNET("magnet")
screws = tuple(SCREW(f"screw_{index}") for index in range(6))


def near(bound: float) -> Predicate:
    return defined_predicate(Definition(BESIDE, "<=", bound), "near")


def execute(state: State, action: GroundController) -> Execution:
    """Move above a screw, or lift all screws that are closer to the magnet than 0.35, if it is low."""
    if action.controller == MOVE:
        x = state.get(action.objects[1], "x")
        return Execution(state.replace({magnet: {"x": x, "y": 0.0}}))
    lifted = [
        screw
        for screw in screws
        if abs(state.get(screw, "x") - state.get(magnet, "x")) < 0.35 and state.get(magnet, "y") < 1
    ]
    return Execution(state.replace({screw: {"held": 1.0} for screw in lifted}))


def learned(predicate: Predicate) -> tuple[OperatorData, OperatorData]:
    none = frozenset()
    atom = frozenset({predicate.lifted(m, s)})
    move = Operator("Move", (m, s), none, atom, none, none, MOVE, (m, s))
    lift = Operator("Lift", (m, s), atom, frozenset({HELD.lifted(s)}), none, none, LIFT, (m,))
    objects = magnet, screws[0]
    return (
        OperatorData(move, (GroundedTransition(0, 0, objects),)),
        OperatorData(lift, (GroundedTransition(0, 1, objects),)),
    )


def demonstration(predicate: Predicate, spacing: float = 0.1) -> Demonstration:
    start = State({magnet: (0.0, 2.0), **{one: (spacing * index, 0.0) for index, one in enumerate(screws)}})
    actions = GroundController(MOVE, (magnet, screws[0]), ()), GroundController(LIFT, (magnet,), ())
    states = [start]
    for action in actions:
        states.append(execute(states[-1], action).state)
    return Demonstration(
        goal=frozenset({HELD(screws[0])}),
        objects=(magnet, *screws),
        abstract_states=tuple(abstract(state, [HELD, predicate]) for state in states),
        actions=actions,
        states=tuple(states),
    )


SIMULATOR = Simulator(execute, (), make_planner("paper"), 100, 0)


def test_a_bound_is_widened_to_between_success_and_failure() -> None:
    """Screws at 0.1, 0.2 and 0.3 can be lifted, those at 0.4 and 0.5 cannot."""
    predicate = near(0.05)
    found = widen_bounds([predicate], learned(predicate), [demonstration(predicate)], SIMULATOR)
    (wider,) = found.predicates
    assert isinstance(wider.definition, Definition)
    assert 0.3 < wider.definition.bound < 0.4
    assert {len(uses) > 0 for uses in (found.true["Lift"], found.false["Lift"])} == {True}


@pytest.mark.parametrize(
    ("bound", "spacing", "least", "most"), [(0.36, 0.1, 0.36, 0.36), (0.01, 0.05, 0.25, 0.31)]
)
def test_a_bound_without_success_beyond_it_stays_and_one_without_failure_moves_a_little(
    bound: float, spacing: float, least: float, most: float
) -> None:
    predicate = near(bound)
    shown = [demonstration(predicate, spacing)]
    (wider,) = widen_bounds([predicate], learned(predicate), shown, SIMULATOR).predicates
    assert isinstance(wider.definition, Definition)
    assert least <= wider.definition.bound <= most


def test_other_states_reveal_that_a_condition_is_missing() -> None:
    """In the first state, the magnet is above two screws but too high to lift them."""
    predicate = near(0.15)
    move, lift = learned(predicate)
    true, false = probe_elsewhere(lift, [demonstration(predicate)], SIMULATOR)
    assert true == []
    assert {use.objects for use in false} == {(magnet, screws[0]), (magnet, screws[1])}
    assert needs_fixed(lift.operator, (move, lift))
    assert not needs_fixed(move.operator, (move, lift))
