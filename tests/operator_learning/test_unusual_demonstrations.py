"""Unusual but valid demonstrations."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_learning
from brute_force_learning import PAPER, PAPER_CONFIGS, preference
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.operator_learning.hill_climbing import steepest_descent
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.negative_preconditions import positive_preconditions_only
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


def assert_chain_by_definition(operators, demo, chain, necessary, skippable=()) -> int:
    """Check a chain backwards from the goal; return the number of uncovered steps.

    Each step has a best consistent grounding. Among groundings that differ only in their objects, names do
    not decide, so any of them will do.
    """
    unnamed = {replace(one, name=one.controller.name): one for one in operators}
    assert necessary[len(demo)] == demo.goal
    for step in range(len(demo) - 1, -1, -1):
        transition, alpha = list(demo.transitions())[step], necessary[step + 1]
        ignored = brute_force_learning.is_ignored(demo, step, skippable)
        may_skip = transition.action.controller.name in skippable and alpha <= transition.before
        best = brute_force_learning.best_consistent(
            list(unnamed), demo.objects, transition, alpha, with_purpose=may_skip
        )
        if ignored or (best is None and may_skip):
            assert chain[step] is None
            assert necessary[step] == alpha
            continue
        if best is None:
            assert chain[: step + 1] == (None,) * (step + 1)
            assert necessary[: step + 1] == (None,) * (step + 1)
            return step + 1
        found = chain[step]
        plain = replace(found, operator=replace(found.operator, name=found.operator.controller.name))
        assert brute_force_learning.is_consistent(found, transition, alpha)
        assert preference(plain, transition)[:3] == preference(best, transition)[:3]
        assert necessary[step] == found.preconditions | (alpha - found.add_effects)
    return 0


@settings(max_examples=100, deadline=None)
@given(st.lists(odd_demonstrations(), min_size=1, max_size=2), st.sampled_from(PAPER_CONFIGS))
def test_chains_are_those_of_the_definition(demos, config):
    learned = learn_operators(demos, config)
    uncovered = 0
    for demo, chain, necessary in zip(demos, learned.chains, learned.necessary, strict=True):
        uncovered += assert_chain_by_definition(learned.operators, demo, chain, necessary)
    assert learned.uncovered == uncovered


@settings(max_examples=150, deadline=None)
@given(st.lists(odd_demonstrations(), min_size=1, max_size=3))
def test_chains_with_skipped_steps_are_those_of_the_definition(demos):
    learned = learn_operators(demos, OperatorLearningConfig(negatives=positive_preconditions_only))
    assert learned.repairs is not None
    demos = learned.repairs.demonstrations
    skippable = brute_force_learning.adding_controllers(demos)
    uncovered = 0
    for demo, chain, necessary in zip(demos, learned.chains, learned.necessary, strict=True):
        uncovered += assert_chain_by_definition(learned.operators, demo, chain, necessary, skippable)
    assert learned.uncovered == uncovered
