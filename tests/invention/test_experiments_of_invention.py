"""Experiments: which uses of operators count as true and as false."""

from __future__ import annotations

import pytest

from needful import (
    Controller,
    Demonstration,
    Expression,
    GroundController,
    Operator,
    Predicate,
    State,
    Task,
    Type,
    Variable,
    abstract,
)
from needful.core.controllers import Execution
from needful.invention.experiments import Simulator
from needful.invention.repair import Bench, repair
from needful.invention.scoring import DemonstrationAbstractor, Scorer, Suffix
from needful.planning.planners import make_planner

LAMP = Type("lamp", ("lit", "broken"))
LIT = Predicate("Lit", (LAMP,), lambda state, objects: state.get(objects[0], "lit") > 0.5)
SWITCH = Controller("Switch", (LAMP,))
x = Variable("?x", LAMP)
ON = Operator(
    "Switch", (x,), frozenset(), frozenset({LIT.lifted(x)}), frozenset(), frozenset(), SWITCH, (x,)
)


def switch(state: State, action: GroundController) -> Execution:
    """Light a lamp that is not broken."""
    (lamp,) = action.objects
    lit = max(state.get(lamp, "lit"), 1.0 - state.get(lamp, "broken"))
    return Execution(state.replace({lamp: {"lit": lit}}), 1)


@pytest.mark.parametrize(
    ("lit", "broken", "true", "false"), [(0, 0, 1, 0), (0, 1, 0, 1), (1, 1, 0, 0), (1, 0, 0, 0)]
)
def test_effects_that_held_already_show_nothing(lit: float, broken: float, true: int, false: int) -> None:
    lamp = LAMP("lamp")
    start = State({lamp: (lit, broken)})
    action = GroundController(SWITCH, (lamp,), ())
    states = (start, start, start.replace({lamp: {"lit": 1.0}}))
    shown = Demonstration(
        goal=frozenset({LIT(lamp)}),
        objects=(lamp,),
        abstract_states=tuple(abstract(state, [LIT]) for state in states),
        actions=(action, action),
        states=states,
    )
    simulator = Simulator(switch, (), make_planner("paper"), 100, 0)
    plan = (ON.ground((lamp,)),)
    found = simulator.blame((), (), (Suffix(0, 0, plan, 1.0),), (shown,))
    assert tuple(len(one.get("Switch", ())) for one in found) == (true, false)


def test_a_step_that_makes_a_needed_atom_false_is_a_false_use() -> None:
    """Switching on a broken lamp makes the other lamp dark, which the operator does not predict."""
    lamp, other = LAMP("lamp"), LAMP("other")
    start = State({lamp: (0, 1), other: (1, 0)})

    def short_circuit(state: State, action: GroundController) -> Execution:
        return Execution(state.replace({lamp: {"lit": 1.0}, other: {"lit": 0.0}}), 1)

    states = (start, start, State({lamp: (1, 1), other: (1, 0)}))
    action = GroundController(SWITCH, (lamp,), ())
    shown = Demonstration(
        goal=frozenset({LIT(lamp), LIT(other)}),
        objects=(lamp, other),
        abstract_states=tuple(abstract(state, [LIT]) for state in states),
        actions=(action, action),
        states=states,
    )
    simulator = Simulator(short_circuit, (), make_planner("paper"), 100, 0)
    true, false = simulator.blame((), (), (Suffix(0, 0, (ON.ground((lamp,)),), 1.0),), (shown,))
    assert (len(true), len(false["Switch"])) == (0, 1)


def test_repair_ends_at_once_if_too_few_tasks_are_solved() -> None:
    lamp = LAMP("lamp")
    dark, lit = State({lamp: (0, 0)}), State({lamp: (1, 0)})
    shown = Demonstration(
        goal=frozenset({LIT(lamp)}),
        objects=(lamp,),
        abstract_states=tuple(abstract(state, [LIT]) for state in (dark, lit)),
        actions=(GroundController(SWITCH, (lamp,), ()),),
        states=(dark, lit),
    )
    lamps = [(number / 100, number >= 4) for number in range(12)]  # eight of them are broken
    tasks = [Task(State({lamp: features}), shown.goal) for features in lamps]
    broken = Expression("feature", (LAMP,), (("broken",),))
    planner = make_planner("paper")
    simulator = Simulator(switch, tasks, planner, 100, 0)
    tried = []
    for least_solved in (4, 5):
        scorer = Scorer(DemonstrationAbstractor([shown]), (0,), (0,), planner, 100)
        repaired = repair(Bench(scorer, simulator, (LIT,), [broken], 12), (), 6, least_solved)
        assert repaired.solved[0] == 4
        tried.append(scorer.tried)
    assert tried[0] > tried[1] == 1
