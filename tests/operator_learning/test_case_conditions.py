"""Operators that are divided into cases, in small worlds with known operators."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from needful.core.atoms import Predicate
from needful.core.objects import Type, Variable
from needful.operator_learning.doubts import DoubtKind
from needful.operator_learning.find_doubts import find_doubts
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.opportunities import WorkLimit, WorkLimitReached
from negative_worlds import Sampled, World, objects_of, operator

DRAWER, TILE, ROBOT = Type("drawer"), Type("tile"), Type("robot")
D, U = Variable("?drawer", DRAWER), Variable("?upper", DRAWER)
R, F, T = Variable("?robot", ROBOT), Variable("?from", TILE), Variable("?to", TILE)
OPEN, CLOSED, TOP = (
    Predicate("Open", (DRAWER,)),
    Predicate("Closed", (DRAWER,)),
    Predicate("Top", (DRAWER,)),
)
ABOVE = Predicate("Above", (DRAWER, DRAWER))
AT, BESIDE, OVER = (
    Predicate("At", (ROBOT, TILE)),
    Predicate("Beside", (TILE, TILE)),
    Predicate("Over", (TILE, TILE)),
)


def drawers(rng: random.Random, size: int) -> Sampled:
    """A chest of drawers; the goal is to open one of them."""
    chest = objects_of(DRAWER, size, rng)
    initial = {TOP(chest[0])} | {ABOVE(one, other) for one, other in pairwise(chest)}
    initial |= {OPEN(one) if rng.random() < 0.4 else CLOSED(one) for one in chest}
    return chest, initial, {OPEN(rng.choice(chest))}


def tiles(rng: random.Random, size: int) -> Sampled:
    """A floor of tiles in two rows; the robot goes to one of them."""
    floor, robot = objects_of(TILE, 2 * size, rng), ROBOT("robby")
    start, goal = rng.sample(floor, 2)
    initial = {AT(robot, start)}
    for column in range(size):
        initial.add(OVER(floor[column], floor[size + column]))
        for one in (column, size + column):
            if column + 1 < size:
                initial.add(BESIDE(floor[one], floor[one + 1]))
    return [*floor, robot], initial, {AT(robot, goal)}


FOOD, CUPBOARD, TABLE, PLACE = Type("food"), Type("cupboard"), Type("table"), Type("place")
M, C, N = Variable("?food", FOOD), Variable("?cupboard", CUPBOARD), Variable("?table", TABLE)
P, Q = Variable("?place", PLACE), Variable("?to", PLACE)
IN, ON = Predicate("In", (FOOD, CUPBOARD)), Predicate("On", (FOOD, TABLE))
BY_CUPBOARD, BY_TABLE = (
    Predicate("ByCupboard", (PLACE, CUPBOARD)),
    Predicate("ByTable", (PLACE, TABLE)),
)
HERE, HOLDING, FREE = Predicate("Here", (PLACE,)), Predicate("Holding", (FOOD,)), Predicate("Free", ())


def kitchen(rng: random.Random, size: int) -> Sampled:
    """Food is in cupboards and on tables, which are at several places; some of it is put on tables."""
    foods, places = objects_of(FOOD, size, rng), objects_of(PLACE, size + 1, rng)
    cupboards, tables = objects_of(CUPBOARD, 2, rng), objects_of(TABLE, 2, rng)
    initial = {FREE(), HERE(rng.choice(places))}
    initial |= {BY_CUPBOARD(rng.choice(places), one) for one in cupboards}
    initial |= {BY_TABLE(rng.choice(places), one) for one in tables}
    for food in foods:
        initial.add(IN(food, rng.choice(cupboards)) if rng.random() < 0.5 else ON(food, rng.choice(tables)))
    return [*foods, *places, *cupboards, *tables], initial, {ON(foods[0], rng.choice(tables))}


IS_PULLED = {"adds": [OPEN.lifted(D)], "deletes": [CLOSED.lifted(D)]}
CHEST = World(
    (
        operator("Pull", [D], [D], needs=[CLOSED.lifted(D), TOP.lifted(D)], **IS_PULLED),
        operator(
            "Pull", [D, U], [D], needs=[CLOSED.lifted(D), ABOVE.lifted(U, D), CLOSED.lifted(U)], **IS_PULLED
        ),
        operator(
            "Push", [D], [D], needs=[OPEN.lifted(D)], adds=[CLOSED.lifted(D)], deletes=[OPEN.lifted(D)]
        ),
    ),
    drawers,
)
HAS_GONE = {"adds": [AT.lifted(R, T)], "deletes": [AT.lifted(R, F)]}
FLOOR = World(
    tuple(
        operator("Go", [R, F, T], [R, T], needs=[AT.lifted(R, F), link], **HAS_GONE)
        for link in (BESIDE.lifted(F, T), BESIDE.lifted(T, F), OVER.lifted(F, T), OVER.lifted(T, F))
    ),
    tiles,
)
IS_TAKEN: dict[str, Any] = {"adds": [HOLDING.lifted(M)]}
KITCHEN = World(
    (
        operator(
            "Go", [P, Q], [Q], needs=[HERE.lifted(P)], adds=[HERE.lifted(Q)], deletes=[HERE.lifted(P)]
        ),
        operator(
            "Take",
            [M, C, P],
            [M],
            needs=[FREE.lifted(), IN.lifted(M, C), BY_CUPBOARD.lifted(P, C), HERE.lifted(P)],
            deletes=[FREE.lifted(), IN.lifted(M, C)],
            **IS_TAKEN,
        ),
        operator(
            "Take",
            [M, N, P],
            [M],
            needs=[FREE.lifted(), ON.lifted(M, N), BY_TABLE.lifted(P, N), HERE.lifted(P)],
            deletes=[FREE.lifted(), ON.lifted(M, N)],
            **IS_TAKEN,
        ),
        operator(
            "Put",
            [M, N, P],
            [N],
            needs=[HOLDING.lifted(M), BY_TABLE.lifted(P, N), HERE.lifted(P)],
            adds=[FREE.lifted(), ON.lifted(M, N)],
            deletes=[HOLDING.lifted(M)],
        ),
    ),
    kitchen,
)
PULL_AND_PUSH = """\
Pull-1(?x0:drawer)
  controller: Pull(?x0)
  needs:      Closed(?x0), Top(?x0)
  adds:       Open(?x0)
  deletes:    Closed(?x0)
  forgets:    -
