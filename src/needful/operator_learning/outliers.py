"""Find outliers: transitions that differ from almost all others of the same controller.

Learning ignores outliers. There are two signs of an outlier:

- An operator explains almost none of its controller's transitions. It may describe a chance effect, so its
  transitions may be outliers.
- An atom holds before almost all transitions of an operator, but not before one. The atom may be a
  precondition that a detector missed in one state.

Some signs depend on steps without purpose: steps that add atoms, but none that a later step or the goal
needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedTransition, TransitionId
from needful.operator_learning.induction import Datum, liftable_atoms_before
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.unnamed_objects import purposeless_steps

# An operator may be a mistake if it explains at most the share `RARE` of its controller's transitions. It
# may also be a mistake if it explains at most the share `FEW` of them, and makes false predictions in many
# others.
RARE, FEW = 0.02, 0.25
# If a controller or an operator has fewer transitions than this, one of them that differs from the others
# may be due to chance or to a rule, so it is not treated as an outlier.
ENOUGH = 20
# Transitions of misleading operators are ignored only if there are at least this many of them in total. A
# single such transition may be the only demonstrated use of a correct operator.
MIN_MISLEADING = 2
# For example, an atom holds before all but a few transitions of an operator. If the few are at most this
# share, the atom may be missing there because of a detection error; see `noisy_transitions`. The second
# share is used if many steps have no purpose.
NOISE, NOISE_IF_PURPOSELESS = 0.08, 0.15
# If ignoring an outlier avoids this many false claims, it pays even if no operator becomes superfluous.
CLAIMS_PER_OUTLIER = 10
# If more than this share of all steps has no purpose (they add nothing necessary), a wrong atom probably
# hides a precondition. For example, if a detector misses Open(door) before one `enter`, this atom is no
# precondition of `enter`, and steps that open doors have no purpose.
MANY = 0.25


def find_outliers(
    hypothesis: Hypothesis, problem: LearningProblem, noisy: bool, purposes_known: bool = True
) -> set[TransitionId]:
    """Return the outliers: transitions that are probably mistakes, so that the learner can ignore them.

    There are three kinds:

    - Transitions of operators that explain almost none of their controller's transitions.
    - Transitions of misleading operators (see `misleading_operator_transitions`) that achieve no goal atom.
      They count only if more than twice as many steps have no purpose (see `purposeless_steps`), which
      shows that the demonstrations contain detours.
    - Transitions with atoms that look wrong (see `noisy_transitions`). They count if the demonstrations are
      `noisy`, or if many steps have no purpose; `MANY` explains why.

    With `purposes_known` false, steps without purpose do not count: they may have none only because the
    operators lack conditions on unnamed objects.
    """
    found = rare_operator_transitions(hypothesis, problem)
    purposeless = len(purposeless_steps(hypothesis)) if purposes_known else 0
    if purposeless > 2 * MIN_MISLEADING:
        misleading = misleading_operator_transitions(hypothesis, problem) - _achieving_goals(hypothesis)
        if MIN_MISLEADING <= len(misleading) < purposeless / 2:
            found |= misleading
    if purposeless > MANY * problem.size:
        operators = (one for one in hypothesis.fitted if noisy or len(one.data) >= ENOUGH)
        found |= noisy_transitions(operators, NOISE_IF_PURPOSELESS)
    elif noisy:
        found |= noisy_transitions(hypothesis.fitted)
    return found


def _achieving_goals(hypothesis: Hypothesis) -> set[TransitionId]:
    """Return the transitions that add a necessary atom which is also a goal atom."""
    return {
        transition.transition_id
        for chain in hypothesis.coverage.chains
        for transition, needed in zip(chain.demonstration.transitions, chain.needed, strict=True)
        if needed & chain.demonstration.goal
    }


def ignoring_pays(
    new: Hypothesis, old: Hypothesis, ignored: int, saved_claims: int = 0, *, noisy: bool
) -> bool:
    """Return whether operators that were learned without outliers (`new`) are better than the `old` ones.

    `ignored` is the number of outliers that were left out, and `saved_claims` the number of false claims
    (predicted atoms that do not hold) that only the old operators make. The new operators must not leave
    more transitions uncovered. They are better in these cases:

    - There are fewer operators.
    - The number of steps without purpose decreases by more than `ignored`.
    - There are as many operators, and each outlier saves at least `CLAIMS_PER_OUTLIER` false claims.
    - The demonstrations are `noisy`, and there are as many operators, but more preconditions in total,
      because wrong atoms can hide preconditions.
    """
    if new.coverage.uncovered > old.coverage.uncovered:
        return False
    gained = len(purposeless_steps(old)) - len(purposeless_steps(new))
    more = len(new.fitted) - len(old.fitted)
    stronger = noisy and _precondition_count(new) > _precondition_count(old)
    truer = saved_claims >= CLAIMS_PER_OUTLIER * ignored
    return more < 0 or gained > ignored or (more == 0 and (stronger or truer))


def _precondition_count(hypothesis: Hypothesis) -> int:
    return sum(len(fitted.operator.preconditions) for fitted in hypothesis.fitted)


def rare_operator_transitions(hypothesis: Hypothesis, problem: LearningProblem) -> set[TransitionId]:
    """Return the transitions of operators that explain almost none of their controller's transitions."""
    found: set[TransitionId] = set()
    for fitted in hypothesis.fitted:
        transitions = problem.transitions.by_controller[fitted.operator.controller.name]
        if len(fitted.data) <= RARE * len(transitions):
            found |= {transition.transition_id for transition, _ in fitted.data}
    return found


