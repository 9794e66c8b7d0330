"""Divide operators that explain two kinds of transitions, if this avoids false claims.

An operator may explain transitions that it does not describe. For example, taking a crate from a plate
closes a door, and an operator adds Closed(door). This operator also explains transitions in which a crate
is taken from the floor, and some door was closed already. Its preconditions must hold before all of these
transitions, so none of them says which door is meant. The operator then predicts that taking any crate
closes any door, which is a false claim (see `false_claims`).

The remedy is a second operator without the effects that held already. If it explains the transitions of the
other kind, the first operator gets the preconditions that distinguish them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from needful.abstraction.atom_table import bits, lifted_key
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.hill_climbing import Climb, Resume
from needful.operator_learning.learning_problem import LearningProblem, TooManyOperators
from needful.operator_learning.partition import FittedOperator


def divide_mixed_operators(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Divide operators as long as false claims decrease and coverage does not.

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
    claims = problem.false_claims(old)
    for fitted in old.fitted if claims else ():
        smaller = _without_held_effects(fitted, _falsely_claimed(fitted, problem))
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
    """Return the names of the predicates about which an operator makes false claims."""
    names = set[str]()
    for number, claims in problem.validity.of_operator(fitted.operator).items():
        table = problem.transitions.by_number[number].table
        names.update(table.atoms[atom].predicate.name for atom in bits(claims.known))
        names.update(name for name, _ in claims.unknown)
    return names


def _without_held_effects(fitted: FittedOperator, predicates: Set[str]) -> Candidate | None:
    """Return the operator without the effects that held before some, but not all, of its transitions.

    Only effects with the given predicates are dropped, and parameters that are no longer mentioned. Return
    None if no effect would be dropped, or all.
    """
    operator = fitted.candidate.operator
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    effects = operator.add_effects - operator.keep_effects
    held = {
        atom: sum(
            bool(one.table.ground((lifted_key(atom, index_of),), objects) & one.before)
            for one, objects in fitted.data
        )
        for atom in effects
        if atom.predicate.name in predicates
    }
    dropped = {atom for atom, count in held.items() if 0 < count < len(fitted.data)}
    if not dropped or dropped == effects:
        return None
    kept = operator.add_effects - dropped
    mentioned = {one for atom in kept | operator.preconditions for one in atom.variables}
    mentioned.update(operator.controller_arguments)
    parameters = tuple(one for one in operator.parameters if one in mentioned)
    smaller = replace(operator, parameters=parameters, add_effects=kept, delete_patterns=frozenset())
    return canonical_candidate(smaller, {})
