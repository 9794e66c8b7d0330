"""LOFT, a baseline of the paper: cluster by effects, then search for preconditions.

The transitions of a cluster are positive examples; those of the controller's other clusters are negative
examples. A search finds preconditions that hold before many positive and few negative examples. Positive
examples before which these preconditions hold are covered. Covered examples become negative examples, and
the search is repeated for the remaining positive ones. So a cluster may be split into several operators.

Sets of atoms are integers with one bit per atom. The action of a negative example binds only some
variables, so the example has many groundings. Each grounding yields one set: the atoms that hold before the
example under this grounding. Preconditions hold before the example if one of these sets contains them, so
only the maximal sets are stored (see `AtomSetEnumerator`). As in the authors' code, a grounding may bind
two variables to one object.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import or_

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.demonstrations import Demonstrations
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.operators import Operator
from needful.operator_learning.baselines.cluster_intersect import cluster_by_effects
from needful.operator_learning.encoding import EncodedTransition, encode_demonstrations
from needful.operator_learning.induction import LiftedAtomMap, liftable_atoms_before, lifted_atoms
from needful.operator_learning.learned_operators import (
    EncodedOperatorData,
    LearnedOperators,
    evaluate_by_backchaining,
)

# The maximum number of groundings that are enumerated for a negative example. An example with more
# groundings counts as a false positive, whatever the preconditions.
MAX_GROUNDINGS = 10_000

# The weights of the cost function, times 100, so that costs are integers.
FALSE_POSITIVE_COST, TRUE_POSITIVE_REWARD, VARIABLE_COST, ATOM_COST = 100, 1000, 10, 1
MAX_EXPANSIONS = 2_500


def loft(
    demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
) -> LearnedOperators:
    """Learn one or more operators for each set of effects.

    Their preconditions are chosen to hold before few transitions that have other effects.
    """
    encoded = encode_demonstrations((*demonstrations, *replays))
    clusters = cluster_by_effects(encoded, deadline)
    operators: list[EncodedOperatorData] = []
    for cluster in clusters:
        controller = cluster.operator.controller
        others = [one for one in clusters if one is not cluster and one.operator.controller == controller]
        competitors = [transition for one in others for transition, _ in one.data]
        operators += split_by_preconditions(cluster, competitors, deadline)
    return evaluate_by_backchaining(operators, encoded, len(demonstrations), deadline)


def loft_with_replays(
    demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
) -> LearnedOperators:
    """Learn with LOFT, and exclude operators without effects from planning.

    Such operators come from replays in which an action changed no atom. If a controller never changed
    anything, its operator stays, because planning has no other operator for that controller.
    """
    learned = loft(demonstrations, replays, deadline)
    effective = {one.controller for one in learned.operators if one.add_effects or one.delete_effects}
    noop_names = (
        one.name
        for one in learned.operators
        if one.controller in effective and not one.add_effects and not one.delete_effects
    )
    return replace(learned, noop_names=frozenset(noop_names))


def split_by_preconditions(
    cluster: EncodedOperatorData, competitors: Sequence[EncodedTransition], deadline: Deadline = NO_DEADLINE
) -> Iterator[EncodedOperatorData]:
    """Yield the operators of a cluster, each with the transitions before which its preconditions hold.

    `competitors` are the negative examples. Each search for preconditions yields one operator. The searches
    end when all transitions are covered, or when a search covers none. If the first search covers none, the
    cluster is yielded without preconditions.
    """
    operator, data = cluster.operator, cluster.data
    lifted = [liftable_atoms_before(operator, datum) for datum in data]
    predicates: LiftedAtomMap = {key: predicate for one in lifted for key, predicate in one.items()}
    atoms = sorted(predicates)
    held = [sum(1 << index for index, key in enumerate(atoms) if key in one) for one in lifted]
    variables = [sum(1 << index for index in set(indices)) for _, indices in atoms]
    enumerator = AtomSetEnumerator(operator, atoms)
    negatives: list[tuple[int, ...] | None] = []
    new_negatives, remaining = competitors, list(range(len(data)))
    while remaining:
        for transition in new_negatives:
            deadline.check()
            negatives.append(enumerator.maximal_atom_sets(transition))
        positives = [held[index] for index in remaining]
        labelled_examples = LabelledExamples.of(variables, positives, negatives)
        chosen = best_preconditions(labelled_examples, reduce(or_, positives), deadline)
        covered = [index for index in remaining if not chosen & ~held[index]]
        if not covered:
            break
        preconditions = {atoms[index]: predicates[atoms[index]] for index in bits(chosen)}
        yield EncodedOperatorData(
            replace(operator, preconditions=lifted_atoms(operator.parameters, preconditions)),
            tuple(data[index] for index in covered),
        )
        remaining = [index for index in remaining if chosen & ~held[index]]
        new_negatives = [data[index][0] for index in covered]
    if len(remaining) == len(data):
        yield cluster


@dataclass(frozen=True, slots=True)
class LabelledExamples:
    """Positive and negative examples in the search for preconditions, stored as bit masks for each atom.

    A positive example has one known grounding, and thus one set of atoms that hold before it. A negative
    example has many groundings, each with its own set of atoms that hold. Preconditions hold before a
    negative example if at least one of its sets contains all of them. Sets that are contained in another
    set of the example are superfluous, so only the maximal sets are stored.

    These sets are the rows of a table with one column per atom. In a mask of rows, each row has one bit.
    The bits of a negative example's rows are adjacent. The next bit is its separator bit, which stands for
    no row; `_cost` uses it to count the examples before which the preconditions hold.

    Attributes:
        variables: for each atom the mask of the variables it mentions.
        positives: the number of positive examples.
        failed_positives: for each atom the mask of the positive examples before which it does not hold.
        rows: the mask of all rows.
        separator_bits: the mask of the separator bits, one per negative example.
        failed_rows: for each atom the mask of the rows whose set does not contain it.
        always_matched: the number of negative examples with more than `MAX_GROUNDINGS` groundings. They
            have no rows, and always count as false positives.
    """

    variables: tuple[int, ...]
    positives: int
    failed_positives: tuple[int, ...]
    rows: int
    separator_bits: int
    failed_rows: tuple[int, ...]
    always_matched: int

    def __repr__(self) -> str:
        atoms, negatives = len(self.variables), self.separator_bits.bit_count()
        return f"LabelledExamples(atoms={atoms}, positives={self.positives}, negatives={negatives})"

    @classmethod
    def of(
        cls, variables: Sequence[int], positives: Sequence[int], negatives: Sequence[Sequence[int] | None]
    ) -> LabelledExamples:
        """Convert examples to bit masks for each atom.

        A positive example is given by the set of atoms that hold before it. A negative example is given by
        the result of `AtomSetEnumerator.maximal_atom_sets`: a list of sets, or None if the example has too
        many groundings.
        """
        failed_positives, failed_rows = [0] * len(variables), [0] * len(variables)
        for index, held in enumerate(positives):
            for atom in range(len(variables)):
                if not held >> atom & 1:
                    failed_positives[atom] |= 1 << index
        rows = separator_bits = row = 0
        every = (1 << len(variables)) - 1
        for atom_sets in negatives:
            for held in atom_sets or ():
                rows |= 1 << row
                for atom in bits(every & ~held):
                    failed_rows[atom] |= 1 << row
                row += 1
            separator_bits |= 1 << row
            row += 1
        return cls(
            variables=tuple(variables),
            positives=len(positives),
            failed_positives=tuple(failed_positives),
            rows=rows,
            separator_bits=separator_bits,
            failed_rows=tuple(failed_rows),
            always_matched=sum(atom_sets is None for atom_sets in negatives),
        )

    def cost(self, atoms: int) -> float:
        """Return the cost of a set of preconditions; infinite if they hold before no positive example.

        The cost is 100 (FP − 10 TP + 0.1 (distinct variables) + 0.01 (atoms)). TP and FP are the numbers
        of positive and of negative examples before which the preconditions hold.
        """
        unions = (0, 0, 0)
        for atom in bits(atoms):
            unions = self._with(unions, atom)
        return self._cost(*unions, atoms.bit_count())

    def _cost(self, failed_positives: int, failed_rows: int, variables: int, size: int) -> float:
        true_positives = self.positives - failed_positives.bit_count()
        if not true_positives:
            return math.inf
        # A negative example is matched if the set of one of its rows contains all preconditions. The mask
        # of such rows is `rows & ~failed_rows`. In `rows`, the bits of an example are a block of ones. If
        # at least one row of the block is in the mask, the sum of both carries into the separator bit.
        matched = ((self.rows & ~failed_rows) + self.rows) & self.separator_bits
        false_positives = self.always_matched + matched.bit_count()
        return (
            FALSE_POSITIVE_COST * false_positives
            - TRUE_POSITIVE_REWARD * true_positives
            + VARIABLE_COST * variables.bit_count()
            + ATOM_COST * size
        )

    def with_one_atom_removed(self, atoms: int) -> Iterator[tuple[int, float]]:
        """Yield each set that results from removing one of the atoms, with its cost.

        The cost is computed from the unions of the remaining atoms' masks. For speed, each union is
        computed from two others: the union for all atoms before the removed one, and the union for all
        atoms after it.
        """
        members = list(bits(atoms))
        later = [(0, 0, 0)]
        for atom in reversed(members):
            later.append(self._with(later[-1], atom))
        earlier = (0, 0, 0)
        for atom, rest in zip(members, reversed(later[:-1]), strict=True):
            positives, rows, variables = (one | other for one, other in zip(earlier, rest, strict=True))
            yield atoms & ~(1 << atom), self._cost(positives, rows, variables, len(members) - 1)
            earlier = self._with(earlier, atom)

    def _with(self, unions: tuple[int, int, int], atom: int) -> tuple[int, int, int]:
        """Return the three unions (failed positives, failed rows, variables) with one more atom's masks."""
        failed_positives, failed_rows, variables = unions
        return (
            failed_positives | self.failed_positives[atom],
            failed_rows | self.failed_rows[atom],
            variables | self.variables[atom],
        )


