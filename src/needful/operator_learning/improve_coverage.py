"""Add operators until more transitions are covered (ImproveCoverage and EnsureNecAtomsSat of the paper).

An operator's deletes, in particular the quantified ones, may match an atom that later steps or the goal
need. In this case, the learner adds a copy of the operator that has the atom both as a precondition and as
an add effect. The copy predicts that the atom still holds. Such an atom is called a keep effect.

There are deviations from the paper, numbered as in docs/paper_to_code.md:

- E9, E10 and E21: The loop of `improve_coverage` ends when coverage has improved or all transitions are
  covered. It also ends when a set of operators occurs for the second time, so it always terminates. If
  coverage has not improved by then, an operator with a pinned transition is added. A pinned transition is
  always assigned to its operator, even if other operators have better scores.
- E18: Copies with keep effects are made of all operators, not only of the newest one. There is one copy for
  each different set of atoms to keep.

If hill climbing ends although transitions are uncovered, `cover_where_stuck` adds several operators with
pinned transitions, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needful.abstraction.atom_table import bits
from needful.core.canonical import rename
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.encoding import EncodedTransition, TransitionId
from needful.operator_learning.induction import induce_operator, lift
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Hypothesis

# The maximum number of operators that `_pin_in_turn` adds, each for one transition.
MAX_PINS = 16
# With at most this number of transitions, `cover_where_stuck` may add one operator per transition.
MAX_TRANSITIONS = 48
# The maximum number of parameters of an operator that `_keeping_all` returns: it has one for each object of
# a necessary atom. With more parameters, it could have too many groundings.
MAX_PARAMETERS = 8


def improve_coverage(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Return a set of operators that covers more transitions than `start`, or `start` if none is found."""
    current = start
    seen: set[frozenset[str]] = set()
    for _ in range(2 * problem.size):
        failing = current.coverage.failing()
        if not failing:
            break
        current = _with_operator_for(failing[0], current, problem)
        if current.coverage.uncovered < start.coverage.uncovered:
            return current
        if current.operator_texts in seen:
            break
        seen.add(current.operator_texts)
    return _try_pinned_operators(start, current, problem)


def _with_operator_for(
    transition: EncodedTransition, current: Hypothesis, problem: LearningProblem
) -> Hypothesis:
    """Return `current` with a new operator for a transition that backchaining could not explain.

    If some operators then delete necessary atoms, also add copies of them that predict these atoms.

    The new operator requires nothing of objects that are not arguments of its controller. It could replace
    an operator that does (see `unnamed_objects`). So if the controller has such an operator, the existing
    operators are first fitted again. If they then cover more transitions, no operator is added.
    """
    if any(one.conditions for one in current.candidates if one.controller == transition.controller):
        again = problem.fit(current.candidates, current)
        if again.coverage.uncovered < current.coverage.uncovered:
            return again
    operator, _ = induce_operator(transition, _necessary_after(transition, current))
    added = problem.fit((*current.candidates, canonical_candidate(operator, {})), current)
    return problem.fit((*added.candidates, *copies_with_keep_effects(added, problem)), added)


