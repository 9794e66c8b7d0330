"""Preconditions on objects that the controller does not name.

A controller `load(package, truck)` does not name the place where both must be. The parameters of an
operator come from the controller's arguments and the necessary add effects, so the operator could not
require that place. This module finds such conditions and gives the operator a new parameter for the object.

A condition is a set of atoms about one or two unnamed objects and the operator's parameters. It must have
held before every transition of the operator. That alone is weak evidence, because many conditions hold
everywhere. A condition is required if one of these holds too:

- The action consumed it: in every transition, the action made exactly one atom of the condition false.
- It is informative: where the operator was applicable but not used, the condition often did not hold. The
  evidence is measured in bits: -log2 of the share of opportunities at which the condition held, added up
  over the demonstrations.
- It removes false claims; see `validity`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from needful.abstraction.atom_table import AtomKey, bits
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.objects import Type, Variable
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.induction import Datum, LiftedAtomMap, lifted_atoms
from needful.operator_learning.learning_problem import Hypothesis, LearningProblem
from needful.operator_learning.partition import FittedOperator

Resume: TypeAlias = Callable[[Climb, LearningProblem], Climb]

# The evidence from which a condition counts as informative: odds of 1 to 256 against chance.
ENOUGH_BITS = 8.0
# Groundings of an operator that are examined as opportunities in one state.
MAX_OPPORTUNITIES = 100
# Conditions of one operator that are examined.
MAX_CONDITIONS = 30


@dataclass(frozen=True, slots=True)
class Condition:
    """Atoms about unnamed objects that held before every transition of an operator.

    Attributes:
        atoms: the lifted atoms by key. Indices below the operator's arity stand for its parameters, the
            others for the unnamed objects, in order.
        types: the types of the unnamed objects.
        objects: for each transition of the operator, the numbers of the unnamed objects.
        bits: the evidence for the condition.
    """

    atoms: frozenset[AtomKey]
    types: tuple[Type, ...]
    objects: tuple[tuple[int, ...], ...]
    bits: float = 0.0


def conditions_on_unnamed_objects(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Give operators parameters for unnamed objects, until no condition on such an object is required.

    After each new parameter, `resume` continues hill climbing, because the new precondition may make
    further effects necessary. A condition is rejected if the result covers fewer transitions or makes more
    false claims.
    """
    rejected: set[tuple[str, frozenset[AtomKey]]] = set()
    while True:
        for name, fitted, condition in _proposals(climb.hypothesis, problem):
            key = (fitted.operator.text, condition.atoms)
            if key in rejected:
                continue
            reached = _required(fitted, condition, climb, problem, resume)
            if reached is not None and _accepted(name, condition, climb.hypothesis, reached.hypothesis, problem):
                climb = reached
                break
            rejected.add(key)
        else:
            return climb


def _proposals(
    hypothesis: Hypothesis, problem: LearningProblem
) -> list[tuple[str, FittedOperator, Condition]]:
    """Return the conditions to try, each with its operator and the reason for it, the best first."""
    found: list[tuple[str, FittedOperator, Condition]] = []
    for fitted in hypothesis.fitted:
        consumed = consumed_conditions(fitted)
        found += [("consume", fitted, condition) for condition in consumed]
        opportunities = _opportunities(fitted, problem)
        for condition in shared_conditions(fitted):
            rated = replace(condition, bits=_evidence(condition, fitted, opportunities))
            if rated.bits >= ENOUGH_BITS or problem.validity.of_operator(fitted.operator):
                found.append(("inform", fitted, rated))
    return sorted(found, key=lambda one: (one[0] != "consume", -one[2].bits, one[1].operator.text, sorted(one[2].atoms)))


def _accepted(
    name: str, condition: Condition, old: Hypothesis, new: Hypothesis, problem: LearningProblem
) -> bool:
    claims, earlier = problem.false_claims(new), problem.false_claims(old)
    if new.coverage.uncovered > old.coverage.uncovered:
        return False
    if name == "consume" or condition.bits >= ENOUGH_BITS:
        return True
    return claims < earlier


def _required(
    fitted: FittedOperator, condition: Condition, climb: Climb, problem: LearningProblem, resume: Resume
) -> Climb | None:
    """Replace an operator by a copy that requires a condition, and continue hill climbing."""
    rest = [one.candidate for one in climb.hypothesis.fitted if one is not fitted]
    candidate = require(fitted, condition)
    reached = problem.fit([*rest, candidate], climb.hypothesis)
    now = [one.operator for one in reached.fitted if one.candidate.text == candidate.text]
    if problem.validity.count(now) > problem.validity.count([fitted.operator]):
        return None
    return resume(climb.add_step("require", reached), problem)


