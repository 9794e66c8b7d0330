"""The evidence for conditions, against all groundings and all objects."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning import opportunities as module
from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.condition_tests import ANYTHING, holds
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.opportunities import Opportunities, evenly
from needful.operator_learning.partition import FittedOperator
from tiny_worlds import BLOCK, CLEAN, ON, PREDICATES, PUSH, demonstrations, operators


def conditions(arity: int, unnamed: int = 2):
    """Draw up to three atoms over parameters, unnamed objects and `ANYTHING`."""
    indices = st.sampled_from([ANYTHING, *range(arity + unnamed)])
    keys = [st.tuples(st.just(one.name), st.tuples(*[indices] * len(one.types))) for one in PREDICATES[1:]]
    return st.frozensets(st.one_of(keys), min_size=1, max_size=3)


def satisfied(atoms, arity, objects, state, everything, distinct) -> bool:
    """Try all objects for all unnamed indices, and for each `ANYTHING`."""
    named = dict(enumerate(objects))
    held = {(atom.predicate.name, atom.objects) for atom in state}
    unnamed = sorted({index for _, one in atoms for index in one if index >= arity})
    for chosen in itertools.product(everything, repeat=len(unnamed)):
        bound = {**named, **dict(zip(unnamed, chosen, strict=True))}
        if distinct and len(set(bound.values())) < len(bound):
            continue
        if all(
            any(
                name == other
                and all(i == ANYTHING or bound[i] == obj for i, obj in zip(indices, found, strict=True))
                for other, found in held
            )
            for name, indices in atoms
        ):
            return True
    return False


@settings(max_examples=100, deadline=None)
@given(demo=demonstrations(), operator=operators(), distinct=st.booleans(), data=st.data())
def test_holds_tries_all_objects(demo, operator, distinct, data):
    arity = len(operator.parameters)
    encoded = encode_demonstrations([demo])[0]
    atoms = data.draw(conditions(arity))
    for objects in itertools.islice(itertools.permutations(demo.objects, arity), 4):
        numbers = tuple(encoded.table.object_number[obj] for obj in objects)
        for fast, state in zip(encoded.transitions, demo.abstract_states, strict=False):
            expected = satisfied(atoms, arity, objects, state, demo.objects, distinct)
            assert holds(atoms, arity, (fast, numbers), distinct) == expected


def missed_opportunities(operator, demo):
    """Yield the states and groundings in which the operator was applicable and would add an atom.

    The groundings need not have the objects of the executed action.
    """
    for state in demo.abstract_states[:-1]:
        for objects in itertools.permutations(demo.objects, len(operator.parameters)):
            pairs = zip(objects, operator.parameters, strict=True)
            if all(obj.type.is_subtype_of(variable.type) for obj, variable in pairs):
                ground = operator.ground(objects)
                done = ground.add_effects and ground.add_effects <= state
                if ground.preconditions <= state and not done:
                    yield state, objects


def fitted(operator) -> FittedOperator:
    return FittedOperator(canonical_candidate(operator, {}), (), operator)


@settings(max_examples=100, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3), operator=operators(), data=st.data())
def test_bits_add_up_the_surprise_of_each_demonstration(demos, operator, data):
    arity = len(operator.parameters)
    choices = data.draw(st.lists(conditions(arity), min_size=1, max_size=2))
    expected = []
    for demo in demos:
        cases = list(missed_opportunities(operator, demo))
        held = sum(
            any(satisfied(atoms, arity, objects, state, demo.objects, False) for atoms in choices)
            for state, objects in cases
        )
        expected.append(-math.log2((held + 1) / (len(cases) + 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EXAMINED_GROUNDINGS", 1000)
        found = Opportunities(fitted(operator), encode_demonstrations(demos))
        assert found.bits(*choices) == pytest.approx(sum(expected))


@settings(max_examples=100, deadline=None)
@given(demos=st.lists(demonstrations(), min_size=1, max_size=3), operator=operators(), data=st.data())
def test_conditions_always_hold_if_no_opportunity_lacks_them(demos, operator, data):
    arity = len(operator.parameters)
    atoms = data.draw(conditions(arity))
    lacking = (
        not satisfied(atoms, arity, objects, state, demo.objects, False)
        for demo in demos
        for state, objects in missed_opportunities(operator, demo)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EXAMINED_GROUNDINGS", 1000)
        found = Opportunities(fitted(operator), encode_demonstrations(demos))
        assert found.always_hold(atoms) == (not any(lacking))


X = Variable("?x", BLOCK)
NONE = frozenset()
PUSHING = Operator("Push", (X,), NONE, frozenset({CLEAN.lifted(X)}), NONE, NONE, PUSH, (X,))
A, B, C, D = (BLOCK(name) for name in "abcd")
ON_SOMETHING = frozenset({("On", (0, 1))})


def test_bits_by_hand():
    """Four blocks can be pushed and two stand on something; then one is clean, and three can be pushed.

    The condition holds at 2 + 1 of 4 + 3 opportunities; each count is increased by one.
    """
    start = frozenset({ON(A, B), ON(C, D)})
    demo = Demonstration(
        (A, B, C, D),
        frozenset({CLEAN(A)}),
        (start, start | {CLEAN(A)}, start | {CLEAN(A)}),
        (PUSH(A), PUSH(A)),
    )
    found = Opportunities(fitted(PUSHING), encode_demonstrations([demo, demo]))
    assert found.bits(ON_SOMETHING) == pytest.approx(-2 * math.log2((3 + 1) / (7 + 1)))
    assert found.bits(ON_SOMETHING) == pytest.approx(2.0)
    assert not found.always_hold(ON_SOMETHING)


def test_bits_of_many_demonstrations_are_estimated_from_some():
    start = frozenset({ON(A, B), ON(C, D)})
    demo = Demonstration((A, B, C, D), frozenset({CLEAN(A)}), (start, start | {CLEAN(A)}), (PUSH(A),))
    count = module.EXAMINED_DEMONSTRATIONS
    demos = [demo] * count * 3
    found = Opportunities(fitted(PUSHING), encode_demonstrations(demos)).bits(ON_SOMETHING)
    assert found == pytest.approx(-3 * count * math.log2(3 / 5))


def test_all_demonstrations_are_examined_if_the_estimate_is_doubtful():
    """Only the sampled third of the demonstrations has evidence: the estimate is three times too high."""
    start = frozenset({ON(A, B), ON(C, D)})
    goal = frozenset({CLEAN(A)})
    informative = Demonstration((A, B, C, D), goal, (start, start | goal), (PUSH(A),))
    everywhere = frozenset({ON(A, B), ON(B, A)})
    uninformative = Demonstration((A, B), goal, (everywhere, everywhere | goal), (PUSH(A),))
    demos = [informative, uninformative, uninformative] * module.EXAMINED_DEMONSTRATIONS
    evidence = -module.EXAMINED_DEMONSTRATIONS * math.log2(3 / 5)
    found = Opportunities(fitted(PUSHING), encode_demonstrations(demos))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DOUBTFUL_BITS", (0.0, 0.0))
        assert found.bits(ON_SOMETHING) == pytest.approx(3 * evidence)
        patch.setattr(module, "DOUBTFUL_BITS", (0.0, 3 * evidence + 1))
        assert found.bits(ON_SOMETHING) == pytest.approx(evidence)


@settings(deadline=None)
@given(size=st.integers(0, 50), count=st.integers(1, 20))
def test_items_are_chosen_evenly(size, count):
    items = list(range(size))
    chosen = list(evenly(items, count))
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(size, count)
    gaps = [after - before for before, after in pairwise([*chosen, size])]
    assert not chosen or (chosen[0] == 0 and max(gaps) - min(gaps) <= 1)


def test_a_condition_that_always_holds_is_no_evidence():
    state = frozenset({ON(A, B), ON(B, A)})
    demo = Demonstration((A, B), NONE, (state, state), (PUSH(A),))
    found = Opportunities(fitted(PUSHING), encode_demonstrations([demo]))
    assert found.bits(ON_SOMETHING) == 0.0
    assert found.always_hold(ON_SOMETHING)


def test_no_state_has_more_than_the_greatest_number_of_opportunities():
    blocks = tuple(BLOCK(f"block{number:02d}") for number in range(module.EXAMINED_GROUNDINGS + 5))
    demo = Demonstration(blocks, NONE, (NONE, NONE), (PUSH(blocks[0]),))
    bits = Opportunities(fitted(PUSHING), encode_demonstrations([demo])).bits(ON_SOMETHING)
    assert bits == pytest.approx(math.log2(module.EXAMINED_GROUNDINGS + 1))
