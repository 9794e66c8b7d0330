"""Learn negative preconditions: atoms that must not hold before an operator is applied.

The paper's operators have positive preconditions only. If a robot may not enter a blocked room, its
demonstrations contain steps that clear rooms. Without the negative condition, these steps have no purpose,
and plans go through blocked rooms. The method has four steps:

1. Learn without negative preconditions. Find predicates that may be negated; see `negative_evidence`.
2. If there are such predicates, learn again with a complement predicate `not P` for each of them; see
   `complements`. Steps that make P false then have a purpose. Remove complements without evidence from the
   preconditions. Use the new operators only if they explain the demonstrations better; see `_is_better`.
3. Add negative preconditions for atoms that the demonstrator always avoided, if no controller often makes
   them true.
4. Translate complements into negative preconditions.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

from needful.abstraction.atom_table import AtomKey, lifted_key
from needful.core.atoms import Predicate
from needful.core.demonstrations import Demonstration
from needful.core.operators import Operator
from needful.errors import LearningTimeoutError
from needful.operator_learning.backchaining import Coverage, cover
from needful.operator_learning.canonical_names import CanonicalNames
from needful.operator_learning.complements import find_complements, translate_complements, with_complements
from needful.operator_learning.condition_proposals import ENOUGH_BITS, MIN_BITS
from needful.operator_learning.encoding import TransitionId
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.learned_operators import LearnedOperators, evaluate_operators
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.negative_evidence import (
    avoidable_predicates,
    count_redundant_steps,
    forbid_avoided_atoms,
    predicates_to_negate,
    rejected_predicates,
)
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.partition import FittedOperator


@dataclass(frozen=True, slots=True)
class LearningResult:
    """Operators learned from demonstrations, with canonical names.

    Attributes:
        climb: the operators, and the steps by which hill climbing reached them.
        problem: the learning problem, with the demonstrations.
        names: maps canonical names to the user's names.
        outliers: the transitions that learning ignored.
    """

    climb: Climb
    problem: LearningProblem
    names: CanonicalNames
    outliers: frozenset[TransitionId] = frozenset()

    def evaluate(self) -> LearnedOperators:
        """Name the operators, and measure how well they explain the demonstrations.

        Transitions that learning ignored (outliers) count as uncovered, because no operator explains them.
        """
        hypothesis, coverage = self.climb.hypothesis, self.climb.hypothesis.coverage
        learned = evaluate_operators(
            self.names.restore(hypothesis),
            coverage,
            self.names.by_demonstration(),
            self.problem.matcher,
            self.climb.steps,
        )
        skipped = sum(
            step >= coverage.chains[demonstration].uncovered for demonstration, step in self.outliers
        )
        return replace(
            learned,
            uncovered=learned.uncovered + skipped,
            search_was_limited=self.problem.work.reached,
        )

    def with_hypothesis(self, hypothesis: Hypothesis) -> LearningResult:
        """Return the learning result with another hypothesis (set of operators)."""
        return replace(self, climb=replace(self.climb, hypothesis=hypothesis))

    def user_names(self, canonical: Container[str]) -> set[str]:
        """Return the user's names of the predicates that have the given canonical names during learning."""
        return {user.name for one, user in self.names.predicates.items() if one.name in canonical}

    def canonical_names(self) -> dict[str, str]:
        """Return, for the user's name of each predicate, its canonical name during learning."""
        return {user.name: one.name for one, user in self.names.predicates.items()}


# Learning with complements (predicates `not P`) is stopped after this number of checks of the deadline per
# transition. The number of checks measures the work in the same way on every machine. Usually far fewer
# checks are made, unless operators with complements have very many groundings.
MAX_CHECKS = 50


class Learn(Protocol):
    """A function that learns operators without negative preconditions."""

    def __call__(self, demonstrations: Sequence[Demonstration], limit: int | None = None) -> LearningResult:
        """Learn operators; raise `LearningTimeoutError` after `limit` checks of the deadline, if given."""
        ...


def positive_preconditions_only(demonstrations: Sequence[Demonstration], learn: Learn) -> LearnedOperators:
    """Learn operators without negative preconditions, as in the paper."""
    return learn(demonstrations).evaluate()


