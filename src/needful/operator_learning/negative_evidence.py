"""Find the evidence for negative preconditions in demonstrations.

A negative precondition is an atom that must not hold before an operator is applied. Four observations are
evidence for one:

- Redundant steps made the atom false. Steps are redundant if all atoms that are necessary after them hold
  already before them. A negative precondition gives such steps a purpose.
- The atom held where an action failed, and never where it succeeded.
- The atom held for other objects that would have been as good as the objects that the demonstrator chose.
- The atom held for other objects in many states in which the operator was applicable (its opportunities;
  see `opportunities`), but never where the demonstrator used the operator. The demonstrator may have
  avoided such objects because the action would fail.
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
from needful.operator_learning.condition_proposals import ENOUGH_BITS, MIN_BITS
from needful.operator_learning.false_claims import MAX_GROUNDINGS
from needful.operator_learning.induction import Datum
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.matching import SKIPPED
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.opportunities import evidence_bits
from needful.operator_learning.partition import FittedOperator

# The maximum number of consecutive steps that are tested together for being redundant.
MAX_REDUNDANT = 6
# Steps may make an atom false although no later operator is bound to all its objects. If redundant steps
# (see `redundant_steps`) do so for a predicate in at least this share of the demonstrations, the predicate
# may occur in negative preconditions.
MANY = 0.25
# A predicate does not occur in negative preconditions if more than this share of the steps that make one of
# its atoms false also make another of its atoms true.
MAX_REPLACED = 0.5
# If a controller makes atoms of a predicate true in at most this share of its uses, this counts as a side
# effect, not as the purpose of the controller.
SIDE = 0.25
# The number of an operator's transitions that are first searched for equally good groundings. If none is
# found, the demonstrator had no choice, and the other transitions are not examined.
SCREENING_TRANSITIONS = 16
# The maximum number of equally good groundings that are examined per transition.
MAX_ALTERNATIVES = 10


def redundant_steps(chain: Backchain) -> Iterator[tuple[int, int]]:
    """Yield redundant groups of consecutive steps; each is given by its first step and its length.

    A group is redundant if all atoms that are necessary after it hold already before it. For each step,
    only the shortest redundant group that ends with this step is yielded. Groups may overlap.
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
    """Return the number of steps that made an atom false and belong to a group from `redundant_steps`."""
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

    A predicate is returned in three cases. In the first two, an atom of the predicate, over the parameters
    of an operator, held before none of the operator's transitions.

    - Redundant steps (see `redundant_steps`) made the atom false before the operator was used. `MIN_BITS`
      of evidence are required.
    - The atom held where an action seems to have failed: no operator explains the step, and the operator
      predicts atoms that do not hold after the step. `ENOUGH_BITS` of evidence are required.
    - Redundant steps made atoms of the predicate false in many demonstrations, and no later operator is
      bound to all objects of these atoms. A later operator may need a parameter for such an object.

    `Opportunities.bits_against` measures the evidence. Predicates for positions and counts are left out: if
    one of their atoms becomes false, another becomes true, so positive preconditions are sufficient.
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
            opportunities = problem.opportunities_of(fitted)
            found |= {
                key[0] for key, enough in required.items() if opportunities.bits_against(key) >= enough
            }
    return frozenset(found - _replaced_predicates(problem) if found else found)


def _failed_steps(hypothesis: Hypothesis) -> set[int]:
    """Return the numbers of the transitions that backchaining skipped; their actions may have failed."""
    return {
        transition.number
        for chain in hypothesis.coverage.chains
        for transition, link in zip(
            chain.demonstration.transitions[chain.uncovered :], chain.links, strict=True
        )
        if link.match is SKIPPED
    }