def _try_pinned_operators(start: Hypothesis, last: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Add one operator, made for one transition, so that more transitions are covered than by `start`.

    The transition is pinned: it is always assigned to the new operator. Each transition at which
    backchaining stops is tried, first with `start`, and then with `last`, the operators at the end of the
    loop of `improve_coverage`. Return the first result that covers more, or `start` if there is none.
    """
    for base in (start, last):
        for transition in base.coverage.failing():
            reached = cover_with_pinned_operator(transition, base, problem)
            if reached.coverage.uncovered < start.coverage.uncovered:
                return reached
    return start


def cover_with_pinned_operator(
    transition: EncodedTransition, base: Hypothesis, problem: LearningProblem
) -> Hypothesis:
    """Return `base` with a new operator that predicts all necessary atoms of one transition.

    The transition is pinned: it is assigned to the new operator, even if other operators have better
    scores.
    """
    pinned = _pinned(transition, _necessary_after(transition, base), problem)
    return problem.fit((*base.candidates, pinned), base)


def cover_where_stuck(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Return operators that cover more transitions than `start`, if `improve_coverage` found none.

    There are three attempts. The first adds operators for uncovered transitions, one after the other. The
    second adds one operator per transition of the demonstrations that are not fully covered. The third does
    the same for the transitions of all demonstrations. The last two attempts are made only if there are few
    transitions. Their operators predict the whole state after the transition, and thus all necessary atoms.
    Many of the added operators may be superfluous, so callers should delete operators afterwards. If no
    attempt succeeds, return `start`.
    """
    reached = _pin_in_turn(start, problem)
    if reached is not start or problem.size > MAX_TRANSITIONS:
        return reached
    for chains in ([chain for chain in start.coverage.chains if chain.failing], start.coverage.chains):
        transitions = [transition for chain in chains for transition in chain.demonstration.transitions]
        pinned = [_keeping_all(one, one.after) for one in transitions if not one.ignored]
        if any(len(one.operator.parameters) > MAX_PARAMETERS for one in pinned):
            break
        reached = _with_pinned(pinned, start, problem)
        if reached.coverage.uncovered < start.coverage.uncovered:
            return reached
    return start


def _pin_in_turn(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Add operators for single transitions, one after the other, until more are covered than by `start`.

    Each new operator is for the first transition at which backchaining stops and that was not yet tried
    with the same necessary atoms. This transition is always assigned to it. The operator predicts these
    atoms, and usually still does when other transitions are assigned to it too (see `_keeping_all`).
    Coverage may fall in the meantime. If coverage has not improved after `MAX_PINS` operators, or if no
    transition is left, return `start`.
    """
    current = start
    tried: set[tuple[EncodedTransition, int]] = set()
    for _ in range(MAX_PINS):
        failing = ((one, _necessary_after(one, current)) for one in current.coverage.failing())
        untried = next((pair for pair in failing if pair not in tried), None)
        if untried is None:
            break
        tried.add(untried)
        pinned = _keeping_all(*untried)
        if len(pinned.operator.parameters) > MAX_PARAMETERS:
            pinned = _pinned(*untried, problem)
        current = _with_pinned((pinned,), current, problem)
        if current.coverage.uncovered < start.coverage.uncovered:
            return current
    return start


def _with_pinned(pinned: Sequence[Candidate], base: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Return `base` with the candidates in `pinned` added.

    A transition in `Candidate.pinned` belongs to one candidate only: new candidates take it from old ones.
    """
    moved = frozenset[TransitionId]().union(*(one.pinned for one in pinned))
    old = (
        replace(one, pinned=one.pinned - moved) if one.pinned & moved else one for one in base.candidates
    )
    return problem.fit((*old, *pinned), base)


def _necessary_after(transition: EncodedTransition, hypothesis: Hypothesis) -> int:
    necessary = hypothesis.coverage.necessary_after(transition)
    assert necessary is not None, "a failing transition is reached by its chain"
    return necessary


def _pinned(transition: EncodedTransition, necessary: int, problem: LearningProblem) -> Candidate:
    """Return a candidate that predicts all necessary atoms of a transition, which is always assigned to it.

    A necessary atom that the operator would delete becomes both a precondition and an add effect. This may
    add parameters to the operator, which changes its deletes, so further atoms may have to be kept. This is
    repeated until all necessary atoms are predicted. It terminates, because the set of kept atoms only
    grows.

    If further transitions are assigned to the candidate later, its operator may get new deletes that match
    necessary atoms. The candidates of `_keeping_all` do not have this problem.
    """
    operator, objects = induce_operator(transition, necessary)
    while True:
        fitted = problem.inducer.fit(operator, ((transition, objects),))
        missing = necessary & ~problem.matcher.predict(fitted, transition, objects)
        if not missing:
            break
        operator, objects = with_keep_effects(operator, transition, objects, missing)
    return _pinned_candidate(operator, objects, transition)


def _keeping_all(transition: EncodedTransition, necessary: int) -> Candidate:
    """Return a candidate that predicts the necessary atoms, even if it explains other transitions too.

    Each necessary atom is an add effect. If it held before the transition, it is also a precondition. When
    the operator explains further transitions, it may get new deletes, but these do not cancel add effects.
    """
    operator, objects = induce_operator(transition, necessary)
    kept = necessary & transition.before
    operator, objects = with_keep_effects(operator, transition, objects, kept)
    return _pinned_candidate(operator, objects, transition)


def _pinned_candidate(
    operator: Operator, objects: tuple[int, ...], transition: EncodedTransition
) -> Candidate:
    hint = dict(zip(operator.parameters, objects, strict=True))
    identity = transition.transition_id
    return canonical_candidate(operator, {identity: hint}, frozenset({identity}))


def copies_with_keep_effects(hypothesis: Hypothesis, problem: LearningProblem) -> tuple[Candidate, ...]:
    """Return copies of the operators that delete necessary atoms; the copies keep these atoms.

    There is one copy for each transition whose operator deletes necessary atoms. The copy has these atoms
    as keep effects: they are both preconditions and add effects. There is no copy if one of the atoms did
    not hold before the transition: this atom cannot be kept, so the transition needs a different operator.
    A copy may have new variables for the objects of the kept atoms. When it is matched with the transition,
    these objects are preferred for the new variables; they are stored in `Candidate.hints`.
    """
    copies = []
    for fitted in hypothesis.fitted:
        for transition, objects in fitted.data:
            necessary = hypothesis.coverage.necessary_after(transition)
            if necessary is None or hypothesis.coverage.uses(fitted.operator, objects, transition):
                continue
            missing = necessary & ~problem.matcher.predict(fitted.operator, transition, objects)
            if missing and not missing & ~transition.before:
                copy, bound = with_keep_effects(fitted.candidate.operator, transition, objects, missing)
                known = fitted.candidate.hints.get(transition.transition_id, {})
                # The copy begins with the same parameters, possibly with narrower types. New ones follow.
                pairs = zip(fitted.candidate.operator.parameters, copy.parameters)  # noqa: B905
                hint = {new: known[old] for old, new in pairs if old in known}
                hint.update(list(zip(copy.parameters, bound, strict=True))[len(objects) :])
                copies.append(canonical_candidate(copy, {transition.transition_id: hint}))
    return tuple(copies)


def with_keep_effects(
    operator: Operator, transition: EncodedTransition, objects: tuple[int, ...], missing: int
) -> tuple[Operator, tuple[int, ...]]:
    """Add the missing atoms as preconditions and effects; return the operator and its parameters' objects.

    Missing atoms are necessary atoms that the operator would delete. If no parameter is bound to an object
    of a missing atom, a new parameter is added for the object. New parameters are in the order of the
    objects' names. A parameter whose type is too wide for a missing atom gets the type of its object.
    """
    table = transition.table
    operator = _narrowed(operator, transition, objects, missing)
    mentioned = {number for atom in bits(missing) for number in table.arguments[atom]}
    fresh = sorted(mentioned - set(objects))
    bound = (*objects, *fresh)
    variables = operator.parameters + tuple(
        Variable(f"?k{index}", table.objects[number].type)
        for index, number in enumerate(fresh, start=len(objects))
    )
    lifting = {table.objects[number]: variable for number, variable in zip(bound, variables, strict=True)}
    kept = lift(transition, missing, lifting)
    copy = replace(
        operator,
        parameters=variables,
        preconditions=operator.preconditions | kept,
        add_effects=operator.add_effects | kept,
    )
    return copy, bound


def _narrowed(
    operator: Operator, transition: EncodedTransition, objects: tuple[int, ...], missing: int
) -> Operator:
    """Narrow the parameters whose types are too wide for the predicate of a missing atom.

    Each of them gets the type of the object to which it is bound. Return the resulting operator.
    """
    table = transition.table
    bound = dict(zip(objects, operator.parameters, strict=True))
    too_wide = {
        number
        for atom in bits(missing)
        for number, kind in zip(table.arguments[atom], table.predicate_of[atom].types, strict=True)
        if number in bound and not bound[number].type.is_subtype_of(kind)
    }
    if not too_wide:
        return operator
    renaming = {
        variable: Variable(variable.name, table.objects[number].type) if number in too_wide else variable
        for number, variable in bound.items()
    }
    return rename(operator, renaming)
