"""Results computed from an earlier set of operators equal results computed from scratch."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_learning
from carrying_world import A, B, C, carrying
from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import canonical_candidate, merge_duplicates
from needful.operator_learning.hill_climbing import Climb, alternate, reduce_complexity, steepest_descent
from needful.operator_learning.improve_coverage import (
    copies_with_keep_effects,
    improve_coverage,
    with_keep_effects,
)
from needful.operator_learning.induction import Inducer, induce_operator, partly_bound, whole_predicate
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.matching import SKIPPED
from needful.operator_learning.merge_types import merge_types
from needful.operator_learning.objective import Objective
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, STACK, demonstrations

few_demonstrations = st.lists(demonstrations(), min_size=1, max_size=3)
generalisations = st.sampled_from([partly_bound, whole_predicate])


def decoded_necessary(problem, hypothesis):
    return [
        [None if mask is None else demo.table.decode(mask) for mask in chain.necessary]
        for demo, chain in zip(problem.demonstrations, hypothesis.coverage.chains, strict=True)
    ]


def decoded_data(data):
    return [
        (t.demonstration, t.step, tuple(t.table.objects[number] for number in objects))
        for t, objects in data
    ]


def assert_from_scratch(demos, generalise, problem, candidates, base, reached, skip=False):
    """Compare RECOMPUTE and COVERAGE with their definitions, which do not use `base`."""
    skippable = brute_force_learning.adding_controllers(demos) if skip else set()
    incidental = brute_force_learning.incidental_controllers(demos) if skip else set()
    expected = brute_force_learning.partition(
        merge_duplicates(candidates), demos, decoded_necessary(problem, base), skippable
    )
    found = {one.candidate.text: decoded_data((*one.data, *one.ineffective)) for one in reached.fitted}
    assert {text: sorted(data) for text, data in found.items()} == expected
    assert list(found) == sorted(found)
    for one in reached.fitted:
        ineffective = (
            brute_force_learning.ineffective(
                one.candidate, expected[one.candidate.text], demos, decoded_necessary(problem, base)
            )
            if skip
            else []
        )
        assert decoded_data(one.ineffective) == ineffective
    for one in reached.fitted:
        assert one.operator == Inducer(generalise).fit(one.candidate.operator, one.data)
        assert one.candidate in merge_duplicates(candidates)
    operators = [one.operator for one in reached.fitted]
    by_text = {operator.text: operator for operator in operators}
    for demo, fast, chain in zip(demos, problem.demonstrations, reached.coverage.chains, strict=True):
        steps = [
            None
            if link.match is SKIPPED
            else by_text[link.match.text].ground([fast.table.objects[n] for n in link.match.objects])
            for link in chain.links
        ]
        expected_steps, alphas = brute_force_learning.backchain(
            operators, demo, skippable, problem.skip_purposeless, incidental
        )
        assert steps == expected_steps
        reached_states = {i: mask for i, mask in enumerate(chain.necessary) if mask is not None}
        assert {i: fast.table.decode(mask) for i, mask in reached_states.items()} == alphas


def assert_copies_where_necessary_atoms_are_deleted(demos, problem, hypothesis):
    """Check ENSURE_NEC by definition: one copy per datum whose operator deletes atoms it could keep."""
    expected = []
    for one in hypothesis.fitted:
        for encoded, objects in one.data:
            transition = list(demos[encoded.demonstration].transitions())[encoded.step]
            necessary = hypothesis.coverage.necessary_after(encoded)
            ground = one.operator.ground([encoded.table.objects[number] for number in objects])
            missing = encoded.table.decode(necessary or 0) - ground.apply(transition.before)
            if missing and missing <= transition.before:
                expected.append(encoded.transition_id)
    assert [
        identity for copy in copies_with_keep_effects(hypothesis, problem) for identity in copy.hints
    ] == expected


def subset(draw, mask: int) -> int:
    return mask & draw(st.integers(0, mask))


@st.composite
def sets_of_candidates(draw, problem):
    """Draw three sets of candidates that each fit some transition, some with hints and pins."""
    drawn = []
    for _ in range(draw(st.integers(1, 4))):
        transition = draw(st.sampled_from(problem.transitions.by_number))
        operator, objects = induce_operator(transition, subset(draw, transition.added))
        kept = subset(draw, transition.before & transition.after)
        if kept:
            operator, objects = with_keep_effects(operator, transition, objects, kept)
        variables = st.lists(st.sampled_from(operator.parameters), max_size=2)
        hints = {
            one.transition_id: {
                variable: draw(st.integers(0, len(one.table.objects) - 1)) for variable in draw(variables)
            }
            for one in draw(st.lists(st.sampled_from(problem.transitions.by_number), max_size=2))
        }
        pinned = frozenset({transition.transition_id}) if draw(st.booleans()) else frozenset()
        drawn += [canonical_candidate(operator, hints, pinned), canonical_candidate(operator, {})]
    some = st.lists(st.sampled_from(drawn), max_size=len(drawn))
    return draw(some), draw(some), draw(some)


@settings(max_examples=150, deadline=None)
@given(demos=few_demonstrations, generalise=generalisations, data=st.data(), skip=st.booleans())
def test_a_change_of_candidates_and_of_needs(demos, generalise, data, skip):
    """Candidates are added, removed and change hints; the necessary atoms change in between."""
    problem = LearningProblem.of(demos, generalise, skip_idle_steps=skip)
    base = problem.empty_hypothesis()
    for candidates in data.draw(sets_of_candidates(problem)):
        reached = problem.fit(candidates, base)
        assert_from_scratch(demos, generalise, problem, candidates, base, reached, skip)
        assert_copies_where_necessary_atoms_are_deleted(demos, problem, reached)
        uncovered, operators = reached.objective
        near = st.builds(
            Objective, st.integers(0, uncovered + 1), st.integers(max(operators - 1, 0), operators + 1)
        )
        for than in (reached.objective, data.draw(near)):
            better = problem.fit_if_better(candidates, base, than)
            assert (better is not None) == (reached.objective < than)
            assert better is None or better.fitted == reached.fitted
        base = reached


@settings(max_examples=80, deadline=None)
@given(
    demos=few_demonstrations,
    generalise=generalisations,
    schedule=st.sampled_from([alternate, steepest_descent]),
    skip=st.booleans(),
    purposeless=st.booleans(),
)
def test_every_step_of_hill_climbing(demos, generalise, schedule, skip, purposeless):
    """Operators are added, copied with keep effects, pinned, deleted and merged; deletes are widened."""

    class Checked(LearningProblem):
        def fit(self, candidates, base):
            candidates = tuple(candidates)
            reached = LearningProblem.fit(self, candidates, base)
            assert_from_scratch(demos, generalise, self, candidates, base, reached, skip)
            return reached

        def fit_if_better(self, candidates, base, than):
            candidates = tuple(candidates)
            reached = self.fit(candidates, base)
            found = LearningProblem.fit_if_better(self, candidates, base, than)
            assert (found is not None) == (reached.objective < than)
            assert found is None or (found.fitted, found.objective) == (reached.fitted, reached.objective)
            return found

    problem = Checked.of(demos, generalise, skip_idle_steps=skip)
    problem = problem.skipping_purposeless_steps() if purposeless else problem
    merge_types(schedule(problem, reduce_complexity, Climb(problem.empty_hypothesis())), problem)


def test_more_needs_may_bring_back_a_match_that_a_hint_excluded():
    """Pushing p brings a onto it, where b already is; then a is stacked on p, which makes it clean.

    `one` could add On(a, p), which would be exact, but a hint binds b. So the push is assigned to `both`
    until On(a, p) is known to be needed: then b is excluded. Another push, which only `one` explains,
    prevents `one` from being dropped in the meantime.
    """
    a, b, p = BLOCK("a"), BLOCK("b"), BLOCK("p")
    x, y, z = (Variable(name, BLOCK) for name in ("?x", "?y", "?z"))
    start, pushed = frozenset({ON(b, p)}), frozenset({ON(a, p), ON(b, p)})
    none = frozenset()
    demos = [
        Demonstration(
            (a, b, p), frozenset({CLEAN(a)}), (start, pushed, pushed | {CLEAN(a)}), (PUSH(p), STACK(a, p))
        ),
        Demonstration((a, p), frozenset({ON(a, p)}), (none, frozenset({ON(a, p)})), (PUSH(p),)),
    ]
    one = Operator("Push", (x, y), none, frozenset({ON.lifted(y, x)}), none, none, PUSH, (x,))
    both = replace(one, parameters=(x, y, z), add_effects=frozenset({ON.lifted(y, x), ON.lifted(z, x)}))
    stack = Operator("Stack", (x, y), none, frozenset({CLEAN.lifted(x)}), none, none, STACK, (x, y))
    problem = LearningProblem.of(demos, partly_bound)
    hint = {(0, 0): {y: problem.demonstrations[0].table.object_number[b]}}
    candidates = [
        canonical_candidate(one, hint),
        *(canonical_candidate(operator, {}) for operator in (both, stack)),
    ]
    first = problem.fit(candidates, problem.empty_hypothesis())
    assert len(first.fitted) == 3
    second = problem.fit(candidates, first)
    assert len(second.fitted) == 2, "`both` has no data left"
    assert_from_scratch(demos, partly_bound, problem, candidates, first, second)


def test_unchanged_parts_are_the_same_objects():
    """Fitting the same candidates again leaves data and chains unchanged."""
    problem = LearningProblem.of([carrying(B, (A, B, C), (A, B))], partly_bound)
    base = improve_coverage(problem.empty_hypothesis(), problem)
    again = problem.fit(base.candidates, base)
    assert again.fitted == base.fitted
    assert again.coverage.chains[0] is base.coverage.chains[0]