class _Removals(NamedTuple):
    """The atoms that redundant steps (see `redundant_steps`) made false.

    Attributes:
        named: for the text of each operator, the atoms over its parameters that were made false before the
            operator was used.
        unnamed: for each predicate, the number of demonstrations in which an atom was made false and no
            later operator is bound to all objects of the atom.
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
                table.predicate_of[atom].name
                for atom in bits(removed)
                if not any(set(table.arguments[atom]) <= set(match.objects) for match in used)
            }
        found.unnamed.update(unnamed)
    return found


def _held_at_false_claims(
    fitted: FittedOperator, problem: LearningProblem, failed: Set[int]
) -> set[AtomKey]:
    """Return the atoms over an operator's parameters that held where the operator's prediction was wrong.

    Only the transitions whose numbers are in `failed` are considered.
    """
    found: set[AtomKey] = set()
    if not failed:
        return found
    for number in sorted(failed & problem.validity.of_operator(fitted.operator).keys()):
        transition = problem.transitions.by_number[number]
        groundings = problem.matcher.applicable(fitted.operator, transition)
        for objects in islice(groundings, MAX_GROUNDINGS):
            found |= _keys_over(transition.before, transition.table, objects)
    return found


def _keys_over(atoms: int, table: AtomTable, objects: Sequence[int]) -> set[AtomKey]:
    """Return the keys of the atoms of a mask that mention only the given objects.

    In a key, an object is replaced by its index in `objects`.
    """
    index_of = {number: index for index, number in enumerate(objects)}
    return {
        (table.predicate_of[atom].name, tuple(index_of[number] for number in table.arguments[atom]))
        for atom in bits(atoms)
        if all(number in index_of for number in table.arguments[atom])
    }


def rejected_predicates(hypothesis: Hypothesis, problem: LearningProblem) -> frozenset[str]:
    """Return the predicates that may explain why the demonstrator rejected other, equally good objects.

    If an item may be put on any shelf, and the demonstrator never chooses an occupied shelf, this is
    evidence that the shelf must not be occupied. To be returned, a predicate must have an atom that holds
    for other choices, and never for the chosen objects. `ENOUGH_BITS` of evidence are required for a single
    candidate atom, and log2 n bits more if there are n of them.
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
    """Return, by index of demonstration, the groundings that would have been as good as the one used.

    A grounding is as good if it is applicable, has the same objects in the add effects, and predicts all
    necessary atoms. The groundings that were used are included. Transitions that add nothing necessary are
    left out. The result is empty if the add effects mention all arguments of the controller, or if there is
    no other grounding for the first `SCREENING_TRANSITIONS` transitions.
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
    """Return the evidence that an atom must not hold, in bits, summed over the demonstrations.

    `alternatives` contains the groundings that the demonstrator could have chosen, by demonstration.
    """
    return sum(
        evidence_bits(sum(not _held(key, datum) for datum in data), len(data))
        for data in alternatives.values()
    )


def _replaced_predicates(problem: LearningProblem) -> frozenset[str]:
    """Return the predicates whose atoms are replaced, such as those for positions and counts.

    If a step makes an atom of such a predicate false, it usually makes another atom of the predicate true.
    """
    removals, replacements = Counter[str](), Counter[str]()
    for transition in problem.transitions.by_number:
        predicate_of = transition.table.predicate_of
        added = {predicate_of[atom].name for atom in bits(transition.added)}
        deleted = {predicate_of[atom].name for atom in bits(transition.deleted)}
        removals.update(deleted)
        replacements.update(deleted & added)
    return frozenset(name for name in removals if replacements[name] > MAX_REPLACED * removals[name])


def _never_held(key: AtomKey, data: Sequence[Datum]) -> bool:
    return not any(_held(key, datum) for datum in data)


def _held(key: AtomKey, datum: Datum) -> bool:
    transition, objects = datum
    return bool(transition.table.ground((key,), objects) & transition.before)


def avoidable_predicates(
    hypothesis: Hypothesis, problem: LearningProblem, negated: Set[str] = frozenset()
) -> list[Predicate]:
    """Return the predicates of atoms that the demonstrator may have avoided on purpose.

    They occur in no goal and no precondition, and no controller often makes their atoms true. The known
    predicates whose names are in `negated` are always returned.
    """
    known: dict[str, Predicate] = {}
    excluded = {atom.predicate.name for one in hypothesis.fitted for atom in one.operator.preconditions}
    uses, adding = Counter[str](), Counter[tuple[str, str]]()
    for demonstration in problem.demonstrations:
        table = demonstration.table
        predicates = table.predicates()
        for transition in demonstration.transitions:
            controller = transition.controller.name
            uses[controller] += 1
            for name in {table.predicate_of[atom].name for atom in bits(transition.added)}:
                adding[controller, name] += 1
        excluded |= {table.predicate_of[atom].name for atom in bits(demonstration.goal)}
        if not predicates.keys() <= known.keys():
            known |= predicates
    excluded |= {name for (controller, name), count in adding.items() if count > SIDE * uses[controller]}
    return [predicate for name, predicate in sorted(known.items()) if name not in excluded - negated]


def forbid_avoided_atoms(
    fitted: FittedOperator, avoidable: Sequence[Predicate], problem: LearningProblem
) -> Operator:
    """Return the operator with negative preconditions for atoms that the demonstrator always avoided.

    For example, a robot that cannot clear blocked rooms walks around them, so the operator that enters a
    room gets the negative precondition Blocked. Only the predicates in `avoidable` are considered, because
    the demonstrator may also avoid atoms out of habit: if one visit is enough, it avoids visited rooms.
    `ENOUGH_BITS` of evidence are required for a single candidate atom, and log2 n bits more for n atoms.
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
        opportunities = problem.opportunities_of(replace(fitted, operator=operator))
        evidence = {key: opportunities.bits_against(key) for key in keys}
        best = min(keys, key=lambda key: (-evidence[key], key))
        if evidence[best] < enough:
            break
        negative = operator.negative_preconditions | {keys.pop(best)}
        operator = replace(operator, negative_preconditions=negative)
    return operator