def negative_preconditions(demonstrations: Sequence[Demonstration], learn: Learn) -> LearnedOperators:
    """Learn operators, with negative preconditions where there is evidence for them.

    `learn` learns operators without negative preconditions.
    """
    ordinary = learn(demonstrations)
    hypothesis, problem = ordinary.climb.hypothesis, ordinary.problem
    negated = predicates_to_negate(hypothesis, problem)
    informative = rejected_predicates(hypothesis, problem)
    rejected = ordinary.user_names(informative)
    complements = find_complements(ordinary.user_names(negated) | rejected, demonstrations)
    if complements:
        try:
            learned = _learn_with_complements(demonstrations, complements, rejected, ordinary, learn)
        except LearningTimeoutError:
            # If the time limit has passed, the next line raises the error again. Otherwise the limit of
            # checks was reached. Negative preconditions are then added to the operators that were learned
            # without complements.
            problem.deadline.check()
            return _with_avoided_atoms(ordinary, negated=negated | informative).evaluate()
        if learned is not None:
            return learned
    return _with_avoided_atoms(ordinary).evaluate()


def _learn_with_complements(
    demonstrations: Sequence[Demonstration],
    complements: Mapping[Predicate, Predicate],
    rejected: Set[str],
    ordinary: LearningResult,
    learn: Learn,
) -> LearnedOperators | None:
    """Learn operators with complements (predicates `not P`); return None if not better than `ordinary`.

    The predicates in `rejected` may explain why the demonstrator did not choose other objects
    (`rejected_predicates`). Raises `LearningTimeoutError` if learning takes too much work.
    """
    limit = MAX_CHECKS * ordinary.problem.size
    found = learn(with_complements(demonstrations, complements), limit)
    canonical = found.canonical_names()
    names = {
        canonical[complement.name]: canonical[predicate.name]
        for predicate, complement in complements.items()
        if complement.name in canonical
    }
    informative = {canonical[name] for name in rejected if name in canonical}
    supported = _with_evidence(found, names, informative)
    explaining = {one for one, name in names.items() if name in informative}
    if not _is_better(supported, found.problem, ordinary, names.keys(), explaining):
        return None
    learned = _with_avoided_atoms(found.with_hypothesis(supported), names).evaluate()
    return translate_complements(learned, complements, demonstrations)


def _with_evidence(found: LearningResult, negated: Mapping[str, str], informative: Set[str]) -> Hypothesis:
    """Drop the operators' preconditions `not P` (complements) for which there is no evidence.

    `negated` maps the name of each complement to the name of its predicate. The predicates in `informative`
    may explain why the demonstrator did not choose other objects (`rejected_predicates`). All names are
    canonical.
    """
    hypothesis, problem = found.climb.hypothesis, found.problem
    operators = [_supported(one, problem, negated, informative) for one in hypothesis.fitted]
    return _with_operators(hypothesis, operators, problem)


def _with_operators(
    hypothesis: Hypothesis, operators: Sequence[Operator], problem: LearningProblem
) -> Hypothesis:
    """Return the hypothesis with `operators` in place of its own, and with their coverage."""
    fitted = tuple(
        replace(one, operator=operator) for one, operator in zip(hypothesis.fitted, operators, strict=True)
    )
    empty = Coverage.empty(problem.demonstrations)
    coverage = cover(operators, empty, problem.matcher, problem.skip_purposeless)
    return Hypothesis(replace(hypothesis.partition, fitted=fitted), coverage)


def _supported(
    fitted: FittedOperator,
    problem: LearningProblem,
    negated: Mapping[str, str],
    informative: Container[str],
) -> Operator:
    """Return the operator without those preconditions `not P` (complements) for which there is no evidence.

    The complements are removed, and then tried one after the other. First come complements that were false
    earlier in a demonstration, so that a step made them true. They are added again if there are `MIN_BITS`
    of evidence. Complements of predicates in `informative` need `ENOUGH_BITS`. All others may be mere
    habits of the demonstrator, so evidence is not enough. Any complement is also added again if the
    operator then predicts fewer atoms that do not hold.

    Two kinds of complements are never removed: those that are also add effects, and those that mention a
    parameter that nothing else binds. Such a parameter is no controller argument, and occurs in no add
    effect and in no precondition except complements.
    """
    operator = fitted.operator
    index_of = {variable: index for index, variable in enumerate(operator.parameters)}
    others = {atom for atom in operator.preconditions if atom.predicate.name not in negated}
    bound = {variable for atom in others | operator.add_effects for variable in atom.variables}
    bound |= set(operator.controller_arguments)
    keys = {
        atom: lifted_key(atom, index_of)
        for atom in operator.preconditions - others - operator.keep_effects
        if bound.issuperset(atom.variables)
    }
    chosen = replace(operator, preconditions=operator.preconditions - set(keys))
    made_true = {atom for atom, key in keys.items() if _was_made_true(key, fitted, problem)}
    while keys:
        opportunities = problem.opportunities_of(replace(fitted, operator=chosen))
        evidence = {
            atom: opportunities.bits_against((negated[name], indices))
            for atom, (name, indices) in keys.items()
        }
        best = min(keys, key=lambda atom: (atom not in made_true, -evidence[atom], atom))
        enough = MIN_BITS if best in made_true else ENOUGH_BITS
        eligible = best in made_true or negated[best.predicate.name] in informative
        extended = replace(chosen, preconditions=chosen.preconditions | {best})
        if (eligible and evidence[best] >= enough) or _excludes_false_claims(extended, chosen, problem):
            chosen = extended
        del keys[best]
    return chosen


