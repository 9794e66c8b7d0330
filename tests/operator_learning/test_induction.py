"""Operators induced from a necessary change, and their types."""

from __future__ import annotations

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Type
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.induction import induce_operator
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.merge_types import keep_types
from tiny_worlds import BALL, BLOCK, CLEAN, ON, PUSH, RAIN, STACK, THING

A, B, C, P = BLOCK("a"), BLOCK("b"), BLOCK("c"), BALL("p")
NONE = frozenset()


def change(action, before, after, necessary):
    demo = Demonstration((A, B, C, P), NONE, (frozenset(before), frozenset(after)), (action,))
    encoded = encode_demonstrations([demo])[0]
    operator, numbers = induce_operator(encoded.transitions[0], encoded.table.encode(necessary))
    return operator, [encoded.table.objects[number].name for number in numbers]


def test_only_what_became_true_and_is_necessary_is_added():
    operator, objects = change(
        PUSH(P), before={RAIN()}, after={RAIN(), CLEAN(P), CLEAN(A)}, necessary={RAIN(), CLEAN(P)}
    )
    assert {str(atom) for atom in operator.add_effects} == {"Clean(?x0)"}
    assert objects == ["p"]


def test_controller_arguments_come_first_then_other_objects_by_name():
    added = {ON(P, B), ON(C, A)}
    operator, objects = change(STACK(C, B), before=(), after=added, necessary=added)
    assert objects == ["c", "b", "a", "p"]
    assert [str(v) for v in operator.parameters] == ["?x0:block", "?x1:block", "?x2:block", "?x3:ball"]
    assert {str(atom) for atom in operator.add_effects} == {"On(?x3, ?x1)", "On(?x0, ?x2)"}
    assert [v.name for v in operator.controller_arguments] == ["?x0", "?x1"]


def test_an_object_passed_twice_is_one_variable():
    operator, objects = change(STACK(A, A), before=(), after={ON(A, A)}, necessary={ON(A, A)})
    assert objects == ["a"]
    assert str(operator).startswith("Stack(?x0:block)\n  controller: Stack(?x0, ?x0)\n")


def test_there_may_be_nothing_to_add():
    """The push only ends the rain, which no later step needs; it must still be explained."""
    demo = Demonstration(
        (A,), frozenset({CLEAN(A)}), (frozenset({CLEAN(A), RAIN()}), frozenset({CLEAN(A)})), (PUSH(A),)
    )
    learned = learn_operators([demo])
    (operator,) = learned.operators
    assert learned.coverage == 1.0
    assert operator.add_effects == NONE
    assert {str(atom) for atom in operator.delete_effects} == {"Rain()"}


def test_preconditions_are_what_all_examples_share_and_deletes_what_any_one_shows():
    goal = frozenset({ON(A, B)})
    demos = [
        Demonstration((A, B, C, P), goal, (before, after), (STACK(A, B),))
        for before, after in (
            (frozenset({CLEAN(A), CLEAN(B), RAIN()}), goal | {CLEAN(B), RAIN()}),
            (frozenset({CLEAN(A), CLEAN(B), ON(B, A)}), goal | {CLEAN(A)}),
        )
    ]
    (operator,) = learn_operators(demos).operators
    assert {str(atom) for atom in operator.preconditions} == {"Clean(?x0)", "Clean(?x1)"}
    assert {str(atom) for atom in operator.delete_effects} == {"Clean(?x0)", "Clean(?x1)", "On(?x1, ?x0)"}
    assert {str(atom) for atom in operator.add_effects} == {"On(?x0, ?x1)"}


def test_variables_have_the_objects_own_types():
    """One controller over things pushes a block and a ball: there is one operator per type."""
    demos = [
        Demonstration((A, P), frozenset({CLEAN(o)}), (NONE, frozenset({CLEAN(o)})), (PUSH(o),))
        for o in (A, P)
    ]
    learned = learn_operators(demos, OperatorLearningConfig(types=keep_types))
    assert [str(operator.parameters[0]) for operator in learned.operators] == ["?x0:ball", "?x0:block"]
    assert [operator.name for operator in learned.operators] == ["Push-1", "Push-2"]
    assert learned.coverage == 1.0


def test_operators_are_named_after_their_controllers():
    wipe = Controller("Wipe", (THING,))
    demo = Demonstration(
        (A,), frozenset({CLEAN(A)}), (NONE, frozenset({RAIN()}), frozenset({CLEAN(A)})), (PUSH(A), wipe(A))
    )
    assert [operator.name for operator in learn_operators([demo]).operators] == ["Push", "Wipe"]


def test_names_of_operators_never_collide() -> None:
    """A controller may have the name that the numbered operator of another controller would get."""
    thing = Type("thing")
    done, other = Predicate("Done", (thing,)), Predicate("Other", (thing,))
    go, go_1 = Controller("Go", (thing,)), Controller("Go-1", (thing,))
    t = thing("t")
    demos = [
        Demonstration((t,), frozenset({goal(t)}), (frozenset(), frozenset({goal(t)})), (controller(t),))
        for goal, controller in ((done, go), (other, go), (done, go_1))
    ]
    names = [operator.name for operator in learn_operators(demos).operators]
    assert names == sorted(set(names))
    assert len(names) == 3


def test_a_predicate_of_a_narrower_type_is_not_lifted_to_a_wide_variable() -> None:
    """A cup is picked like any thing. Clean is no precondition, and it is deleted for every cup."""
    thing = Type("thing")
    cup = Type("cup", parent=thing)
    held, clean = Predicate("Held", (thing,)), Predicate("Clean", (cup,))
    pick = Controller("Pick", (thing,))
    t, c = thing("t"), cup("c")
    demos = [
        Demonstration((t,), frozenset({held(t)}), (frozenset(), frozenset({held(t)})), (pick(t),)),
        Demonstration(
            (c,), frozenset({held(c)}), (frozenset({clean(c)}), frozenset({held(c)})), (pick(c),)
        ),
    ]
    (operator,) = learn_operators(demos).operators
    assert operator.preconditions == frozenset()
    assert operator.delete_effects == frozenset()
    assert [str(pattern) for pattern in operator.delete_patterns] == ["Clean(*:cup)"]


def test_keeping_a_narrower_atom_narrows_the_variable() -> None:
    """All cups except the picked one become dirty; the goal needs the picked one clean."""
    thing = Type("thing")
    cup = Type("cup", parent=thing)
    held, clean = Predicate("Held", (thing,)), Predicate("Clean", (cup,))
    pick = Controller("Pick", (thing,))
    t, c, d = thing("t"), cup("c"), cup("d")
    demos = [
        Demonstration((t,), frozenset({held(t)}), (frozenset(), frozenset({held(t)})), (pick(t),)),
        Demonstration(
            (c, d),
            frozenset({held(c), clean(c)}),
            (frozenset({clean(c), clean(d)}), frozenset({held(c), clean(c)})),
            (pick(c),),
        ),
    ]
    learned = learn_operators(demos)
    assert learned.uncovered == 0
    (keeper,) = (operator for operator in learned.operators if operator.keep_effects)
    assert [variable.type for variable in keeper.parameters] == [cup]
