"""Doubts about handmade operators in tiny worlds, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.operator_learning.doubts import Doubt, DoubtKind, Doubts, list_doubts
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.false_claims import lift_pattern
from needful.operator_learning.find_doubts import find_doubts, with_false_claims
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.learned_operators import (
    EncodedOperatorData,
    LearnedOperators,
    evaluate_by_backchaining,
)
from needful.operator_learning.wrong_atoms import Repairs

BLOCK = Type("block")
ON = Predicate("On", (BLOCK, BLOCK))
CLEAR = Predicate("Clear", (BLOCK,))
HELD = Predicate("Held", (BLOCK,))
LIT = Predicate("Lit", (BLOCK,))
DARK = Predicate("Dark", (BLOCK,))
PICK = Controller("Pick", (BLOCK,))
TOUCH = Controller("Touch", (BLOCK,))
TOGGLE = Controller("Toggle", (BLOCK,))

A, B, C, D = (BLOCK(name) for name in "abcd")
x, y = Variable("?x", BLOCK), Variable("?y", BLOCK)


def operator(
    controller: Controller,
    needs: Sequence[LiftedAtom] = (),
    adds: Sequence[LiftedAtom] = (),
    deletes: Sequence[LiftedAtom] = (),
    forgets: Sequence[DeletePattern] = (),
    parameters: tuple[Variable, ...] = (x,),
) -> Operator:
    sets = map(frozenset, (needs, adds, deletes, forgets))
    return Operator(controller.name, parameters, *sets, controller, (x,))  # type: ignore[arg-type]


def demonstration(states: Sequence[set[GroundAtom]], *actions: GroundController) -> Demonstration:
    """Return a demonstration whose goal is the first new atom of the last step."""
    goal = min(states[-1] - states[-2])
    return Demonstration((A, B, C, D), frozenset({goal}), tuple(map(frozenset, states)), actions)


def judged(
    operators: Sequence[Operator], demos: Sequence[Demonstration], data: Sequence[tuple[int, ...]] = ()
) -> tuple[LearnedOperators, Doubts]:
    """Return the operators, each with the transitions of its numbers, and the doubts about them.

    All parameters but the first are bound to the block b.
    """
    encoded = encode_demonstrations(demos)
    transitions = [one for demo in encoded for one in demo.transitions]
    # Objects are numbered in the order of their names; more than one transition avoids another doubt.
    found = [
        EncodedOperatorData(
            one,
            tuple(
                (transitions[number], (*transitions[number].arguments, *[1] * (len(one.parameters) - 1)))
                for number in (data[index] if data else (0, 0))
            ),
        )
        for index, one in enumerate(operators)
    ]
    learned = evaluate_by_backchaining(found, encoded, len(demos))
    return learned, find_doubts(learned, demos)


# The block a is picked from b. In the first demonstration, c stays on d, which is never clear.
PICKS = (
    demonstration(
        [{ON(A, B), ON(C, D), CLEAR(A), CLEAR(C)}, {HELD(A), ON(C, D), CLEAR(B), CLEAR(C)}], PICK(A)
    ),
    demonstration([{ON(A, B), CLEAR(A)}, {HELD(A), CLEAR(B)}], PICK(A)),
)
# It claims that every other block becomes clear.
PICKING = operator(
    PICK,
    [CLEAR.lifted(x)],
    [HELD.lifted(x), CLEAR.lifted(y)],
    [CLEAR.lifted(x)],
    [DeletePattern(ON, (x, Wildcard(BLOCK)))],
    (x, y),
)


def test_an_effect_that_did_not_hold() -> None:
    """Clear(d) is false in the first demonstration; Clear(c) and Clear(d) in the second."""
    _, doubts = judged([PICKING], PICKS, [(0, 1)])
    assert (doubts.transitions, doubts.uncovered) == (2, 0)
    assert (doubts.false_claims, doubts.false_transitions, doubts.false_share) == (3, 2, 1.0)
    (doubt,) = doubts.items
    assert (doubt.kind, doubt.operator, doubt.count) == (DoubtKind.FALSE_CLAIM, "Pick", 2)
    assert doubt.text == (
        "Pick predicts Clear(?y), which did not hold for some ?y in 2 of 2 transitions, for example "
        "demonstration 0, step 1. The controller may choose among several objects, or a predicate is "
        "missing."
    )


def test_an_effect_with_its_condition_makes_no_false_claim() -> None:
    careful = replace(PICKING, preconditions=PICKING.preconditions | {ON.lifted(x, y)})
    _, doubts = judged([careful], PICKS, [(0, 1)])
    assert (doubts.false_claims, doubts.items) == (0, ())


def test_an_atom_that_became_false_is_a_claim_if_it_is_not_deleted() -> None:
    """With ?y = b, On(a, b) is On(?x, ?y); in the first demonstration it is also On(?x, *:block)."""
    forgetful = replace(PICKING, add_effects=frozenset({HELD.lifted(x)}), delete_patterns=frozenset())
    learned, doubts = judged([forgetful], PICKS, [(0, 1)])
    # The prediction contradicts both demonstrations, so they are not covered either.
    assert (learned.uncovered, doubts.false_claims) == (2, 2)
    uncovered, claim = doubts.items
    assert uncovered.kind is DoubtKind.UNCOVERED
    assert claim.text == (
        "Pick does not predict that On(?x, ?y) may become false, as it did in 2 of 2 transitions, for "
        "example demonstration 0, step 1. The action may sometimes fail, or a predicate for the condition "
        "is missing."
    )


def test_transitions_without_applicable_grounding_do_not_count() -> None:
    blocked = demonstration([{DARK(A)}, {LIT(A)}], PICK(A))
    _, doubts = judged([PICKING], (*PICKS, blocked), [(0, 1)])
    assert "in 2 of 2 transitions" in doubts.items[-1].fact


def test_another_operator_of_the_controller_explains_the_transitions() -> None:
    demos = [
        demonstration([{DARK(A)}, {LIT(A)}], TOGGLE(A)),
        demonstration([{LIT(A)}, {DARK(A)}], TOGGLE(A)),
    ]
    on = operator(TOGGLE, [], [LIT.lifted(x)], [DARK.lifted(x)])
    off = operator(TOGGLE, [LIT.lifted(x)], [DARK.lifted(x)], [LIT.lifted(x)])
    _, doubts = judged([on, off], demos, [(0, 0), (1, 1)])
    (doubt,) = doubts.items
    assert doubt.text == (
        "Toggle-1 predicts Lit(?x), which did not hold in 1 of 2 transitions, for example demonstration 1, "
        "step 1. Toggle-2 explains these transitions: a predicate that distinguishes the two cases may be "
        "missing."
    )
    turn = Controller("Turn", (BLOCK,), (0.0,), (1.0,))
    turned = [replace(demo, actions=(turn(A, parameters=[0.5]),)) for demo in demos]
    pair = [replace(one, name="Turn", controller=turn) for one in (on, off)]
    (doubt,) = judged(pair, turned, [(0, 0), (1, 1)])[1].items
    assert doubt.advice.startswith("Turn-2 explains these transitions: the parameters of Turn may decide ")


def test_steps_without_purpose() -> None:
    """Nothing needs the held block: the second step does not require it."""
    demo = demonstration([{DARK(B)}, {DARK(B), HELD(A)}, {LIT(B), HELD(A)}], PICK(A), TOGGLE(B))
    needless = operator(TOGGLE, [], [LIT.lifted(x)], [DARK.lifted(x)])
    pick = operator(PICK, [], [HELD.lifted(x)])
    _, doubts = judged([pick, needless], [demo], [(0, 0), (1, 1)])
    assert (doubts.purposeless_steps, doubts.idle_steps, doubts.uncovered) == (1, 0, 0)
    (doubt,) = doubts.items
    assert (doubt.operator, doubt.controller) == ("Pick", "Pick")
    assert doubt.text == (
        "Pick made Held(?x) true, but nothing needed it in 1 of 1 steps, for example demonstration 0, step "
        "1. A predicate for the condition that needs it may be missing, or the steps were detours."
    )
    # Several operators of a controller: the doubt is about the controller.
    several = [pick, operator(PICK, [LIT.lifted(x)], [HELD.lifted(x)]), needless]
    (doubt,) = judged(several, [demo], [(0, 0), (0, 0), (1, 1)])[1].items
    assert (doubt.operator, doubt.controller) == (None, "Pick")
    assert doubt.fact.startswith("Pick made Held(?x0) true")
    assert doubt.concerns(several[0])
    assert not doubt.concerns(needless)


def test_idle_steps_are_those_that_the_learner_skipped() -> None:
    """The block is toggled again after it is lit: one step adds nothing."""
    demos = [
        demonstration([{DARK(A)}, {LIT(A)}], TOGGLE(A)),
        Demonstration(
            (A, B, C, D),
            frozenset({LIT(B)}),
            tuple(map(frozenset, ([DARK(B)], [LIT(B)], [LIT(B)]))),
            (TOGGLE(B), TOGGLE(B)),
        ),
    ]
    learned = learn_operators(demos)
    assert (len(learned.operators), learned.skips_idle_steps) == (1, True)
    doubts = find_doubts(learned, demos)
    assert (doubts.idle_steps, doubts.purposeless_steps) == (1, 0)
    doubt = next(one for one in doubts.items if one.kind is DoubtKind.IDLE)
    assert doubt.fact == "Toggle added no atom in 1 of 3 steps, which learning skipped"
    assert doubt.where == "for example demonstration 1, step 2"


def test_demonstrations_with_states_get_the_advice_to_invent_predicates() -> None:
    demo = demonstration([{DARK(B)}, {DARK(B), HELD(A)}, {LIT(B), HELD(A)}], PICK(A), TOGGLE(B))
    state = State({A: (), B: ()})
    needless = operator(TOGGLE, [], [LIT.lifted(x)], [DARK.lifted(x)])
    pick = operator(PICK, [], [HELD.lifted(x)])
    with_states = replace(demo, states=(state,) * 3)
    for one, advised in ((demo, False), (with_states, True)):
        (doubt,) = judged([pick, needless], [one], [(0, 0), (1, 1)])[1].items
        assert ("--invent --keep all" in doubt.advice) == advised


def test_an_operator_with_one_transition() -> None:
    demos = [demonstration([{DARK(A)}, {LIT(A)}], TOGGLE(A))]
    on = operator(TOGGLE, [], [LIT.lifted(x)], [DARK.lifted(x)])
    (doubt,) = judged([on], demos, [(0,)])[1].items
    assert doubt.kind is DoubtKind.FEW_TRANSITIONS
    assert doubt.text.startswith("Toggle was learned from one transition, demonstration 0, step 1. Its ")
    assert "--experiments" in doubt.advice


def test_an_effect_that_held_already() -> None:
    """Clear(b) became true in one of three transitions, Lit(a) in two."""
    demos = [
        demonstration([{DARK(A)}, {LIT(A), CLEAR(B)}], TOUCH(A)),
        demonstration([{CLEAR(B)}, {LIT(A), CLEAR(B)}], TOUCH(A)),
        demonstration([{LIT(A), CLEAR(B)}, {LIT(A), CLEAR(B), CLEAR(A)}], TOUCH(A)),
    ]
    touch = operator(TOUCH, [], [LIT.lifted(x), CLEAR.lifted(y)], parameters=(x, y))
    _, doubts = judged([touch], demos, [(0, 1, 2)])
    doubt = next(one for one in doubts.items if one.kind is DoubtKind.RARE_EFFECT)
    assert doubt.fact == "Touch adds Clear(?y), but it held already before 2 of 3 transitions"
    assert (doubt.count, doubt.where) == (2, "for example demonstration 1, step 1")
    # Half of the transitions are enough.
    _, doubts = judged([touch], demos[:2], [(0, 1)])
    assert DoubtKind.RARE_EFFECT not in {one.kind for one in doubts.items}


def test_transitions_that_are_not_covered() -> None:
    demo = demonstration([{DARK(B)}, {DARK(B), HELD(A)}, {LIT(B), HELD(A)}], PICK(A), TOGGLE(B))
    toggle = operator(TOGGLE, [HELD.lifted(y)], [LIT.lifted(x)], [DARK.lifted(x)], parameters=(x, y))
    _, doubts = judged([toggle], [demo, demo], [(1, 3)])
    assert (doubts.uncovered, doubts.purposeless_steps) == (2, 0)
    doubt = doubts.items[0]
    assert (doubt.kind, doubt.operator, doubt.controller) == (DoubtKind.UNCOVERED, None, "Pick")
    assert doubt.text == (
        "No operator explains some step of Pick, so 2 of 4 transitions are not covered, for example "
        "Held(a) in demonstration 0, step 1. Add demonstrations with this step, or a predicate for the "
        "condition under which it works."
    )


def test_repaired_atoms_are_named_by_predicate() -> None:
    clean = demonstration([{DARK(A)}, {LIT(A), ON(B, C)}], TOGGLE(A))
    states: tuple[AbstractState, ...] = (
        clean.abstract_states[0] | {ON(C, D)},
        clean.abstract_states[1] - {ON(B, C)} | {CLEAR(A)},
    )
    noisy = replace(clean, abstract_states=states)
    on = operator(TOGGLE, [], [LIT.lifted(x)], [DARK.lifted(x)])
    learned, _ = judged([on], [clean, clean])
    repaired = replace(learned, repairs=Repairs((clean, clean), (0, 3)))
    doubts = find_doubts(repaired, [clean, noisy])
    assert doubts.repaired_atoms == 3
    on_atoms, clear = doubts.items
    assert on_atoms.text == (
        "2 atoms of On looked like detection errors and were repaired, for example On(c, d) in the first "
        "state of demonstration 1. Check the classifier of On, or record the demonstrations again."
    )
    assert clear.fact == "1 atom of Clear looked like a detection error and was repaired"
    assert clear.where == "for example Clear(a) after step 1 of demonstration 1"


def test_operators_without_a_precondition_claim_more() -> None:
    """An experiment may drop a precondition; the false claims are then counted again."""
    careful = replace(PICKING, preconditions=PICKING.preconditions | {ON.lifted(x, y)})
    learned, doubts = judged([careful], PICKS, [(0, 1)])
    (named,) = learned.operators
    bold = replace(named, preconditions=PICKING.preconditions)
    again = with_false_claims(doubts, [bold], learned, PICKS)
    assert (again.false_claims, [one.kind for one in again.items]) == (3, [DoubtKind.FALSE_CLAIM])
    back = with_false_claims(again, learned.operators, learned, PICKS)
    assert back == doubts


def test_replays_are_no_demonstrations() -> None:
    encoded = encode_demonstrations(PICKS)
    data = EncodedOperatorData(PICKING, tuple((demo.transitions[0], (0, 1)) for demo in encoded))
    learned = evaluate_by_backchaining([data], encoded, 1)
    doubts = find_doubts(learned, PICKS[:1])
    assert (doubts.transitions, doubts.false_claims) == (1, 1)
    assert with_false_claims(doubts, learned.operators, learned, PICKS) == doubts


def test_variables_that_are_too_wide_become_wildcards() -> None:
    thing = Type("thing")
    ball = Type("ball", parent=thing)
    inside = Predicate("Inside", (ball, ball))
    one, two = ball("one"), ball("two")
    wide, narrow = Variable("?wide", thing), Variable("?narrow", ball)
    assert str(lift_pattern(inside(one, two), {one: wide, two: narrow})) == "Inside(*:ball, ?narrow)"
    assert str(lift_pattern(inside(one, two), {})) == "Inside(*:ball, *:ball)"


def test_doubts_are_sorted_and_cut_off() -> None:
    def doubt(kind: DoubtKind, count: int, fact: str) -> Doubt:
        return Doubt(kind, None, None, count, fact, "", "Look.")

    doubts = [
        doubt(DoubtKind.UNCOVERED, 1, "a"),
        doubt(DoubtKind.FALSE_CLAIM, 5, "b"),
        doubt(DoubtKind.FALSE_CLAIM, 2, "c"),
        doubt(DoubtKind.FALSE_CLAIM, 2, "d"),
        doubt(DoubtKind.IDLE, 9, "e"),
    ]
    assert sorted((doubts[index] for index in (3, 0, 4, 2, 1)), key=lambda one: one.rank) == doubts
    assert list_doubts(doubts, 2) == ["- a. Look.", "- b. Look.", "and 3 more"]
    assert len(list_doubts(doubts)) == len(list_doubts(doubts, None)) == 5
    assert len(list_doubts(doubts * 3)) == 11


def test_steps_that_only_delete_can_be_purposeless() -> None:
    """Touching a makes it no longer dark, which nothing needs. Then b is picked."""
    demo = demonstration([{DARK(A), CLEAR(B)}, {CLEAR(B)}, {HELD(B), CLEAR(B)}], TOUCH(A), PICK(B))
    touching = operator(TOUCH, [DARK.lifted(x)], (), [DARK.lifted(x)])
    picking = operator(PICK, [CLEAR.lifted(x)], [HELD.lifted(x)])
    _, doubts = judged([touching, picking], (demo, demo), [(0, 2), (1, 3)])
    assert (doubts.purposeless_steps, doubts.idle_steps, doubts.uncovered) == (2, 0, 0)
    (doubt,) = doubts.items
    assert (doubt.kind, doubt.operator) == (DoubtKind.PURPOSELESS, "Touch")
    assert doubt.fact == "Touch made Dark(?x) false, but nothing needed it in 2 of 2 steps"