Pull-2(?x0:drawer, ?x1:drawer)
  controller: Pull(?x0)
  needs:      Above(?x1, ?x0), Closed(?x0), Closed(?x1)
  adds:       Open(?x0)
  deletes:    Closed(?x0)
  forgets:    -
Push(?x0:drawer)
  controller: Push(?x0)
  needs:      Open(?x0)
  adds:       Closed(?x0)
  deletes:    Open(?x0)
  forgets:    -"""


def test_a_drawer_can_be_pulled_if_it_is_the_top_one_or_the_one_above_is_closed():
    learned = learn_operators([CHEST.demonstrate(seed, 3) for seed in range(40)])
    assert "\n".join(one.text for one in learned.operators) == PULL_AND_PUSH


def test_neighbouring_tiles_are_related_in_four_ways():
    learned = learn_operators([FLOOR.demonstrate(seed, 3) for seed in range(40)])
    needs = sorted(sorted(map(str, one.preconditions)) for one in learned.operators)
    assert needs == [
        ["At(?x0, ?x2)", f"{name}({one}, {other})"]
        for name in ("Beside", "Over")
        for one, other in (("?x1", "?x2"), ("?x2", "?x1"))
    ]


def test_food_is_taken_where_it_is_although_all_food_is_somewhere():
    """That food is in a cupboard or on a table is no evidence; the place of these is."""
    learned = learn_operators([KITCHEN.demonstrate(seed, 3) for seed in range(40)])
    takes = [one for one in learned.operators if one.controller.name == "Take"]
    assert [sorted({atom.predicate.name for atom in one.preconditions}) for one in takes] == [
        ["ByCupboard", "Free", "Here", "In"],
        ["ByTable", "Free", "Here", "On"],
    ]


@pytest.mark.parametrize("world", [CHEST, FLOOR, KITCHEN], ids=["drawers", "tiles", "kitchen"])
def test_plans_with_cases_succeed_in_larger_tasks(world):
    assert world.conditions_help(demonstrated=40, size=6)


def test_without_evidence_an_operator_is_not_divided():
    """All drawers are closed at the start, so the demonstrations do not show that it matters."""

    def closed(rng: random.Random, size: int) -> Sampled:
        chest, initial, goal = drawers(rng, size)
        return (
            chest,
            {atom for atom in initial if atom.predicate != OPEN} | {CLOSED(one) for one in chest},
            goal,
        )

    demonstrations = [World(CHEST.operators, closed).demonstrate(seed, 3) for seed in range(40)]
    (learned,) = learn_operators(demonstrations).operators
    assert learned.preconditions == {CLOSED.lifted(learned.parameters[0])}


def test_a_work_limit_ends_a_search_but_not_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = WorkLimit(10)
    limit.spend(10)
    with pytest.raises(WorkLimitReached):
        limit.spend(1)
    demonstrations = [CHEST.demonstrate(seed, 3) for seed in range(40)]
    unlimited = find_doubts(learn_operators(demonstrations), demonstrations)
    assert DoubtKind.LIMITED_SEARCH not in {one.kind for one in unlimited.items}
    monkeypatch.setattr(WorkLimit.__init__, "__defaults__", (0,))
    learned = learn_operators(demonstrations)
    assert learned.coverage == 1.0
    assert len(learned.operators) == 1, "no cases were found, so nothing needs a closed drawer"
    (doubt,) = (
        one for one in find_doubts(learned, demonstrations).items if one.kind is DoubtKind.LIMITED_SEARCH
    )
    assert "stopped at its limit. Preconditions may be missing." in doubt.text
