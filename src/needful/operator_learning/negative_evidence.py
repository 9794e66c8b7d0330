"""Find the evidence for negative preconditions in demonstrations.

Three observations are evidence that an atom must not hold before an operator is applied:

- Redundant steps made the atom false. Without the negative condition they have no purpose: the state before
  them already satisfies everything that is necessary after them.
- The atom held where an action failed.
- The atom held for other groundings that would have been as good as the one that was used, or for many
  other opportunities; see `opportunities`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice, permutations
from typing import NamedTuple

from needful.abstraction.atom_table import AtomKey, AtomTable, bits, lifted_key
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import Predicate
from needful.core.operators import Operator
from needful.operator_learning.backchaining import Backchain, Coverage
from needful.operator_learning.false_claims import MAX_GROUNDINGS
from needful.operator_learning.induction import Datum
from needful.operator_learning.learning_problem import Hypothesis, LearningProblem
from needful.operator_learning.matching import SKIPPED
from needful.operator_learning.opportunities import Opportunities, evidence_bits
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.unnamed_objects import ENOUGH_BITS, MIN_BITS

# Redundant steps are looked for in groups of at most this size.
MAX_REDUNDANT = 6
# The share of demonstrations in which redundant steps must make atoms about unnamed objects false.
MANY = 0.25
# If more than this share of the steps that make an atom of a predicate false also make another atom of it
# true, the predicate is not negated.
MAX_REPLACED = 0.5
# An operator offers no choice if it has no other grounding at its first transitions; this is their number.
SCREENING_TRANSITIONS = 16
# The number of equally good groundings that are examined per transition.
MAX_ALTERNATIVES = 10


def redundant_steps(chain: Backchain) -> Iterator[tuple[int, int]]:
    """Yield the shortest groups of steps that a demonstration did not need, by their first step and length.

    The state before the group satisfies everything that is necessary after it. Groups may overlap.
    """
    transitions = chain.demonstration.transitions
    for end in range(chain.uncovered + 1, len(transitions) + 1):
        necessary = chain.necessary[end]
        assert necessary is not None
        for length in range(1, min(end, MAX_REDUNDANT) + 1):
            if not necessary & ~transitions[end - length].before:
                yield end - length, length
                break


def count_redundant_steps(coverage: Coverage) -> int:
    """Return the number of steps that are in a redundant group and made an atom false."""
    return sum(
        len(
            {
                step
                for first, length in redundant_steps(chain)
                for step in range(first, first + length)
                if chain.demonstration.transitions[step].deleted
            }
        )
        for chain in coverage.chains
    )


def predicates_to_negate(hypothesis: Hypothesis, problem: LearningProblem) -> frozenset[str]:
    """Return the names of the predicates that may occur in negative preconditions.

    An atom over the parameters of an operator is a candidate if it held before none of the operator's
    transitions, and one of two things happened: redundant steps made it false before the operator was used,
    or it held where the operator made a false claim and no operator explains the step, as if the action
    failed. The evidence is measured as for conditions on unnamed objects. In the first case `MIN_BITS` are
    required, in the second `ENOUGH_BITS`. A predicate is also negated if redundant steps made its atoms
    false in many demonstrations, and no operator has the objects: the condition may be about an unnamed
    object.

    Positions and counts are left out: their atoms are replaced by others of the same predicate, and
    positive conditions describe them.
    """
    removed = _removed_by_redundant_steps(hypothesis)
    many = max(ENOUGH_BITS, MANY * len(problem.demonstrations))
    found = {name for name, count in removed.unnamed.items() if count >= many}
    failed = _failed_steps(hypothesis)
    for fitted in hypothesis.fitted:
        required = dict.fromkeys(_held_at_false_claims(fitted, problem, failed), ENOUGH_BITS)
        required |= dict.fromkeys(removed.named.get(fitted.operator.text, ()), MIN_BITS)
        required = {key: enough for key, enough in required.items() if _never_held(key, fitted.data)}
        if required:
            opportunities = opportunities_of(fitted, problem)
            found |= {
                key[0] for key, enough in required.items() if opportunities.bits_against(key) >= enough
            }
    return frozenset(found - _replaced_predicates(problem) if found else found)


def _failed_steps(hypothesis: Hypothesis) -> set[int]:
    """Return the numbers of the transitions that backchaining skipped."""
    return {
        transition.number
        for chain in hypothesis.coverage.chains
        for transition, link in zip(
            chain.demonstration.transitions[chain.uncovered :], chain.links, strict=True
        )
        if link.match is SKIPPED
    }


class _Removals(NamedTuple):
    """The atoms that redundant steps made false.

    Attributes:
        named: by the text of an operator, the atoms about its objects that were made false before its use.
        unnamed: for each predicate, the number of demonstrations with an atom that was made false and
            whose objects no later operator has together.
    """

    named: dict[str, set[AtomKey]]
    unnamed: Counter[str]


def _removed_by_redundant_steps(hypothesis: Hypothesis) -> _Removals:
    found = _Removals({}, Counter())
    for chain in hypothesis.coverage.chains:
        table, transitions = chain.demonstration.table, chain.demonstration.transitions
        unnamed: set[str] = set()
        for first, length in redundant_steps(chain):
            removed = transitions[first].before & ~transitions[first + length - 1].after
            if not removed:
                continue
            later = [one.match for one in chain.links[first + length - chain.uncovered :]]
            used = [match for match in later if match is not SKIPPED]
            for match in used:
                keys = _keys_over(removed, table, match.objects)
                found.named.setdefault(match.text, set()).update(keys)
            unnamed |= {
                table.atoms[atom].predicate.name
                for atom in bits(removed)
                if not any(set(table.arguments[atom]) <= set(match.objects) for match in used)
            }
        found.unnamed.update(unnamed)
    return found


def _held_at_false_claims(
    fitted: FittedOperator, problem: LearningProblem, failed: Set[int]
) -> set[AtomKey]:
    """Return the atoms over an operator's parameters that held where it made a false claim.

    Only the transitions whose numbers are in `failed` are considered.
    """
    found: set[AtomKey] = set()
    for number in sorted(failed & problem.validity.of_operator(fitted.operator).keys()):
        transition = problem.transitions.by_number[number]
        groundings = problem.matcher.applicable(fitted.operator, transition)
        for objects in islice(groundings, MAX_GROUNDINGS):
            found |= _keys_over(transition.before, transition.table, objects)
    return found


def _keys_over(atoms: int, table: AtomTable, objects: Sequence[int]) -> set[AtomKey]:
    """Return the atoms of a mask that are about the given objects only, with indices for the objects."""
    index_of = {number: index for index, number in enumerate(objects)}
    return {
        (table.atoms[atom].predicate.name, tuple(index_of[number] for number in table.arguments[atom]))
        for atom in bits(atoms)
        if all(number in index_of for number in table.arguments[atom])
    }


def rejected_predicates(hypothesis: Hypothesis, problem: LearningProblem) -> frozenset[str]:
    """Return the predicates that may explain why the demonstrator rejected equally good groundings.

    If an item may be put on any shelf, and the demonstrator never chooses an occupied one, this is evidence
    that the shelf must not be occupied. The atom must hold for none of the groundings that were used.
    `ENOUGH_BITS` are required, and more if there are several atoms to choose from.
    """
    found: set[str] = set()
    for fitted in hypothesis.fitted:
        alternatives = _equally_good_groundings(fitted, hypothesis.coverage, problem)
        keys = {
            key
            for data in alternatives.values()
            for transition, objects in data
            for key in _keys_over(transition.before, transition.table, objects)
            if key[0] not in found
        }
        keys = {key for key in keys if _never_held(key, fitted.data)}
        enough = ENOUGH_BITS + math.log2(len(keys) or 1)
        found |= {key[0] for key in keys if _evidence_against(key, alternatives) >= enough}
    return frozenset(found - _replaced_predicates(problem) if found else found)


def _equally_good_groundings(
    fitted: FittedOperator, coverage: Coverage, problem: LearningProblem
) -> dict[int, list[Datum]]:
    """Return the groundings that an operator's transitions could have used, by demonstration.

    They have the same objects in the add effects, and all necessary atoms hold afterwards. Transitions that
    add nothing necessary are left out. The result contains the groundings that were used. It is empty if
    the add effects mention all arguments of the controller, or if the first transitions offer no choice.
    """
    operator, parameters = fitted.operator, fitted.operator.parameters
    fixed = {variable for atom in operator.add_effects for variable in atom.variables}
    if fixed.issuperset(operator.controller_arguments):
        return {}
    index_of = {variable: index for index, variable in enumerate(parameters)}
    needs = [lifted_key(atom, index_of) for atom in sorted(operator.preconditions)]
    found: dict[int, list[Datum]] = {}
    count = 0
    for transition, objects in fitted.data:
        necessary = coverage.necessary_after(transition)
        if necessary is None or not necessary & ~transition.before:
            continue
        if count == SCREENING_TRANSITIONS and sum(map(len, found.values())) == count:
            return {}
        count += 1
        table = transition.table
        constraints = [Constraint(name, variables, transition.before) for name, variables in needs]
        domains = [table.of_type(variable.type) for variable in parameters]
        binding = [
            number if variable in fixed else UNBOUND
            for variable, number in zip(parameters, objects, strict=True)
        ]
        found.setdefault(transition.demonstration, []).extend(
            (transition, other)
            for other in islice(join(table, constraints, domains, binding), MAX_ALTERNATIVES)
            if not necessary & ~problem.matcher.predict(operator, transition, other)
        )
    return found


def _evidence_against(key: AtomKey, alternatives: Mapping[int, Sequence[Datum]]) -> float:
    """Return the evidence that an atom must not hold, in bits, added up over the demonstrations."""
    return sum(
        evidence_bits(sum(not _held(key, datum) for datum in data), len(data))
        for data in alternatives.values()
    )


def _replaced_predicates(problem: LearningProblem) -> frozenset[str]:
    """Return the predicates of which most steps that make an atom false make another atom true."""
    removals, replacements = Counter[str](), Counter[str]()
    for transition in problem.transitions.by_number:
        atoms = transition.table.atoms
        added = {atoms[atom].predicate.name for atom in bits(transition.added)}
        deleted = {atoms[atom].predicate.name for atom in bits(transition.deleted)}
        removals.update(deleted)
        replacements.update(deleted & added)
    return frozenset(name for name in removals if replacements[name] > MAX_REPLACED * removals[name])


def _never_held(key: AtomKey, data: Sequence[Datum]) -> bool:
    return not any(_held(key, datum) for datum in data)


def _held(key: AtomKey, datum: Datum) -> bool:
    transition, objects = datum
    return bool(transition.table.ground((key,), objects) & transition.before)


def opportunities_of(fitted: FittedOperator, problem: LearningProblem) -> Opportunities:
    """Return the opportunities of an operator in the demonstrations that use it."""
    used = {transition.demonstration for transition, _ in fitted.data}
    return Opportunities(fitted, [one for one in problem.demonstrations if one.index in used])


def avoidable_predicates(hypothesis: Hypothesis, problem: LearningProblem) -> list[Predicate]:
    """Return the predicates that no step makes true, and that neither a goal nor a precondition needs."""
    known: dict[str, Predicate] = {}
    excluded = {atom.predicate.name for one in hypothesis.fitted for atom in one.operator.preconditions}
    for demonstration in problem.demonstrations:
        table, changed = demonstration.table, demonstration.goal
        for transition in demonstration.transitions:
            changed |= transition.added
        excluded |= {table.atoms[atom].predicate.name for atom in bits(changed)}
        known |= {atom.predicate.name: atom.predicate for atom in table.atoms}
    return [predicate for name, predicate in sorted(known.items()) if name not in excluded]


def forbid_avoided_atoms(
    fitted: FittedOperator, avoidable: Sequence[Predicate], problem: LearningProblem
) -> Operator:
    """Return an operator with negative preconditions that the demonstrator never had to establish.

    For example, a robot that cannot clear blocked rooms walks around them. The predicates must be
    `avoidable`, because the demonstrator may also avoid things out of habit: it does not touch what is
    finished. `ENOUGH_BITS` are required, and more if there are several atoms to choose from.
    """
    operator, parameters = fitted.operator, fitted.operator.parameters
    keys = {
        (predicate.name, indices): predicate.lifted(*(parameters[index] for index in indices))
        for predicate in avoidable
        for indices in permutations(range(len(parameters)), len(predicate.types))
        if predicate.fits([parameters[index] for index in indices])
    }
    keys = {key: atom for key, atom in keys.items() if _never_held(key, fitted.data)}
    enough = ENOUGH_BITS + math.log2(len(keys)) if keys else 0.0
    while keys:
        opportunities = opportunities_of(replace(fitted, operator=operator), problem)
        evidence = {key: opportunities.bits_against(key) for key in keys}
        best = min(keys, key=lambda key: (-evidence[key], key))
        if evidence[best] < enough:
            break
        negative = operator.negative_preconditions | {keys.pop(best)}
        operator = replace(operator, negative_preconditions=negative)
    return operator
