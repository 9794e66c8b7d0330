"""Conditions on several objects that a controller does not name, in small worlds with known operators."""

from __future__ import annotations

import random

import pytest

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Type, Variable
from needful.operator_learning.learn_operators import learn_operators
from negative_worlds import Sampled, World, objects_of, operator

BENCH, PART, HOLE, SCREW = Type("bench"), Type("part"), Type("hole"), Type("screw")
B, TO = Variable("?bench", BENCH), Variable("?to", BENCH)
P, H, S = Variable("?part", PART), Variable("?hole", HOLE), Variable("?screw", SCREW)
AT, LIES, OF, IN = (
    Predicate("At", (BENCH,)),
    Predicate("Lies", (PART, BENCH)),
    Predicate("Of", (HOLE, PART)),
    Predicate("In", (SCREW, HOLE)),
)
LOOSE, TIGHT = Predicate("Loose", (SCREW,)), Predicate("Tight", (SCREW,))

CRATE, BOX, HAND = Type("crate"), Type("box"), Type("hand")
C, X, L, R, F = (
    Variable("?crate", CRATE),
    Variable("?box", BOX),
    Variable("?left", HAND),
    Variable("?right", HAND),
    Variable("?free", HAND),
)
FREE = Predicate("Free", (HAND,))
HELD, DOWN = Predicate("Held", (BOX, HAND)), Predicate("Down", (BOX,))
STANDS, HOISTED = Predicate("Stands", (CRATE,)), Predicate("Hoisted", (CRATE,))


