"""Divide operators that explain two kinds of transitions, if this avoids false claims.

An operator may explain transitions whose actions did not cause its add effects. For example, taking a crate
from a plate closes a door, and an operator adds Closed(door). This operator also explains transitions in
which a crate is taken from the floor, and some door was closed already. Its preconditions must hold before
all of these transitions, so no precondition determines which door is closed. The operator then predicts
that taking any crate closes any door. Such a wrong prediction is called a false claim (see `false_claims`).

The remedy is a second operator without the effects that held already. If it explains the transitions of the
other kind, the first operator gets the preconditions that distinguish the two kinds.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from needful.abstraction.atom_table import bits, lifted_key
from needful.core.atoms import LiftedAtom
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.hill_climbing import Climb, Resume
from needful.operator_learning.learning_problem import LearningProblem, TooManyOperators
from needful.operator_learning.partition import FittedOperator


def divide_mixed_operators(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Divide operators as long as this gives fewer false claims and covers no fewer transitions.

    After each division, `resume` continues hill climbing.
    """
    while (better := _divided(climb, problem, resume)) is not None:
        climb = better
    return climb


def keep_mixed_operators(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Return the climb unchanged, as in the paper."""
    return climb


def _divided(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb | None:
    """Return the climb with the first division that is accepted; None if there is none."""
    old = climb.hypothesis
    # First find the effects that held before some transitions: most operators have none, and counting false
    # claims takes longer.
    mixed = [(one, effects) for one in old.fitted if (effects := _partly_held_effects(one))]
    claims = problem.false_claims(old) if mixed else 0
    for fitted, effects in mixed if claims else ():
        smaller = _without_effects(fitted, effects, _falsely_claimed(fitted, problem))
        if smaller is None:
            continue
        limited = problem.with_limited_growth(len(old.fitted))
        try:
            new = resume(climb.add_step("divide", limited.fit((*old.candidates, smaller), old)), limited)
        except TooManyOperators:
            continue
        uncovered = new.hypothesis.coverage.uncovered
        if uncovered <= old.coverage.uncovered and problem.false_claims(new.hypothesis) < claims:
            return new
    return None


def _falsely_claimed(fitted: FittedOperator, problem: LearningProblem) -> set[str]:
    """Return the names of the predicates of the atoms that an operator predicts falsely."""
    names = set[str]()
    for number, claims in problem.validity.of_operator(fitted.operator).items():
        table = problem.transitions.by_number[number].table
        names.update(table.predicate_of[atom].name for atom in bits(claims.known))
        names.update(name for name, _ in claims.unknown)
    return names


def _partly_held_effects(fitted: FittedOperator) -> set[LiftedAtom]:
    """Return the effects that held before some, but not all, of the operator's transitions."""
    operator = fitted.candidate.operator
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    found = set[LiftedAtom]()
    for atom in operator.add_effects - operator.keep_effects:
        key = (lifted_key(atom, index_of),)
        held = sum(bool(one.table.ground(key, objects) & one.before) for one, objects in fitted.data)
        if 0 < held < len(fitted.data):
            found.add(atom)
    return found


def _without_effects(
    fitted: FittedOperator, effects: Set[LiftedAtom], predicates: Set[str]
) -> Candidate | None:
    """Return the operator without those of the given effects that have one of the given predicates.

    Parameters that are no longer mentioned are dropped too. Return None if there are no such effects, or if
    no add effects would be left (keep effects, which are also preconditions, do not count).
    """
    operator = fitted.candidate.operator
    dropped = {atom for atom in effects if atom.predicate.name in predicates}
    if not dropped or dropped == operator.add_effects - operator.keep_effects:
        return None
    kept = operator.add_effects - dropped
    mentioned = {one for atom in kept | operator.preconditions for one in atom.variables}
    mentioned.update(operator.controller_arguments)
    parameters = tuple(one for one in operator.parameters if one in mentioned)
    smaller = replace(operator, parameters=parameters, add_effects=kept, delete_patterns=frozenset())
    return canonical_candidate(smaller, {})
