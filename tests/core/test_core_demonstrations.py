"""Demonstrations and their transitions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from needful.core.atoms import GroundAtom, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.demonstrations import Demonstration, check_declarations
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.errors import DemonstrationError
from needful.operator_learning.learn_operators import learn_operators
from tiny_worlds import BALL, BLOCK, CLEAN, ON, PUSH, RAIN

A, B, UNKNOWN = BLOCK("a"), BLOCK("b"), BLOCK("c")
STATES = (frozenset({RAIN()}), frozenset({RAIN(), CLEAN(A)}), frozenset({CLEAN(A), CLEAN(B)}))
GOAL = frozenset({CLEAN(B)})


def test_transitions_by_hand():
    demo = Demonstration((A, B), GOAL, STATES, (PUSH(A), PUSH(B)))
    first, second = demo.transitions()
    assert len(demo) == 2
    assert (first.before, first.action, first.after) == (STATES[0], PUSH(A), STATES[1])
    assert (first.added, first.deleted) == ({CLEAN(A)}, frozenset())
    assert (second.added, second.deleted) == ({CLEAN(B)}, {RAIN()})
    assert first.state is None


def test_transitions_carry_the_state_before():
    cup = Type("cup", ("x",))("cup")
    states = tuple(State({cup: [x]}) for x in (1.0, 2.0))
    demo = Demonstration((cup,), frozenset(), (frozenset(),) * 2, (Controller("Wait", ())(),), states)
    assert [transition.state for transition in demo.transitions()] == [states[0]]


def test_demonstration_without_steps():
    assert len(Demonstration((A, B), GOAL, STATES[2:], ())) == 0


def test_one_more_abstract_state_than_actions():
    with pytest.raises(DemonstrationError, match="1 actions needs 2 abstract states, got 3"):
        Demonstration((A, B), GOAL, STATES, (PUSH(A),))


def test_one_more_state_than_actions():
    with pytest.raises(DemonstrationError, match="2 actions needs 3 states, got 1"):
        Demonstration((A, B), GOAL, STATES, (PUSH(A), PUSH(B)), (State({}),))


def test_goal_must_hold_at_the_end():
    with pytest.raises(DemonstrationError, match=r"does not hold at the end of a demonstration: Rain\(\)"):
        Demonstration((A, B), GOAL | {RAIN()}, STATES, (PUSH(A), PUSH(B)))


def test_atoms_and_actions_name_only_objects_of_the_demonstration():
    states = (STATES[0] | {ON(UNKNOWN, A)}, *STATES[1:])
    with pytest.raises(DemonstrationError, match=r"On\(c, a\) names c:block, .* objects: a:block, b:block"):
        Demonstration((A, B), GOAL, states, (PUSH(A), PUSH(B)))
    with pytest.raises(DemonstrationError, match=r"Push\(c\) names c:block"):
        Demonstration((A, B), GOAL, STATES, (PUSH(A), PUSH(UNKNOWN)))


def test_objects_have_distinct_names():
    with pytest.raises(DemonstrationError, match=r"share a name: a:ball, a:block, b:block"):
        Demonstration((A, B, BALL("a")), GOAL, STATES, (PUSH(A), PUSH(B)))


ROBOT, DOOR, ROOM = Type("robot"), Type("door"), Type("room")
AT_DOOR, AT_ROOM = Predicate("At", (ROBOT, DOOR)), Predicate("At", (ROBOT, ROOM))
GO_TO_DOOR, GO_TO_ROOM = Controller("Go", (ROBOT, DOOR)), Controller("Go", (ROBOT, ROOM))
ROBOT0, DOOR0, ROOM0 = ROBOT("robot0"), DOOR("door0"), ROOM("room0")


def gone(action: GroundController, *atoms: GroundAtom, objects: tuple[Object, ...] = ()) -> Demonstration:
    used = (ROBOT0, DOOR0, ROOM0)
    return Demonstration(objects or used, frozenset(), (frozenset(), frozenset(atoms)), (action,))


@pytest.mark.parametrize(
    ("demonstrations", "problem"),
    [
        (
            [gone(GO_TO_DOOR(ROBOT0, DOOR0), AT_DOOR(ROBOT0, DOOR0), AT_ROOM(ROBOT0, ROOM0))],
            r"Predicate\(At\(robot, door\)\) and demonstration 0 uses Predicate\(At\(robot, room",
        ),
        (
            [gone(GO_TO_DOOR(ROBOT0, DOOR0)), gone(GO_TO_ROOM(ROBOT0, ROOM0))],
            r"Controller\(Go\(robot, door\), .* and demonstration 1 uses Controller\(Go\(robot, room",
        ),
        (
            [
                gone(GO_TO_DOOR(ROBOT0, DOOR0)),
                gone(Controller("Wait", ())(), objects=(Type("robot", ("x",))("robot0"),)),
            ],
            r"Demonstration 0 uses Type\('robot', 0 .* and demonstration 1 uses Type\('robot', 1",
        ),
    ],
)
def test_different_declarations_of_one_name_are_refused(
    demonstrations: list[Demonstration], problem: str
) -> None:
    for check in (check_declarations, learn_operators):
        with pytest.raises(DemonstrationError, match=f"{problem}.*Rename one of them"):
            check(demonstrations)  # type: ignore[operator]


def test_equal_declarations_are_accepted() -> None:
    one = gone(GO_TO_DOOR(ROBOT0, DOOR0), AT_DOOR(ROBOT0, DOOR0))
    check_declarations([one, one])


class MadeOnAccess(Sequence[Demonstration]):
    """Demonstrations that are made when they are accessed; the last one has another predicate."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if index >= len(self):
            raise IndexError(index)
        thing = Type("thing")
        types = (thing, thing) if index == len(self) - 1 else (thing,)
        one = thing("one")
        state = frozenset({Predicate("Holds", types)(*[one] * len(types))})
        return Demonstration((one,), state, (state, state), (Controller("Act", (thing,))(one),))


def test_declarations_of_demonstrations_that_no_longer_exist_are_compared() -> None:
    with pytest.raises(DemonstrationError, match="Holds"):
        check_declarations(MadeOnAccess())
