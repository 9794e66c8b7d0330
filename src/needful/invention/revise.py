"""Revise a set of invented predicates: move a bound, add a proposal, or leave a part out.

Some relations have several parts. A satellite sees an object if it is near, turned to it, and nothing is in
the way. If each part were a predicate of its own, actions could make any combination of them true or false,
and the learner would need one operator per combination. So a proposal can be combined with predicates that
the operator needs for the same objects. The result is one predicate, a conjunction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from needful.core.atoms import Predicate
from needful.core.definitions import AnyDefinition, Conjunction, Definition, defined_predicate
from needful.core.objects import Type
from needful.core.operators import Operator
from needful.invention.proposals import (
    MOST,
    SLACK,
    Proposal,
    UseFeatures,
    evidence_of,
    fit_bound,
    shared_limit,
    spread_of,
)
from needful.invention.scoring import Scorer

# The uses of an operator in two groups: those in which its effects came true, and the others.
Uses: TypeAlias = tuple[UseFeatures, UseFeatures]
Part: TypeAlias = tuple[Definition, tuple[int, ...]]


def add_proposal(
    predicates: Sequence[Predicate],
    proposal: Proposal,
    scorer: Scorer,
    operator: Operator,
    usual: bool = True,
) -> tuple[Predicate, ...]:
    """Return the predicates with a proposal for an operator added to them.

    First case: exactly one predicate (or part of one) differs from the proposal only in the bound.

    - If the operator needs this predicate for the same objects, the predicate gets the proposal's bound.
    - Otherwise, the proposal becomes a second predicate, because operators can need different bounds: the
      distances for grasping and for placing may differ.
    - If `usual` is False, the two results are exchanged.

    Second case: there is no such predicate, or there are several. If `usual` is True, the proposal is
    combined with the predicates that the operator needs for the same objects. The result is a conjunction.
    The proposal must have at least two arguments. The proposal and the predicates must change during
    demonstrations; other predicates are not combined.

    In all other cases, the proposal becomes a predicate of its own.
    """
    new = proposal.definition
    same = [
        (one, part)
        for one in predicates
        for part, _ in _definition(one).parts
        if part.without_bound == new.without_bound
    ]
    needed = list(_needed(predicates, operator, proposal.variables))
    if len(same) == 1:
        (one, part), needs = same[0], {predicate for predicate, _ in needed}
        if (one in needs) == usual:
            return tuple(replace_parts(other, {part: new}) for other in predicates)
    elif usual and len(new.arguments) > 1 and scorer.abstractor.changes(new):
        partners = [
            (one, arguments) for one, arguments in needed if scorer.abstractor.changes(_definition(one))
        ]
        merged = _conjunction(partners, proposal) if partners else None
        if merged is not None:
            old = {one for one, _ in partners}
            return (*(one for one in predicates if one not in old), defined_predicate(merged))
    added = defined_predicate(new)
    return tuple(predicates) if added in predicates else (*predicates, added)


def _needed(
    predicates: Sequence[Predicate], operator: Operator, variables: tuple[int, ...]
) -> Iterator[tuple[Predicate, tuple[int, ...]]]:
    """Yield the predicates that an operator requires of the parameters with the indices `variables`.

    Each predicate is yielded with these indices, in the order of its arguments. The operator's
    preconditions are compared with the predicates part by part and without bounds: since the operator was
    learned, bounds may have moved, and parts may have been added to a predicate.
    """
    needed = {
        (part.without_bound, tuple(operator.parameters.index(atom.variables[p]) for p in positions))
        for atom in operator.preconditions
        if atom.predicate.definition is not None
        for part, positions in atom.predicate.definition.parts
    }
    for one in predicates:
        for arguments in itertools.permutations(sorted(variables)):
            if len(arguments) == len(one.types) and any(
                (part.without_bound, tuple(arguments[p] for p in positions)) in needed
                for part, positions in _definition(one).parts
            ):
                yield one, arguments


def _conjunction(
    partners: Sequence[tuple[Predicate, tuple[int, ...]]], proposal: Proposal
) -> Conjunction | None:
    """Return the conjunction of a proposal and predicates; None if types of arguments do not match."""
    order = sorted(proposal.variables)
    parts: list[Part] = []
    for one, arguments in partners:
        places = [order.index(argument) for argument in arguments]
        for part, positions in _definition(one).parts:
            parts.append((part, tuple(places[position] for position in positions)))
    parts.append((proposal.definition, tuple(order.index(one) for one in proposal.variables)))
    types: dict[int, Type] = {}
    for part, positions in parts:
        for position, kind in zip(positions, part.arguments, strict=True):
            if types.setdefault(position, kind) != kind:
                return None
    return Conjunction(tuple(types[position] for position in range(len(order))), tuple(sorted(set(parts))))


def without_part(predicates: Sequence[Predicate], left_out: Definition) -> tuple[Predicate, ...]:
    """Return the predicates without the comparison `left_out`; conjunctions lose only this part."""
    found: list[Predicate] = []
    for one in predicates:
        definition = _definition(one)
        kept = tuple(part for part in definition.parts if part[0] != left_out)
        if len(kept) == len(definition.parts):
            found.append(one)
        elif len(kept) == 1:
            found.append(defined_predicate(kept[0][0]))
        elif kept:
            found.append(defined_predicate(Conjunction(definition.arguments, kept)))
    return tuple(found)


def refit(predicate: Predicate, operators: Sequence[Operator], uses: Mapping[str, Uses]) -> Predicate:
    """Return the predicate with bounds that are fitted to the known uses of operators.

    For the operators that need the predicate, the bounds separate uses with the predicted effects from
    uses without them.
    """
    needing = [
        (operator, atom)
        for operator in operators
        for atom in sorted(operator.preconditions)
        if atom.predicate == predicate
    ]
    known = [(operator, uses[operator.name][0]) for operator in operators]
    moved = {}
    for part, positions in _definition(predicate).parts:
        values: tuple[list[float], list[float]] = ([], [])
        for operator, atom in needing:
            arguments = tuple(operator.parameters.index(atom.variables[p]) for p in positions)
            for found, some in zip(values, uses[operator.name], strict=True):
                if some.uses:
                    found.extend(some.values(part.expression, arguments).tolist())
        if values[0]:
            sign = 1.0 if part.compare == "<=" else -1.0
            signed = sign * np.array(values[0])
            limit = max(sign * part.bound, float(signed.max()))
            ceiling = 2 * limit - float(np.quantile(signed, MOST))
            shared = shared_limit(part.expression, sign, limit, ceiling, known)
            if shared > limit:
                values[0].append(sign * shared)
        moved[part] = _moved(part, *values)
    return replace_parts(predicate, moved)


def _moved(definition: Definition, true: Sequence[float], false: Sequence[float]) -> Definition:
    """Return the definition with a bound that includes all true values and excludes false ones.

    True values are the values of the definition's expression in uses of operators whose effects came true,
    and false values those in other uses. A bound becomes stricter only if there is evidence. If no false
    value is beyond the true values, the bound is loosened only for true values that are just beyond it.
    True values far beyond the bound show that the predicate is not needed, so the bound stays the same.
    """
    if not true:
        return definition
    sign = 1.0 if definition.compare == "<=" else -1.0
    signed = sign * np.array(true)
    limit = float(signed.max())
    beyond = [sign * value for value in false if sign * value > limit]
    bound = sign * definition.bound
    spread = spread_of(signed)
    if beyond and limit > bound:
        bound = fit_bound(signed, min(beyond))
    elif beyond and min(beyond) <= bound:
        margin = (min(beyond) - limit) / (max(beyond) - float(signed.min()))
        if evidence_of(len(true), len(false), len(beyond), margin, 0) > 0:
            bound = fit_bound(signed, min(beyond))
    elif bound < limit <= bound + SLACK * spread:
        bound = limit + SLACK * (limit - bound)
    return Definition(definition.expression, definition.compare, float(sign * bound) + 0.0)


def replace_parts(predicate: Predicate, changes: Mapping[Definition, Definition]) -> Predicate:
    """Return the predicate with parts replaced as in `changes`, or the same predicate if none changes."""
    definition = _definition(predicate)
    parts = tuple((changes.get(part, part), positions) for part, positions in definition.parts)
    if parts == definition.parts:
        return predicate
    if isinstance(definition, Definition):
        return defined_predicate(parts[0][0])
    return defined_predicate(Conjunction(definition.arguments, parts))


def _definition(predicate: Predicate) -> AnyDefinition:
    assert predicate.definition is not None
    return predicate.definition
