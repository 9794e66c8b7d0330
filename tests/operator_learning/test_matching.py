"""Groundings of operators on transitions, by hand; brute-force tests cover the definitions."""

from __future__ import annotations

from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.matching import Matcher
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, RAIN, STACK, THING

A, B, C = BLOCK("a"), BLOCK("b"), BLOCK("c")
X, Y = Variable("?x", BLOCK), Variable("?y", BLOCK)
NONE = frozenset()


def transition(action, before, after):
    demo = Demonstration((A, B, C), NONE, (frozenset(before), frozenset(after)), (action,))
    return encode_demonstrations([demo])[0].transitions[0]


def test_controller_arguments_are_those_of_the_action():
    same = Operator("Stack", (X,), NONE, NONE, NONE, NONE, STACK, (X, X))
    different = Operator("Stack", (X, Y), NONE, NONE, NONE, NONE, STACK, (X, Y))
    once, twice = transition(STACK(A, B), (), {RAIN()}), transition(STACK(B, B), (), {RAIN()})
    assert Matcher().explaining_matches(same, once, 0) == ()
    assert [match.objects for match in Matcher().explaining_matches(same, twice, 0)] == [(1,)]
    assert [match.objects for match in Matcher().explaining_matches(different, once, 0)] == [(0, 1)]
    assert Matcher().explaining_matches(different, twice, 0) == ()


def test_score_by_hand():
    """Adds one of two new atoms, keeps one, deletes one correctly and one wrongly; misses one delete."""
    operator = Operator(
        "Push",
        (X, Y),
        preconditions=frozenset({CLEAN.lifted(Y)}),
        add_effects=frozenset({CLEAN.lifted(X), CLEAN.lifted(Y)}),
        delete_effects=frozenset({ON.lifted(X, Y), ON.lifted(Y, X)}),
        delete_patterns=frozenset({DeletePattern(ON, (Wildcard(THING), Wildcard(THING)))}),
        controller=PUSH,
        controller_arguments=(X,),
    )
    pushed = transition(PUSH(A), {CLEAN(B), ON(A, B), ON(C, C)}, {CLEAN(A), CLEAN(B), RAIN()})
    link = Matcher().best_consistent_link(operator, pushed, pushed.table.encode({CLEAN(A), CLEAN(B)}))
    assert link is not None
    assert link.match.objects == (0, 1)
    assert link.match.score == 0 + 1 + 1 + 1 - 1
    assert link.necessary == pushed.table.encode({CLEAN(B)})
    assert Matcher().best_consistent_link(operator, pushed, pushed.table.encode({RAIN()})) is None, (
        "(b) fails"
    )


def test_predicted_atoms_must_hold_afterwards():
    idle = Operator("Push", (X,), NONE, NONE, NONE, NONE, PUSH, (X,))
    pushed = transition(PUSH(A), {CLEAN(A), RAIN()}, {CLEAN(A)})
    assert Matcher().best_consistent_link(idle, pushed, 0) is None, "(c) fails: rain is still predicted"