def best_preconditions(labelled_examples: LabelledExamples, start: int, deadline: Deadline) -> int:
    """Return the preconditions of lowest cost that a greedy best-first search finds.

    `LabelledExamples.cost` defines the cost; on ties, the first set found is returned. The search begins
    with the set `start`, the atoms that held before at least one positive example, and removes one atom at
    a time. It ends after at most `MAX_EXPANSIONS` expansions. The authors' search also ends after 30
    seconds. Here time never changes the result, so that it is the same on every machine: if the deadline
    passes, there is no result, and `LearningTimeoutError` is raised.
    """
    number = itertools.count()
    best = (labelled_examples.cost(start), next(number), start)
    queue, seen = [best], {start}
    for _ in range(MAX_EXPANSIONS):
        if not queue:
            break
        deadline.check()
        _, _, atoms = heapq.heappop(queue)
        for fewer, cost in labelled_examples.with_one_atom_removed(atoms):
            if fewer not in seen:
                seen.add(fewer)
                found = (cost, next(number), fewer)
                best = min(best, found)
                heapq.heappush(queue, found)
    return best[-1]


class AtomSetEnumerator:
    """Finds the sets of an operator's atoms that hold together before a transition.

    Atoms hold together if one grounding makes all of them true. A set is a mask in which bit i stands for
    `atoms[i]`. Variables that share no atom are bound independently, so sets are enumerated for each group
    of related variables and then combined.
    """

    def __init__(self, operator: Operator, atoms: Sequence[AtomKey]) -> None:
        self._operator = operator
        self._arguments = tuple(map(operator.parameters.index, operator.controller_arguments))
        free = set(range(len(operator.parameters))) - set(self._arguments)
        self._groups = group_by_shared_variables(atoms, free)

    def maximal_atom_sets(self, transition: EncodedTransition) -> tuple[int, ...] | None:
        """Return the maximal sets of atoms that hold together, as masks, or None.

        None means that there are more than `MAX_GROUNDINGS` groundings. The result is empty if there is no
        grounding.
        """
        table, parameters = transition.table, self._operator.parameters
        domains = [list(bits(table.of_type(variable.type))) for variable in parameters]
        for index, number in zip(self._arguments, transition.arguments, strict=True):
            domains[index] = [number] if number in domains[index] else []
        groundings = prod(map(len, domains))
        if not groundings or groundings > MAX_GROUNDINGS:
            return None if groundings else ()
        atom_sets = [0]
        for indices, atoms in self._groups.items():
            bindings = itertools.product(*(domains[index] for index in indices))
            found = {
                _held(atoms, dict(zip(indices, objects, strict=True)), transition) for objects in bindings
            }
            atom_sets = [chosen | other for chosen in atom_sets for other in maximal_masks(found)]
        return tuple(atom_sets)


