"""Matching, backchaining, necessary atoms and coverage agree with their definitions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_learning
from brute_force_learning import PAPER_CONFIGS
from needful.core.canonical import interchangeable
from needful.core.operators import GroundOperator
from needful.core.plans import necessary_atoms
from needful.operator_learning.backchaining import Coverage, cover
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.hill_climbing import (
    Climb,
    alternate,
    reduce_complexity,
    reduce_truthfully,
    steepest_descent,
)
from needful.operator_learning.improve_coverage import improve_coverage
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learned_operators import reproduces_demonstration
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.matching import Matcher
from tiny_worlds import demonstrations, operators

pytestmark = pytest.mark.slow  # as a whole

few_operators = st.lists(operators(), min_size=1, max_size=4, unique=True)


@settings(max_examples=300, deadline=None)
@given(demonstration=demonstrations(), operator=operators(), data=st.data())
def test_best_consistent_link_is_the_best_of_all_groundings(demonstration, operator, data):
    encoded = encode_demonstrations([demonstration])[0]
    for transition, fast in zip(demonstration.transitions(), encoded.transitions, strict=True):
        if transition.action.controller != operator.controller:
            continue
        necessary = frozenset(
            data.draw(st.sets(st.sampled_from(sorted(transition.after)), max_size=2))
            if transition.after
            else ()
        )
        expected = brute_force_learning.best_consistent(
            [operator], demonstration.objects, transition, necessary
        )
        link = Matcher().best_consistent_link(operator, fast, encoded.table.encode(necessary))
        if expected is None:
            assert link is None
        else:
            assert link is not None
            assert link.match.score == brute_force_learning.score(expected, transition)
            assert tuple(encoded.table.objects[n] for n in link.match.objects) == expected.objects
            before = expected.preconditions | (necessary - expected.add_effects)
            assert encoded.table.decode(link.necessary) == before


@settings(max_examples=300, deadline=None)
@given(demonstration=demonstrations(), operator=operators(stripped=True), data=st.data())
def test_explaining_matches_lists_all_eligible_groundings_best_first(demonstration, operator, data):
    """All eligible groundings, except those that only exchange interchangeable variables."""
    groups = [[operator.parameters.index(v) for v in group] for group in interchangeable(operator)]

    def in_order(ground):
        chosen = [[ground.objects[index] for index in group] for group in groups]
        return chosen == [sorted(objects) for objects in chosen]

    encoded = encode_demonstrations([demonstration])[0]
    for transition, fast in zip(demonstration.transitions(), encoded.transitions, strict=True):
        if transition.action.controller != operator.controller:
            continue
        added = sorted(transition.added)
        needed = frozenset(data.draw(st.sets(st.sampled_from(added), max_size=2)) if added else ())
        expected = sorted(
            (brute_force_learning.score(ground, transition), [o.name for o in ground.objects])
            for ground in brute_force_learning.groundings(operator, demonstration.objects, transition)
            if brute_force_learning.is_explaining(ground, transition, needed | transition.before)
            and in_order(ground)
        )
        matches = Matcher().explaining_matches(operator, fast, encoded.table.encode(needed))
        found = [(m.score, [encoded.table.objects[n].name for n in m.objects]) for m in matches]
        assert found == expected
        for match in matches:
            ground = operator.ground([encoded.table.objects[n] for n in match.objects])
            assert encoded.table.decode(match.adds) == ground.add_effects


@settings(max_examples=200, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=2), candidates=few_operators)
def test_backchaining_coverage_and_necessary_atoms(demos, candidates):
    encoded = encode_demonstrations(demos)
    coverage = cover(candidates, Coverage.empty(encoded), Matcher())
    by_text = {operator.text: operator for operator in candidates}
    uncovered = 0
    for demo, fast, chain in zip(demos, encoded, coverage.chains, strict=True):
        expected_chain, expected_necessary = brute_force_learning.backchain(candidates, demo)
        found = [
            by_text[link.match.text].ground([fast.table.objects[n] for n in link.match.objects])
            for link in chain.links
        ]
        assert found == expected_chain
        reached = {i: mask for i, mask in enumerate(chain.necessary) if mask is not None}
        assert {i: fast.table.decode(mask) for i, mask in reached.items()} == expected_necessary
        uncovered += len(demo) - len(expected_chain)
        # The planner's definition gives the same atoms.
        assert necessary_atoms(found, demo.goal) == tuple(
            expected_necessary[i] for i in range(len(demo) - len(found), len(demo) + 1)
        )
    assert coverage.uncovered == uncovered


def covered_chain_reaches_the_goal(chain: list[GroundOperator | None], demo) -> bool:
    if len(chain) < len(demo):
        return True
    state = demo.abstract_states[0]
    for step in chain:
        if step is not None:
            assert step.preconditions <= state, "applicable in the predicted state"
            state = step.apply(state)
    return demo.goal <= state


@settings(max_examples=150, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3), config=st.sampled_from(PAPER_CONFIGS))
def test_coverage_theorem(demos, config):
    """A covered demonstration can be planned symbolically with exactly the operators of its chain."""
    learned = learn_operators(demos, config)
    for demo in demos:
        chain, _ = brute_force_learning.backchain(learned.operators, demo)
        assert covered_chain_reaches_the_goal(chain, demo)
    for demo, alphas in zip(encode_demonstrations(demos), learned.necessary, strict=True):
        if alphas[0] is not None:
            assert reproduces_demonstration(learned.operators, demo, Matcher())


@settings(max_examples=150, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3))
def test_coverage_theorem_with_skipped_steps(demos):
    """A covered demonstration can be planned symbolically without its skipped steps."""
    learned = learn_operators(demos)
    assert learned.repairs is not None
    for demo, chain, alphas in zip(
        learned.repairs.demonstrations, learned.chains, learned.necessary, strict=True
    ):
        if alphas[0] is not None:
            assert covered_chain_reaches_the_goal(list(chain), demo)


@settings(max_examples=150, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3), config=st.sampled_from(PAPER_CONFIGS))
def test_the_objective_falls_with_every_step(demos, config):
    learned = learn_operators(demos, config)
    objectives = [step.objective for step in learned.steps]
    assert objectives == sorted(objectives, reverse=True)
    lowering = [step.objective for step in learned.steps if step.move != "widen"]
    assert len(set(lowering)) == len(lowering)


@settings(max_examples=150, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3))
def test_the_objective_falls_between_new_conditions(demos):
    """The default learner may add operators again after it requires a condition or skips steps."""
    steps = learn_operators(demos).steps
    for earlier, later in itertools.pairwise(steps):
        if later.move in ("cover", "delete"):
            assert later.objective < earlier.objective


@settings(max_examples=150, deadline=None)
@given(
    demos=st.lists(demonstrations(), min_size=1, max_size=3),
    config=st.sampled_from([*PAPER_CONFIGS, OperatorLearningConfig()]),
)
def test_learning_invariants(demos, config):
    learned = learn_operators(demos, config)
    assert learned.repairs is not None
    demos = learned.repairs.demonstrations
    identities = [(g.demonstration, g.step) for data in learned.data for g in data.groundings]
    assert len(identities) == len(set(identities)), "a transition is in at most one dataset"
    for data in learned.data:
        assert data.groundings, "an operator without data is dropped"
        for grounding in data.groundings:
            transition = list(demos[grounding.demonstration].transitions())[grounding.step]
            ground = data.operator.ground(grounding.objects)
            assert ground.controller_objects == transition.action.objects
            assert ground.preconditions <= transition.before
            assert ground.apply(transition.before) <= transition.after, "condition (c)"


@settings(max_examples=100, deadline=None)
@given(
    demos=st.lists(demonstrations(), min_size=1, max_size=3),
    config=st.sampled_from([*PAPER_CONFIGS, OperatorLearningConfig()]),
)
def test_induced_sets_are_intersections_and_unions(demos, config):
    learned = learn_operators(demos, config)
    assert learned.repairs is not None
    demos = learned.repairs.demonstrations
    for data in learned.data:
        inside = []
        for grounding in data.groundings:
            transition = list(demos[grounding.demonstration].transitions())[grounding.step]
            lifting = dict(zip(grounding.objects, data.operator.parameters, strict=True))

            def lifted(atoms, lifting=lifting):
                return {
                    (atom.predicate, tuple(lifting[o] for o in atom.objects))
                    for atom in atoms
                    if set(atom.objects) <= set(lifting)
                    and atom.predicate.fits([lifting[o] for o in atom.objects])
                }

            inside.append((lifted(transition.before), lifted(transition.deleted)))
        needs = {(a.predicate, a.variables) for a in data.operator.preconditions}
        deletes = {(a.predicate, a.variables) for a in data.operator.delete_effects}
        assert needs == set.intersection(*(before for before, _ in inside))
        assert deletes == set.union(*(deleted for _, deleted in inside))


@settings(max_examples=60, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3))
def test_hill_climbing_ends_where_no_operator_improves_coverage(demos):
    """Hill climbing ends only where neither move helps, under both schedules."""

    for schedule, reduce, skip in itertools.product(
        (alternate, steepest_descent), (reduce_complexity, reduce_truthfully), (False, True)
    ):
        problem = LearningProblem.of(demos, partly_bound, skip_idle_steps=skip)
        climb = schedule(problem, reduce, Climb(problem.empty_hypothesis()))
        assert reduce(climb.hypothesis, problem) is climb.hypothesis
        again = improve_coverage(climb.hypothesis, problem)
        assert not again.objective < climb.hypothesis.objective