def workshop(rng: random.Random, size: int) -> Sampled:
    """Parts with screws lie on benches; one or two of the screws must be tight."""
    benches, parts = objects_of(BENCH, 3, rng), objects_of(PART, size, rng)
    holes, screws = objects_of(HOLE, 2 * size, rng), objects_of(SCREW, 2 * size, rng)
    initial = {AT(rng.choice(benches))} | {LIES(part, rng.choice(benches)) for part in parts}
    for number, (hole, screw) in enumerate(zip(holes, screws, strict=True)):
        initial |= {OF(hole, parts[number // 2]), IN(screw, hole), LOOSE(screw)}
    return [*benches, *parts, *holes, *screws], initial, set(map(TIGHT, rng.sample(screws, 2)))


def yard(rng: random.Random, size: int) -> Sampled:
    """A robot has two hands, and often holds boxes. It needs both hands to hoist a crate."""
    hands, boxes, crates = (
        objects_of(HAND, 2, rng),
        objects_of(BOX, size, rng),
        objects_of(CRATE, size, rng),
    )
    initial = {*map(STANDS, crates), *map(DOWN, boxes)}
    for box, hand in zip(boxes, hands, strict=False):
        if rng.random() < 0.7:
            initial = (initial - {DOWN(box)}) | {HELD(box, hand)}
        else:
            initial.add(FREE(hand))
    return [*hands, *boxes, *crates], initial, {HOISTED(rng.choice(crates))}


WORKSHOP = World(
    (
        operator("Go", [B, TO], [TO], needs=[AT.lifted(B)], adds=[AT.lifted(TO)], deletes=[AT.lifted(B)]),
        operator(
            "Turn",
            [S, H, P, B],
            [S],
            needs=[LOOSE.lifted(S), IN.lifted(S, H), OF.lifted(H, P), LIES.lifted(P, B), AT.lifted(B)],
            adds=[TIGHT.lifted(S)],
            deletes=[LOOSE.lifted(S)],
        ),
    ),
    workshop,
)
YARD = World(
    (
        operator(
            "PutDown",
            [X, F],
            [X],
            needs=[HELD.lifted(X, F)],
            adds=[DOWN.lifted(X), FREE.lifted(F)],
            deletes=[HELD.lifted(X, F)],
        ),
        operator(
            "Hoist",
            [C, L, R],
            [C],
            needs=[FREE.lifted(L), FREE.lifted(R), STANDS.lifted(C)],
            adds=[HOISTED.lifted(C)],
            deletes=[FREE.lifted(L), FREE.lifted(R), STANDS.lifted(C)],
        ),
    ),
    yard,
)


def test_a_screw_is_turned_at_the_bench_of_the_part_that_has_its_hole():
    learned = learn_operators([WORKSHOP.demonstrate(seed, 2) for seed in range(30)])
    (turn,) = (one for one in learned.operators if one.controller.name == "Turn")
    screw, bench, hole, part = turn.parameters
    assert turn.preconditions == {
        LOOSE.lifted(screw),
        IN.lifted(screw, hole),
        OF.lifted(hole, part),
        LIES.lifted(part, bench),
        AT.lifted(bench),
    }


def test_hoisting_takes_both_hands():
    learned = learn_operators([YARD.demonstrate(seed, 3) for seed in range(30)])
    (hoist,) = (one for one in learned.operators if one.controller.name == "Hoist")
    crate, one, other = hoist.parameters
    assert {FREE.lifted(one), FREE.lifted(other), STANDS.lifted(crate)} <= hoist.preconditions
    assert {FREE.lifted(one), FREE.lifted(other)} <= hoist.delete_effects


def test_one_free_hand_is_no_evidence_against_needing_two():
    """The robot always holds one box at the start, so one of its hands is always free."""

    def one_box_held(rng: random.Random, size: int) -> Sampled:
        things, _, goal = yard(rng, size)
        hands = [one for one in things if one.type == HAND]
        boxes = [one for one in things if one.type == BOX]
        rng.shuffle(hands)
        rest = {STANDS(one) for one in things if one.type == CRATE} | set(map(DOWN, boxes[1:]))
        return things, rest | {HELD(boxes[0], hands[0]), FREE(hands[1])}, goal

    learned = learn_operators(
        [World(YARD.operators, one_box_held).demonstrate(seed, 3) for seed in range(30)]
    )
    needs = {
        one.controller.name: sorted(atom.predicate.name for atom in one.preconditions)
        for one in learned.operators
    }
    assert needs == {"Hoist": ["Free", "Free", "Stands"], "PutDown": ["Held"]}


PLACE, DOOR, BUILDING = Type("place"), Type("door"), Type("building")
ROBOT_AT, NEAR = Predicate("RobotAt", (PLACE,)), Predicate("Near", (DOOR, PLACE))
OF_BUILDING, INSIDE = Predicate("OfBuilding", (DOOR, BUILDING)), Predicate("Inside", (BUILDING,))


def enter(seed: int) -> Demonstration:
    """Enter a building through the one of its two doors that is near the robot."""
    rng = random.Random(seed)
    buildings, doors, places = (
        objects_of(BUILDING, 5, rng),
        objects_of(DOOR, 10, rng),
        objects_of(PLACE, 10, rng),
    )
    state = {OF_BUILDING(door, buildings[index // 2]) for index, door in enumerate(doors)}
    state |= {ROBOT_AT(places[0]), *map(NEAR, doors, places)}
    goal = frozenset({INSIDE(buildings[0])})
    action = Controller("Enter", (BUILDING,))(buildings[0])
    return Demonstration((*buildings, *doors, *places), goal, (frozenset(state), goal | state), (action,))


def test_the_second_of_two_objects_may_be_the_linked_one():
    """The place is unique, but no atom relates it to the building; of the doors, only one is near it."""
    (learned,) = learn_operators([enter(seed) for seed in range(30)]).operators
    assert {atom.predicate for atom in learned.preconditions} == {ROBOT_AT, NEAR, OF_BUILDING}


@pytest.mark.parametrize("world", [WORKSHOP, YARD], ids=["workshop", "yard"])
def test_plans_with_several_unnamed_objects_succeed_in_larger_tasks(world):
    assert world.conditions_help(demonstrated=30, size=5)
