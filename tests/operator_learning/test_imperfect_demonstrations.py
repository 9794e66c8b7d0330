"""Repeated, failed and purposeless steps do not change the learned operators."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import delivery_world
import kitchen_world
import toy_world
from delivery_world import DRIVE, PARKED, PART_OF, PLACE, deliver
from kitchen_world import BAG, BOOK, CUP, FRIDGE, GO, TOY, UNLOCK, putting
from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.objects import Type
from needful.operator_learning.learn_operators import learn_operators
from toy_world import DROP, GRASP, HAND_FREE, HOLDING, INSIDE, MOVE_TO, NEAR, TAKE_LID_OFF

BAG1, FRIDGE1 = BAG("bag1"), FRIDGE("fridge1")
ITEMS = [kind(f"{kind.name}{i}") for kind in (BOOK, CUP, TOY) for i in range(2)]
AROUND = {item: [ITEMS[index - 1]] for index, item in enumerate(ITEMS)}


def written(demos) -> str:
    return "\n".join(operator.text for operator in learn_operators(demos).operators)


def in_the_kitchen(seed: int = 0, repeated=0.0, failed=0.0, detours=0.0) -> list[Demonstration]:
    """Put six items into a bag and into a fridge; the rates are probabilities per step.

    A failed step changes nothing and is tried again. A detour goes to another thing first.
    """
    rng = random.Random(seed)
    demos = []
    for item in ITEMS:
        for container in (BAG1, FRIDGE1):
            clean = putting(item, container, AROUND, unlock=container is FRIDGE1)
            states, actions = [clean.abstract_states[0]], []

            def execute(action: GroundController, states=states, actions=actions) -> None:
                actions.append(action)
                states.append(kitchen_world.after(states[-1], action, AROUND))

            for action in clean.actions:
                if action.controller == GO and rng.random() < detours:
                    execute(GO(rng.choice(ITEMS)))
                if rng.random() < failed:
                    actions.append(action)
                    states.append(states[-1])
                execute(action)
                if rng.random() < repeated:
                    execute(action)
            demos.append(Demonstration(clean.objects, clean.goal, tuple(states), tuple(actions)))
    return demos


@pytest.mark.parametrize(
    "rates",
    [
        {"repeated": 0.3},
        {"failed": 0.3},
        {"failed": 1.0},
        {"detours": 0.3},
        {"detours": 1.0},
        {"repeated": 0.2, "failed": 0.2, "detours": 0.2},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [0, 1])
def test_operators_of_the_kitchen_are_those_of_clean_demonstrations(rates, seed):
    imperfect = in_the_kitchen(seed, **rates)
    assert sum(map(len, imperfect)) > sum(map(len, in_the_kitchen()))
    learned = learn_operators(imperfect)
    assert learned.coverage == 1.0
    assert "\n".join(one.text for one in learned.operators) == written(in_the_kitchen())


def test_fridges_must_still_be_opened_if_every_step_is_repeated():
    assert written(in_the_kitchen(repeated=1.0)) == written(in_the_kitchen())


def test_one_repeated_way_to_a_fridge():
    """Go(fridge), Go(fridge), Unlock(fridge), Unlock(fridge), Go(book), Take, Go(fridge), Put."""
    book = BOOK("book1")
    plain = putting(book, FRIDGE1, unlock=True)
    assert plain.actions[:2] == (GO(FRIDGE1), UNLOCK(FRIDGE1))
    states, actions = plain.abstract_states, plain.actions
    repeated = Demonstration(
        plain.objects,
        plain.goal,
        (*states[:2], states[1], states[2], *states[2:]),
        (actions[0], actions[0], actions[1], *actions[1:]),
    )
    learned = learn_operators([putting(book, BAG1), repeated])
    into_fridge = [
        {str(atom) for atom in one.preconditions}
        for one in learned.operators
        if FRIDGE1.type.is_subtype_of(one.parameters[0].type) and one.controller.name == "Put"
    ]
    assert into_fridge == [{"Held(?x1)", "Near(?x0)", "Open(?x0)"}]


def driving_detours(demo: Demonstration, rng: random.Random) -> Iterator[GroundController]:
    """Yield the actions of a delivery; before every second drive, the truck goes elsewhere in its city."""
    state = demo.abstract_states[0]
    city = {atom.objects[0]: atom.objects[1] for atom in state if atom.predicate == PART_OF}
    for action in demo.actions:
        truck, there = action.objects
        if action.controller == DRIVE and rng.random() < 0.5:
            (here,) = (a.objects[1] for a in state if a.predicate == PARKED and a.objects[0] == truck)
            elsewhere = [
                place
                for place in demo.objects
                if place.type == PLACE and place not in (here, there) and city[place] == city[here]
            ]
            detour = DRIVE(truck, rng.choice(elsewhere))
            state = delivery_world.after(state, detour)
            yield detour
        state = delivery_world.after(state, action)
        yield action


CITIES = [deliver(seed, cities=2) for seed in range(20)]


def test_operators_of_deliveries_with_detours():
    rng = random.Random(0)
    demos = [
        delivery_world.play(
            demo.objects, demo.abstract_states[0], demo.goal, tuple(driving_detours(demo, rng))
        )
        for demo in CITIES
    ]
    assert sum(map(len, demos)) > sum(map(len, CITIES))
    assert written(demos) == written(CITIES)


def test_operators_of_deliveries_with_failed_steps():
    rng = random.Random(0)
    demos = []
    for demo in CITIES:
        pairs = list(zip(demo.abstract_states, demo.actions, strict=False))
        steps = [step for pair in pairs for step in [pair] * (1 + (rng.random() < 0.5))]
        states = (*(state for state, _ in steps), demo.abstract_states[-1])
        demos.append(Demonstration(demo.objects, demo.goal, states, tuple(action for _, action in steps)))
    assert sum(map(len, demos)) > sum(map(len, CITIES))
    assert written(demos) == written(CITIES)


def test_operators_of_deliveries_with_one_repeated_step():
    """The first package is loaded a second time, which changes nothing."""
    first, *others = CITIES
    load = next(step for step, action in enumerate(first.actions) if action.controller.name == "Load")
    actions = (*first.actions[: load + 1], *first.actions[load:])
    repeated = delivery_world.play(first.objects, first.abstract_states[0], first.goal, actions)
    assert len(repeated) == len(first) + 1
    assert written([repeated, *others]) == written(CITIES)


def test_a_controller_without_visible_effects_keeps_its_operator():
    """No predicate describes lids, so taking a lid off changes no atom. It is not skipped."""
    robot, ball, jar = toy_world.ROBOT("robot"), toy_world.BALL("ball"), toy_world.JAR("jar")
    free, near = frozenset({HAND_FREE(robot)}), frozenset({HAND_FREE(robot), NEAR(robot, ball)})
    held = frozenset({HOLDING(robot, ball), NEAR(robot, ball)})
    inside = frozenset({INSIDE(ball, jar), HAND_FREE(robot)})
    demo = Demonstration(
        (robot, ball, jar),
        frozenset({INSIDE(ball, jar)}),
        (free, free, near, near, held, inside),
        (
            TAKE_LID_OFF(robot, jar),
            MOVE_TO(robot, ball, parameters=(0.0,)),
            MOVE_TO(robot, ball, parameters=(0.0,)),
            GRASP(robot, ball),
            DROP(robot, ball, jar),
        ),
    )
    learned = learn_operators([demo])
    assert [one.name for one in learned.operators] == ["Drop", "Grasp", "MoveTo", "TakeLidOff"]
    lid = learned.operators[-1]
    assert (lid.add_effects, lid.delete_effects) == (frozenset(), frozenset())
    assert learned.coverage == 1.0
    chain = learned.chains[0]
    assert chain[0] == lid.ground((robot, jar))
    assert chain[1:3].count(None) == 1, "one of two moves is skipped"


ITEM, BIN = Type("item"), Type("bin")
HELD, OVER, IN_BIN = Predicate("Held", (ITEM,)), Predicate("Over", (BIN,)), Predicate("InBin", (ITEM, BIN))
LIFT, GO_OVER = Controller("Lift", (ITEM,)), Controller("GoOver", (BIN, ITEM))
RELEASE = Controller("Release", ())
BIN1, SMALL, LARGE = BIN("bin1"), ITEM("small"), ITEM("large")


def sorting(detour: bool) -> Demonstration:
    """Put an item into a bin; a detour goes over the bin for the other item, which is not held."""
    held, over = frozenset({HELD(SMALL)}), frozenset({HELD(SMALL), OVER(BIN1)})
    done = frozenset({IN_BIN(SMALL, BIN1)})
    aside = [(GO_OVER(BIN1, LARGE), over)] if detour else []
    steps = [(LIFT(SMALL), held), *aside, (GO_OVER(BIN1, SMALL), over), (RELEASE(), done)]
    states = (frozenset[GroundAtom](), *(state for _, state in steps))
    return Demonstration((BIN1, SMALL, LARGE), done, states, tuple(action for action, _ in steps))


@pytest.mark.parametrize("detours", [1, 3, 6])
def test_a_step_that_was_done_again_is_no_evidence_against_a_precondition(detours):
    """The detour works, but the demonstrator then does the same for the held item."""
    demos = [sorting(number < detours) for number in range(8)]
    assert written(demos) == written([sorting(False)] * 8)
    (over,) = (one for one in learn_operators(demos).operators if one.name == "GoOver")
    assert over.preconditions == {LiftedAtom(HELD, over.parameters[1:])}


THING = Type("thing")
NEARBY, SHUT, AJAR = (Predicate(name, (THING,)) for name in ("Nearby", "Shut", "Ajar"))
APPROACH, UNSEAL, KNOCK = (Controller(name, (THING,)) for name in ("Approach", "Unseal", "Knock"))
BOX1, BOX2 = THING("box1"), THING("box2")


def unsealing(close_together: bool, knock: bool) -> Demonstration:
    """Open two boxes; a detour knocks at the second one, which changes nothing, while it is nearby."""
    both = frozenset({NEARBY(BOX1), NEARBY(BOX2)})
    one, two = (both, both) if close_together else (frozenset({NEARBY(BOX1)}), frozenset({NEARBY(BOX2)}))
    start, half = frozenset({SHUT(BOX1), SHUT(BOX2)}), frozenset({AJAR(BOX1), SHUT(BOX2)})
    done = frozenset({AJAR(BOX1), AJAR(BOX2)})
    aside = [(KNOCK(BOX2), start | one)] if knock else []
    later = [(UNSEAL(BOX1), half | one), (APPROACH(BOX2), half | two), (UNSEAL(BOX2), done | two)]
    steps = [(APPROACH(BOX1), start | one), *aside, *later]
    states = (start, *(state for _, state in steps))
    return Demonstration((BOX1, BOX2), done, states, tuple(action for action, _ in steps))


def test_a_rare_action_without_effects_makes_nothing_necessary():
    """Two boxes are nearby at once by chance. No operator predicts it, although knocking needs it."""
    demos = [unsealing(False, False)] * 8 + [unsealing(True, False), unsealing(True, True)]
    learned = learn_operators(demos)
    assert [one.name for one in learned.operators] == ["Approach", "Knock", "Unseal"]
    assert learned.coverage == 1.0
    assert written(demos[:9]) == "\n".join(one.text for one in learned.operators if one.name != "Knock")


def test_a_frequent_action_without_effects_needs_its_preconditions():
    """If most demonstrations knock, knocking seems to have a purpose that no predicate describes."""
    learned = learn_operators([unsealing(True, True)] * 10)
    knock = learned.chains[0][1]
    assert knock is not None
    assert knock.preconditions <= (learned.necessary[0][1] or frozenset())