def group_by_shared_variables(
    atoms: Sequence[AtomKey], free: set[int]
) -> dict[tuple[int, ...], list[tuple[int, AtomKey]]]:
    """Group atoms so that no two groups share a variable in `free`, the indices of unbound variables.

    In the returned dict, each group is a list of atoms with their indices in `atoms`. Its key has the
    sorted indices of all variables that these atoms mention.
    """
    groups: list[tuple[set[int], list[tuple[int, AtomKey]]]] = []
    for number, atom in enumerate(atoms):
        indices, members = set(atom[1]), [(number, atom)]
        for group in [one for one in groups if one[0] & indices & free]:
            groups.remove(group)
            indices, members = indices | group[0], group[1] + members
        groups.append((indices, members))
    merged: dict[tuple[int, ...], list[tuple[int, AtomKey]]] = {}
    for indices, members in groups:
        merged.setdefault(tuple(sorted(indices)), []).extend(members)
    return merged


def _held(
    atoms: Iterable[tuple[int, AtomKey]], binding: Mapping[int, int], transition: EncodedTransition
) -> int:
    held = 0
    for bit, (predicate, indices) in atoms:
        number = transition.table.find((predicate, tuple([binding[index] for index in indices])))
        if number is not None and transition.before >> number & 1:
            held |= 1 << bit
    return held


def maximal_masks(masks: Iterable[int]) -> tuple[int, ...]:
    """Return the masks that are not contained in another mask, in order of decreasing number of bits."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda one: (-one.bit_count(), one)):
        if all(mask & ~other for other in kept):
            kept.append(mask)
    return tuple(kept)