def _was_made_true(key: AtomKey, fitted: FittedOperator, problem: LearningProblem) -> bool:
    """Return whether an atom was false in some demonstrated state before the operator was used."""
    return any(
        not transition.table.ground((key,), objects) & earlier.before
        for transition, objects in fitted.data
        for earlier in problem.demonstrations[transition.demonstration].transitions[: transition.step]
    )


def _excludes_false_claims(one: Operator, other: Operator, problem: LearningProblem) -> bool:
    return problem.validity.count([one]) < problem.validity.count([other])


def _with_avoided_atoms(
    found: LearningResult, complements: Container[str] = (), negated: Set[str] = frozenset()
) -> LearningResult:
    """Add negative preconditions for avoided atoms, unless more transitions are then uncovered.

    An atom is avoided if it held in many states in which the operator was applicable, but never where the
    operator was used. `complements` contains the names of complements; for their atoms, no negative
    preconditions are added. `negated` contains the names of further predicates whose atoms may be avoided.
    All names are canonical.
    """
    hypothesis, problem = found.climb.hypothesis, found.problem
    avoidable = avoidable_predicates(hypothesis, problem, negated)
    avoidable = [one for one in avoidable if one.name not in complements]
    if not avoidable:
        return found
    operators = [forbid_avoided_atoms(one, avoidable, problem) for one in hypothesis.fitted]
    if all(new is old.operator for new, old in zip(operators, hypothesis.fitted, strict=True)):
        return found
    extended = _with_operators(hypothesis, operators, problem)
    return (
        found
        if extended.coverage.uncovered > hypothesis.coverage.uncovered
        else found.with_hypothesis(extended)
    )


def _claims_about_others(
    operators: Sequence[Operator], problem: LearningProblem, complements: Set[str]
) -> int:
    """Return the number of false claims, except the predictions that a complement `not P` stays true.

    A false claim is an atom that an operator predicts, but that does not hold. Operators without
    complements never predict that `not P` stays true. So counting these claims would make the comparison
    with operators without complements unfair.
    """
    total = 0
    for number, claims in problem.validity.by_transition(operators).items():
        transition = problem.transitions.by_number[number]
        kept = transition.before & transition.table.with_predicates(complements)
        total += claims._replace(known=claims.known & ~kept).count()
    return total


def _is_better(
    found: Hypothesis,
    problem: LearningProblem,
    ordinary: LearningResult,
    complements: Set[str],
    informative: Set[str],
) -> bool:
    """Return whether operators with complements explain the demonstrations better than those without.

    `complements` contains the names of the complements. There must not be more uncovered transitions,
    redundant steps (see `redundant_steps`) or false claims (see `_claims_about_others`) than without
    complements. In addition, there must be fewer redundant steps or false claims, or a precondition must
    have a complement in `informative`. That set contains the complements that may explain why the
    demonstrator did not choose other objects.
    """
    new, old = found.coverage, ordinary.climb.hypothesis.coverage
    redundant, old_redundant = count_redundant_steps(new), count_redundant_steps(old)
    claims = _claims_about_others(new.operators, problem, complements)
    old_claims = ordinary.problem.validity.count(old.operators)
    if new.uncovered > old.uncovered or redundant > old_redundant or claims > old_claims:
        return False
    required = {atom.predicate.name for one in new.operators for atom in one.preconditions}
    return redundant < old_redundant or claims < old_claims or not required.isdisjoint(informative)