def misleading_operator_transitions(hypothesis: Hypothesis, problem: LearningProblem) -> set[TransitionId]:
    """Return the transitions that only a misleading operator explains.

    For example, an object is in reach after a detour by chance. A misleading operator predicts this. It
    explains the detour, but its prediction is false in other uses of the controller. An operator counts as
    misleading if there is also a usual operator: one that explains most uses of the controller, predicts
    something false in almost none of them, and fits all transitions of the misleading operator.

    A transition of the misleading operator is returned if the usual operator cannot explain it, because it
    does not predict all necessary atoms. If such transitions are not few, compared with all uses of the
    controller and with the false predictions, none of them is returned.
    """
    found: set[TransitionId] = set()
    for fitted in hypothesis.fitted:
        transitions = problem.transitions.by_controller[fitted.operator.controller.name]
        false = len(problem.validity.of_operator(fitted.operator))
        if len(transitions) < ENOUGH or not false:
            continue
        explained = [transition for transition, _ in fitted.data]
        for one in hypothesis.fitted:
            usual = one.operator
            if (
                one is not fitted
                and usual.controller == fitted.operator.controller
                and 2 * len(one.data) > len(transitions)
                and len(problem.validity.of_operator(usual)) <= RARE * len(transitions)
                and all(problem.matcher.is_consistent(usual, one) for one in explained)
            ):
                lacking = {
                    transition.transition_id
                    for transition in explained
                    if not _suffices(usual, transition, hypothesis, problem)
                }
                if len(lacking) <= min(FEW * len(transitions), false / 2):
                    found |= lacking
    return found


def _suffices(
    operator: Operator, transition: EncodedTransition, hypothesis: Hypothesis, problem: LearningProblem
) -> bool:
    """Return whether an operator predicts everything that is necessary after a transition."""
    necessary = hypothesis.coverage.necessary_after(transition) or 0
    return problem.matcher.best_consistent_link(operator, transition, necessary) is not None


def noisy_transitions(operators: Iterable[FittedOperator], share: float = NOISE) -> set[TransitionId]:
    """Return the transitions that differ from almost all others of the same operator.

    At most the given `share` of an operator's transitions may differ from the others in the same atom.

    There are two kinds of differences. Either an atom does not hold before the transition, but before
    almost all others. Or the transition made an atom false, and almost no other transition did.
    """
    found: set[TransitionId] = set()
    for fitted in operators:
        few = share * len(fitted.data)
        held = {datum: set(liftable_atoms_before(fitted.operator, datum)) for datum in fitted.data}
        deleted = {datum: _deleted(datum) for datum in fitted.data}
        holding = Counter(key for keys in held.values() for key in keys)
        deleting = Counter(key for keys in deleted.values() for key in keys)
        almost_always = {key for key, count in holding.items() if 0 < len(held) - count <= few}
        hardly_ever = {key for key, count in deleting.items() if count <= few}
        found |= {
            datum[0].transition_id
            for datum in fitted.data
            if almost_always - held[datum] or deleted[datum] & hardly_ever
        }
    return found


def _deleted(datum: Datum) -> set[AtomKey]:
    """Return, as lifted atoms, the atoms that became false in a transition.

    Each object is replaced by the index of the parameter that is bound to it, or by -1 if there is none.
    """
    transition, objects = datum
    index_of = {number: index for index, number in enumerate(objects)}
    table = transition.table
    return {
        (table.predicate_of[atom].name, tuple(index_of.get(n, -1) for n in table.arguments[atom]))
        for atom in bits(transition.deleted)
    }
