"""Backchaining skips steps that add nothing necessary; computed by hand.

`test_against_brute_force` and `test_unusual_demonstrations` compare chains with their definition.
"""

from __future__ import annotations

from dataclasses import replace

from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.backchaining import Coverage, cover
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.hill_climbing import keep_all_operators
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.matching import SKIPPED, Matcher
from tiny_worlds import BLOCK, CLEAN, PUSH, RAIN, STACK

A, B = BLOCK("a"), BLOCK("b")
X = Variable("?x", BLOCK)
NONE, CLEAN_A = frozenset(), frozenset({CLEAN(A)})
CLEANING = Operator("Push", (X,), NONE, frozenset({CLEAN.lifted(X)}), NONE, NONE, PUSH, (X,))
IDLE = replace(CLEANING, add_effects=NONE)


def pushes(goal, *states_and_pushed) -> Demonstration:
    """Return a demonstration of pushes from state, pushed object, state, ..., state."""
    states = tuple(frozenset(state) for state in states_and_pushed[::2])
    return Demonstration((A, B), frozenset(goal), states, tuple(map(PUSH, states_and_pushed[1::2])))


# Push a, which cleans it, and push it again, which changes nothing.
REPEATED = pushes(CLEAN_A, NONE, A, CLEAN_A, A, CLEAN_A)
# Push a, which cleans it, push b, which starts the rain, and push a again, which changes nothing.
PUSHED_AGAIN = pushes(CLEAN_A, NONE, A, CLEAN_A, B, CLEAN_A | {RAIN()}, A, CLEAN_A | {RAIN()})
# Push b, which starts the rain, and push a, which cleans it. Nothing needs the rain.
DETOUR = pushes(CLEAN_A, NONE, B, {RAIN()}, A, {RAIN(), CLEAN(A)})


def skipped(demo, operators, skip_purposeless=False) -> list[bool]:
    """Return for each covered step whether it is skipped."""
    encoded = encode_demonstrations([demo], skip_idle_steps=True)
    (chain,) = cover(operators, Coverage.empty(encoded), Matcher(), skip_purposeless).chains
    return [link.match is SKIPPED for link in chain.links]


def test_a_step_that_changes_nothing_is_skipped():
    assert skipped(REPEATED, [IDLE]) == [True], "the first step must be explained"
    demo = pushes(CLEAN_A, CLEAN_A, B, CLEAN_A, A, CLEAN_A, B, CLEAN_A | {RAIN()})
    assert skipped(demo, [IDLE]) == [True, True, False], "the last step adds an atom"
    assert skipped(demo, [IDLE], skip_purposeless=True) == [True, True, True]
    never_consistent = replace(IDLE, add_effects=frozenset({RAIN.lifted(), CLEAN.lifted(X)}))
    assert skipped(demo, [never_consistent]) == []


def test_an_operator_that_adds_a_necessary_atom_again_explains_a_step():
    """The first push adds an atom that the second adds again, so it has no purpose."""
    assert skipped(PUSHED_AGAIN, [IDLE, CLEANING]) == [False, False, False]
    assert skipped(PUSHED_AGAIN, [IDLE, CLEANING], skip_purposeless=True) == [True, True, False]
    encoded = encode_demonstrations([PUSHED_AGAIN], skip_idle_steps=True)
    (chain,) = cover([IDLE, CLEANING], Coverage.empty(encoded), Matcher()).chains
    assert chain.necessary == (0, 0, 0, encoded[0].goal)


def test_a_repeated_step_without_changes_is_always_skipped():
    """Of two equal steps, the one that changed something is explained."""
    assert skipped(REPEATED, [CLEANING]) == [False, True]
    failed_first = pushes(CLEAN_A, NONE, A, NONE, A, CLEAN_A)
    assert skipped(failed_first, [CLEANING]) == [True, False]


def test_purposeless_steps_are_skipped_only_if_asked():
    assert skipped(DETOUR, [CLEANING]) == [False]
    assert skipped(DETOUR, [CLEANING], skip_purposeless=True) == [True, False]


def test_nothing_is_skipped_by_default():
    encoded = encode_demonstrations([REPEATED])
    (chain,) = cover([CLEANING], Coverage.empty(encoded), Matcher(), skip_purposeless=True).chains
    assert [link.match is SKIPPED for link in chain.links] == [False, False]


def test_a_new_operator_replaces_a_skipped_step():
    """With only the idle operator, the last step is skipped; then an operator adds Clean(a) again."""
    encoded = encode_demonstrations([PUSHED_AGAIN], skip_idle_steps=True)
    matcher = Matcher()
    first = cover([IDLE], Coverage.empty(encoded), matcher)
    assert [link.match is SKIPPED for link in first.chains[0].links] == [False, True]
    second = cover([IDLE, CLEANING], first, matcher)
    assert [link.match is SKIPPED for link in second.chains[0].links] == [False, False, False]
    assert second.chains[0].operator_texts == {IDLE.text, CLEANING.text}
    third = cover([IDLE], second, matcher)
    assert third.chains[0].links == first.chains[0].links


def test_idle_last_steps_are_skipped_without_any_operator():
    assert skipped(REPEATED, []) == [True]


def test_the_first_operators_do_not_explain_idle_last_steps():
    problem = LearningProblem.of([REPEATED], partly_bound, skip_idle_steps=True)
    failing = problem.empty_hypothesis().coverage.failing()
    assert [transition.step for transition in failing] == [0]


def test_idle_last_steps_need_no_operator_without_deletions():
    learned = learn_operators([REPEATED], OperatorLearningConfig(reduce=keep_all_operators))
    assert len(learned.operators) == 1


def test_a_purposeless_first_step_needs_no_operator():
    states = (NONE, frozenset({CLEAN(B)}), frozenset({CLEAN(A), CLEAN(B)}))
    learned = learn_operators([Demonstration((A, B), CLEAN_A, states, (STACK(B, A), PUSH(A)))])
    assert [operator.name for operator in learned.operators] == ["Push"]


def test_a_purposeless_last_step_needs_no_operator():
    states = (NONE, CLEAN_A, frozenset({CLEAN(A), CLEAN(B)}))
    learned = learn_operators([Demonstration((A, B), CLEAN_A, states, (PUSH(A), STACK(B, A)))])
    assert [operator.name for operator in learned.operators] == ["Push"]


def test_coverage_counts_skipped_steps_as_covered():
    learned = learn_operators([REPEATED, DETOUR])
    assert (learned.transitions, learned.uncovered, learned.coverage) == (4, 0, 1.0)
    (operator,) = learned.operators
    assert operator.add_effects == {CLEAN.lifted(*operator.parameters)}
    (first, second), (detour, cleaning) = learned.chains
    assert detour is None
    assert cleaning == operator.ground([A])
    assert [first, second].count(None) == 1, "one of the two equal pushes is skipped"
    assert learned.not_reproduced == ()