def require(fitted: FittedOperator, condition: Condition) -> Candidate:
    """Return the candidate of an operator, with new parameters for the objects of a condition."""
    candidate, arity = fitted.candidate, len(fitted.operator.parameters)
    fresh = tuple(Variable(f"?n{arity + i}", kind) for i, kind in enumerate(condition.types))
    parameters = (*candidate.operator.parameters, *fresh)
    predicates = {
        atom.predicate.name: atom.predicate
        for transition, _ in fitted.data[:1]
        for atom in transition.table.atoms
    }
    lifted: LiftedAtomMap = {key: predicates[key[0]] for key in condition.atoms}
    operator = replace(
        candidate.operator,
        parameters=parameters,
        preconditions=candidate.operator.preconditions | lifted_atoms(parameters, lifted),
        delete_patterns=frozenset(),
    )
    hints = dict(candidate.hints)
    for (transition, _), objects in zip(fitted.data, condition.objects, strict=True):
        identity = transition.transition_id
        hints[identity] = {**hints.get(identity, {}), **dict(zip(fresh, objects, strict=True))}
    return canonical_candidate(operator, hints, candidate.pinned)


def consumed_conditions(fitted: FittedOperator) -> list[Condition]:
    """Return the conditions on one unnamed object that every transition of an operator made false."""
    per_datum = [_consumed(datum) for datum in fitted.data]
    common = set(per_datum[0]).intersection(*per_datum[1:])
    found: dict[tuple[int, ...], Condition] = {}
    for key in sorted(common):
        objects = tuple(one[key] for one in per_datum)
        if objects in found:
            continue
        atoms = frozenset.intersection(
            *(_signatures(datum)[number] for datum, number in zip(fitted.data, objects, strict=True))
        )
        condition = _condition(fitted, atoms, [(number,) for number in objects])
        if condition is not None and key in condition.atoms:
            found[objects] = condition
    return list(found.values())


def _consumed(datum: Datum) -> dict[AtomKey, int]:
    """Return the atoms about one unnamed object that a transition made false, each with this object.

    Atoms that became false for several unnamed objects are left out.
    """
    transition, objects = datum
    found: dict[AtomKey, int] = {}
    several: set[AtomKey] = set()
    for number, key in _unnamed_atoms(transition, objects, transition.deleted):
        if key in found:
            several.add(key)
        found[key] = number
    return {key: number for key, number in found.items() if key not in several}


def shared_conditions(fitted: FittedOperator) -> list[Condition]:
    """Return the largest conditions on one or two unnamed objects that held before every transition."""
    found: list[Condition] = []
    for one in _shared(fitted.data):
        condition = _condition(fitted, one, _witnesses(fitted.data, one))
        if condition is None:
            continue
        found.append(condition)
        extended = [
            (transition, (*objects, *numbers))
            for (transition, objects), numbers in zip(fitted.data, condition.objects, strict=True)
        ]
        for two in _shared(extended):
            if any(len(fitted.operator.parameters) in indices for _, indices in two):
                pairs = [
                    (*first, *second)
                    for first, second in zip(condition.objects, _witnesses(extended, two), strict=True)
                ]
                joint = _condition(fitted, one | two, pairs)
                if joint is not None:
                    found.append(joint)
    return found[:MAX_CONDITIONS]


def _shared(data: Sequence[Datum]) -> list[frozenset[AtomKey]]:
    """Return the maximal sets of atoms that some unnamed object satisfied before each transition."""
    found = _maximal(_signatures(data[0]).values())
    for datum in data[1:]:
        if not found:
            break
        signatures = set(_signatures(datum).values())
        found = _maximal(one & other for one in found for other in signatures)
    return found


def _maximal(sets: Iterable[frozenset[AtomKey]]) -> list[frozenset[AtomKey]]:
    found: list[frozenset[AtomKey]] = []
    for one in sorted(set(sets), key=lambda one: (-len(one), sorted(one))):
        if one and not any(one <= other for other in found):
            found.append(one)
    return found[:MAX_CONDITIONS]


def _witnesses(data: Sequence[Datum], atoms: frozenset[AtomKey]) -> list[tuple[int, ...]]:
    """Return the first unnamed object that satisfies the atoms before each transition."""
    return [
        (next(number for number, one in sorted(_signatures(datum).items()) if atoms <= one),)
        for datum in data
    ]


def _signatures(datum: Datum) -> dict[int, frozenset[AtomKey]]:
    """Return, for each unnamed object, the atoms about it and named objects that held before."""
    transition, objects = datum
    found: dict[int, set[AtomKey]] = {}
    for number, key in _unnamed_atoms(transition, objects, transition.before):
        found.setdefault(number, set()).add(key)
    return {number: frozenset(keys) for number, keys in found.items()}


