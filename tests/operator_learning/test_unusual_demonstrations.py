"""Unusual but valid demonstrations."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_learning
from brute_force_learning import PAPER, PAPER_CONFIGS
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.operator_learning.hill_climbing import steepest_descent
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, RAIN, STACK, demonstrations

A, B = BLOCK("a"), BLOCK("b")
NONE = frozenset()
WAIT = Controller("Wait", ())


def one_step(action, before, after, objects=(A, B)) -> Demonstration:
    return Demonstration(objects, frozenset(after), (frozenset(before), frozenset(after)), (action,))


def test_no_demonstrations():
    for schedule in (OperatorLearningConfig().schedule, steepest_descent):
        learned = learn_operators([], OperatorLearningConfig(schedule=schedule))
        assert (learned.operators, learned.transitions, learned.coverage) == ((), 0, 1.0)


def test_demonstration_without_steps():
    clean = frozenset({CLEAN(A)})
    learned = learn_operators([Demonstration((A,), clean, (clean,), ())])
    assert (learned.operators, learned.coverage, learned.not_reproduced) == ((), 1.0, ())
    assert learned.necessary == ((clean,),)
    assert learned.chains == ((),)


def test_controller_called_twice_with_one_object():
    learned = learn_operators(
        [one_step(STACK(A, A), (), {ON(A, A)}), one_step(STACK(A, B), (), {ON(A, B)})]
    )
    assert learned.coverage == 1.0
    assert [str(operator).splitlines()[1] for operator in learned.operators] == [
        "  controller: Stack(?x0, ?x0)",
        "  controller: Stack(?x0, ?x1)",
    ]


def test_nullary_predicates_and_controllers():
    learned = learn_operators(
        [one_step(WAIT(), {CLEAN(A)}, {RAIN()}), one_step(WAIT(), {ON(A, A)}, {RAIN()}, objects=(A,))]
    )
    (operator,) = learned.operators
    assert learned.coverage == 1.0
    assert str(operator) == (
        "Wait()\n"
        "  controller: Wait()\n"
        "  needs:      -\n"
        "  adds:       Rain()\n"
        "  deletes:    -\n"
        "  forgets:    Clean(*:block), On(*:block, *:block)"
    )


def test_world_without_objects():
    (operator,) = learn_operators([one_step(WAIT(), (), {RAIN()}, objects=())]).operators
    assert {str(atom) for atom in operator.add_effects} == {"Rain()"}


def test_empty_goal_needs_nothing():
    demo = replace(one_step(PUSH(A), (), {CLEAN(A)}), goal=NONE)
    (operator,) = learn_operators([demo], PAPER).operators
    assert operator.add_effects == NONE
    learned = learn_operators([demo])
    assert not any(operator.add_effects for operator in learned.operators)
    assert (learned.coverage, learned.chains) == (1.0, ((None,),))


def test_thirty_objects():
    """Pushing a block cleans it and makes two other blocks dirty; the goal is two clean blocks."""
    blocks = tuple(BLOCK(f"block{number:02d}") for number in range(30))
    demos = []
    for first in range(5):
        bystanders = frozenset(CLEAN(block) for block in blocks[10:])
        one, two = blocks[first], blocks[first + 5]
        middle = bystanders - {CLEAN(blocks[10 + first]), CLEAN(blocks[20 + first])} | {CLEAN(one)}
        end = middle - {CLEAN(blocks[11 + first]), CLEAN(blocks[21 + first])} | {CLEAN(two)}
        goal = frozenset({CLEAN(one), CLEAN(two)})
        demos.append(Demonstration(blocks, goal, (bystanders, middle, end), (PUSH(one), PUSH(two))))
    learned = learn_operators(demos)
    assert (learned.coverage, learned.not_reproduced) == (1.0, ())
    (operator,) = learned.operators
    assert {str(atom) for atom in operator.add_effects} == {"Clean(?x0)", "Clean(?x1)"}
    assert {str(atom) for atom in operator.keep_effects} == {"Clean(?x1)"}


def test_many_interchangeable_blocks_to_keep():
    """The goal is ten of fifteen blocks clean; each push makes two of the others dirty and one clean.

    Operators keep up to nine blocks here, which could be bound in 362880 orders each time.
    """
    rng = random.Random(0)
    blocks = tuple(BLOCK(f"block{number:02d}") for number in range(15))
    wanted, others = blocks[:10], [CLEAN(block) for block in blocks[10:]]
    states = [frozenset(others)]
    for block in wanted:
        dirtied, cleaned = rng.sample(others, 2), rng.choice(others)
        states.append(states[-1] - set(dirtied) | {CLEAN(block), cleaned})
    goal = frozenset(CLEAN(block) for block in wanted)
    learned = learn_operators([Demonstration(blocks, goal, tuple(states), tuple(map(PUSH, wanted)))])
    assert (learned.coverage, learned.not_reproduced) == (1.0, ())
    assert max(len(operator.keep_effects) for operator in learned.operators) == 9


@st.composite
def odd_demonstrations(draw: st.DrawFn) -> Demonstration:
    """Draw a demonstration whose actions may name an object twice, or none."""
    demo = draw(demonstrations())
    objects = st.sampled_from(demo.objects)
    action = st.one_of(
        st.just(WAIT()),
        st.builds(PUSH, objects),
        st.builds(STACK, objects, objects),
        objects.map(lambda o: STACK(o, o)),
    )
    return replace(demo, actions=tuple(draw(action) for _ in demo.actions))


@settings(max_examples=100, deadline=None)
@given(st.lists(odd_demonstrations(), min_size=1, max_size=2), st.sampled_from(PAPER_CONFIGS))
def test_chains_are_those_of_the_definition(demos, config):
    learned = brute_force_learning.learn_in_the_order_of_names(demos, config)
    # Backchaining breaks ties by the operators' text, in which each operator has its controller's name.
    unnamed = [replace(operator, name=operator.controller.name) for operator in learned.operators]
    for demo, chain, necessary in zip(demos, learned.chains, learned.necessary, strict=True):
        expected, alphas = brute_force_learning.backchain(unnamed, demo)
        assert [step.objects for step in chain if step is not None] == [step.objects for step in expected]
        assert [step.add_effects for step in chain if step is not None] == [s.add_effects for s in expected]
        assert necessary == tuple(alphas.get(index) for index in range(len(demo) + 1))


@settings(max_examples=150, deadline=None)
@given(st.lists(odd_demonstrations(), min_size=1, max_size=3))
def test_chains_with_skipped_steps_are_those_of_the_definition(demos):
    learned = brute_force_learning.learn_in_the_order_of_names(demos)
    assert learned.repairs is not None
    demos = learned.repairs.demonstrations
    skippable = brute_force_learning.adding_controllers(demos)
    unnamed = {replace(one, name=one.controller.name): one for one in learned.operators}
    uncovered = 0
    for demo, chain, necessary in zip(demos, learned.chains, learned.necessary, strict=True):
        expected, alphas = brute_force_learning.backchain(list(unnamed), demo, skippable, True)
        uncovered += len(demo) - len(expected)
        assert chain == (None,) * (len(demo) - len(expected)) + tuple(
            None if step is None else unnamed[step.operator].ground(step.objects) for step in expected
        )
        assert necessary == tuple(alphas.get(index) for index in range(len(demo) + 1))
    assert learned.uncovered == uncovered
