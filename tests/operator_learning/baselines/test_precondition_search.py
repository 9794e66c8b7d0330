"""LOFT's search for preconditions, on sets of atoms that are plain numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_clock import FakeClock
from needful.core.limits import NO_DEADLINE, Deadline
from needful.errors import LearningTimeoutError
from needful.operator_learning.baselines.loft import LabelledExamples, best_preconditions

ATOMS = 6
atom_sets = st.integers(0, 2**ATOMS - 1)
variable_sets = st.lists(st.integers(0, 7), min_size=ATOMS, max_size=ATOMS)
positive_sets = st.lists(atom_sets, min_size=1, max_size=5)
negative_sets = st.lists(st.none() | st.lists(atom_sets, max_size=4), max_size=5)


def cost(atoms, variables, positives, negatives) -> float:
    true_positives = sum(not atoms & ~held for held in positives)
    false_positives = sum(sets is None or any(not atoms & ~held for held in sets) for sets in negatives)
    mentioned = 0
    for atom in range(ATOMS):
        if atoms >> atom & 1:
            mentioned |= variables[atom]
    penalty = 10 * mentioned.bit_count() + atoms.bit_count()
    return 100 * false_positives - 1000 * true_positives + penalty if true_positives else math.inf


def union(masks) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


@settings(max_examples=200, deadline=None)
@given(atom_sets, variable_sets, positive_sets, negative_sets)
def test_costs_agree_with_the_definition(atoms, variables, positives, negatives):
    labelled_examples = LabelledExamples.of(variables, positives, negatives)
    assert labelled_examples.cost(atoms) == cost(atoms, variables, positives, negatives)
    fewer = [atoms & ~(1 << atom) for atom in range(ATOMS) if atoms >> atom & 1]
    assert list(labelled_examples.with_one_atom_removed(atoms)) == [
        (one, cost(one, variables, positives, negatives)) for one in fewer
    ]


@settings(max_examples=100, deadline=None)
@given(variable_sets, positive_sets, negative_sets)
def test_the_best_set_of_few_atoms_is_found(variables, positives, negatives):
    start = union(positives)
    subsets = [atoms for atoms in range(2**ATOMS) if not atoms & ~start]
    found = best_preconditions(LabelledExamples.of(variables, positives, negatives), start, NO_DEADLINE)
    assert not found & ~start
    least = min(cost(atoms, variables, positives, negatives) for atoms in subsets)
    assert cost(found, variables, positives, negatives) == least


def test_atoms_that_separate_the_examples_are_kept():
    """Atom 0 holds in all examples, atom 1 only in the positive ones, atom 2 in one of those."""
    labelled_examples = LabelledExamples.of([1, 1, 1], [0b011, 0b111], [[0b001], [0b101, 0b001]])
    assert best_preconditions(labelled_examples, 0b111, NO_DEADLINE) == 0b010


def test_a_negative_example_matches_only_if_one_of_its_atom_sets_does():
    """Atoms 0 and 1 hold in it, but never together."""
    together = LabelledExamples.of([1, 2], [0b11], [[0b11]])
    apart = LabelledExamples.of([1, 2], [0b11], [[0b01, 0b10]])
    assert (together.cost(0b11), apart.cost(0b11)) == (-1000 + 100 + 22, -1000 + 22)


def test_if_nothing_fits_the_first_set_stays():
    """The union of disjoint positives holds in none of them, nor does any set within the search limit."""
    atoms = 40
    positives = [(1 << 20) - 1, ((1 << 20) - 1) << 20]
    labelled_examples = LabelledExamples.of([1] * atoms, positives, [])
    start = union(positives)
    assert labelled_examples.cost(start) == math.inf
    assert best_preconditions(labelled_examples, start, NO_DEADLINE) == start


def test_the_deadline_is_checked_in_every_expansion():
    labelled_examples = LabelledExamples.of([1] * 20, [(1 << 20) - 1], [])
    with pytest.raises(LearningTimeoutError, match="time limit of 50 s"):
        best_preconditions(labelled_examples, (1 << 20) - 1, Deadline.after(50.0, FakeClock(tick=1.0)))