def _unnamed_atoms(
    transition: EncodedTransition, objects: Sequence[int], atoms: int
) -> Iterator[tuple[int, AtomKey]]:
    """Yield the atoms with exactly one unnamed object: its number, and the lifted atom's key.

    The index of the unnamed object in the key is the number of named objects.
    """
    table, arity = transition.table, len(objects)
    index_of = {number: index for index, number in enumerate(objects)}
    for atom in bits(atoms):
        arguments = table.arguments[atom]
        unnamed = {number for number in arguments if number not in index_of}
        if len(unnamed) == 1:
            indices = tuple([index_of.get(number, arity) for number in arguments])
            yield unnamed.pop(), (table.atoms[atom].predicate.name, indices)


def _condition(
    fitted: FittedOperator, atoms: frozenset[AtomKey], objects: Sequence[tuple[int, ...]]
) -> Condition | None:
    """Return the condition with the narrowest types; None if no atom can be stated about these types."""
    arity = len(fitted.operator.parameters)
    types: list[Type] = []
    for column in zip(*objects, strict=True):
        kinds = [t.table.objects[number].type for (t, _), number in zip(fitted.data, column, strict=True)]
        common: Type | None = kinds[0]
        for kind in dict.fromkeys(kinds):
            common = None if common is None else common.nearest_common_ancestor(kind)
        if common is None:
            return None
        types.append(common)
    all_types = [*(variable.type for variable in fitted.operator.parameters), *types]
    predicates = {atom.predicate.name: atom.predicate for atom in fitted.data[0][0].table.atoms}
    fitting = frozenset(
        (name, indices)
        for name, indices in atoms
        if all(
            all_types[index].is_subtype_of(kind)
            for index, kind in zip(indices, predicates[name].types, strict=True)
        )
    )
    mentioned = {index for _, indices in fitting for index in indices}
    if not set(range(arity, len(all_types))) <= mentioned:
        return None
    return Condition(fitting, tuple(types), tuple(objects))


def _opportunities(fitted: FittedOperator, problem: LearningProblem) -> list[list[Datum]]:
    """Return, for each demonstration, the groundings that were applicable in its states.

    Groundings whose add effects hold already are left out.
    """
    operator = fitted.operator
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    needs = [(a.predicate.name, tuple(index_of[v] for v in a.variables)) for a in sorted(operator.preconditions)]
    adds = [(a.predicate.name, tuple(index_of[v] for v in a.variables)) for a in sorted(operator.add_effects)]
    used = {transition.demonstration for transition, _ in fitted.data}
    found: list[list[Datum]] = []
    for demonstration in problem.demonstrations:
        if demonstration.index in used:
            found.append(list(_applicable(demonstration, operator.parameters, needs, adds)))
    return found


def _applicable(
    demonstration: EncodedDemonstration,
    parameters: Sequence[Variable],
    needs: Sequence[AtomKey],
    adds: Sequence[AtomKey],
) -> Iterator[Datum]:
    table = demonstration.table
    domains = [table.of_type(variable.type) for variable in parameters]
    for transition in demonstration.transitions:
        constraints = [Constraint(name, variables, transition.before) for name, variables in needs]
        groundings = join(table, constraints, domains, [UNBOUND] * len(domains))
        for objects in islice(groundings, MAX_OPPORTUNITIES):
            held = (table.ground(adds, objects) & transition.before).bit_count()
            if not adds or held < len(adds):
                yield transition, objects


def _evidence(
    condition: Condition, fitted: FittedOperator, opportunities: Sequence[Sequence[Datum]]
) -> float:
    """Return the evidence for a condition in bits, added up over the demonstrations."""
    arity, total = len(fitted.operator.parameters), 0.0
    for data in opportunities:
        held = sum(_holds(condition, arity, datum) for datum in data)
        total -= math.log2((held + 1) / (len(data) + 1))
    return total


def _holds(condition: Condition, arity: int, datum: Datum) -> bool:
    """Return whether some objects satisfy a condition; unlike in a grounding, they may be named objects."""
    transition, objects = datum
    table = transition.table

    def satisfiable(bound: tuple[int, ...]) -> bool:
        known = [key for key in condition.atoms if max(key[1], default=0) < len(bound)]
        if (table.ground(known, bound) & transition.before).bit_count() < len(known):
            return False
        index = len(bound) - arity
        if index == len(condition.types):
            return True
        return any(satisfiable((*bound, number)) for number in bits(table.of_type(condition.types[index])))

    return satisfiable(objects)


def named_objects_only(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Return the climb unchanged: operators have no parameters for unnamed objects, as in the paper."""
    return climb
