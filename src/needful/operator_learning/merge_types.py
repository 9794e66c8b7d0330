"""Widen types to their nearest common ancestors, where the demonstrations allow it.

Hill climbing gives variables and wildcards the types of the objects in the demonstrations. For example, it
learns two operators Grasp(?x:book) and Grasp(?x:hardback), and an operator Move with the two quantified
deletes Reachable(*:mug) and Reachable(*:shoe). Afterwards, this module merges operators that differ only in
the types of their variables, and quantified deletes that differ only in the types of their wildcards. The
merged operators also apply to types that were never seen. If types have no ancestors, nothing changes.

A merged operator has weaker preconditions: only atoms that hold before all transitions of the original
operators. A merged delete matches more atoms. If coverage were the only criterion, it would allow too many
merges, because successful demonstrations contain no counter-examples. For example, things are put into bags
and into fridges. The merged operator would not require that the fridge is open, so the step that opens the
fridge would have no purpose. Therefore a merge is rejected if later steps or the goal needed an effect of a
demonstrated step before the merge, but do not need it afterwards. It is also rejected if it adds false
claims (see `false_claims`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import lifted_key
from needful.core.canonical import UntypedForm, rename, untyped_form
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern
from needful.operator_learning.backchaining import Coverage
from needful.operator_learning.candidates import Candidate, canonical_candidate
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.induction import nearest_common_pattern, without_subsumed
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.partition import FittedOperator

Types: TypeAlias = tuple[Type, ...]

# A merge must not drop preconditions with at least this evidence, in bits (see `opportunities`).
MIN_EVIDENCE = 1.0


def merge_types(climb: Climb, problem: LearningProblem) -> Climb:
    """Merge operators until no merge is possible, then merge quantified deletes until none is possible.

    Two operators, or two deletes of one operator, can be merged only if they differ in nothing but types.
    Return the climb with one further step per merge.
    """
    for name, move in (("merge", merge_operators), ("widen", widen_deletes)):
        while (further := climb.add_step(name, move(climb.hypothesis, problem))) is not climb:
            climb = further
    return climb


def keep_types(climb: Climb, problem: LearningProblem) -> Climb:
    """Merge nothing: return the climb unchanged, with types as narrow as in the demonstrations."""
    return climb


def merge_operators(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Merge operators that differ only in types; return `start` if no merge is possible.

    The types of two operators are widened to their nearest common ancestors, so that the operators become
    equal. Further operators that differ only in types are merged too if the widened types include theirs:
    a planner could always use the merged operator instead of them, because it has weaker preconditions. The
    transitions are then assigned to operators again, and the operators are induced from them. If several
    merges are possible, the one with the narrowest types is chosen.
    """
    return _first_as_good(_merged(start.fitted, problem), start, problem)


def widen_deletes(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Merge two quantified deletes of one operator; return `start` if no merge is possible.

    The first operator that allows a merge is chosen. If it allows several merges, the one with the
    narrowest wildcard types is chosen.
    """
    return _first_as_good(_widened(start.fitted), start, problem)


def _first_as_good(
    proposals: Iterable[Iterable[Candidate]], start: Hypothesis, problem: LearningProblem
) -> Hypothesis:
    """Fit the proposed sets of candidates in turn, and return the first accepted hypothesis.

    A hypothesis is accepted if it explains the demonstrations as well as `start` (`explains_as_well`) and
    makes no more false claims. If none is accepted, return `start`.
    """
    fitted = (problem.fit(candidates, start) for candidates in proposals)
    for one in fitted:
        if explains_as_well(one.coverage, start.coverage) and (
            problem.false_claims(one) <= problem.false_claims(start)
        ):
            return one
    return start


def explains_as_well(now: Coverage, before: Coverage) -> bool:
    """Return whether the operators of `now` explain each demonstration as well as those of `before`.

    `now` must cover at least as many transitions of the demonstration, and every effect of a step that is
    needed in `before` must be needed in `now`. The needed effects of a step are the atoms that it must add
    for later steps or for the goal.
    """
    return all(
        new.uncovered <= old.uncovered
        and not any(then & ~after for then, after in zip(old.needed, new.needed, strict=True))
        for new, old in zip(now.chains, before.chains, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Member:
    """A candidate in a group of candidates that differ only in types.

    For example, Grasp(?x:book) and Grasp(?y:mug) are in one group. Variables with the same index in
    `variables` correspond, such as ?x and ?y. If they get the same name and type, the members become equal.
    """

    fitted: FittedOperator
    variables: tuple[Variable, ...]

    @property
    def candidate(self) -> Candidate:
        return self.fitted.candidate

    def can_widen(self, types: Types, problem: LearningProblem) -> bool:
        """Return whether the variables can get the given types without losing needed preconditions.

        Preconditions whose predicates do not accept these types are lost. They are needed if the operator
        makes one of them false, or if the evidence for them is at least `MIN_EVIDENCE`.
        """
        widened = dict(zip(self.variables, types, strict=True))
        operator = self.fitted.operator
        lost = {
            atom
            for atom in operator.preconditions
            for variable, kind in zip(atom.variables, atom.predicate.types, strict=True)
            if not widened[variable].is_subtype_of(kind)
        }
        if not lost:
            return True
        if not lost.isdisjoint(operator.delete_effects):
            return False
        weaker = replace(
            self.fitted, operator=replace(operator, preconditions=operator.preconditions - lost)
        )
        index_of = {variable: index for index, variable in enumerate(operator.parameters)}
        keys = frozenset(lifted_key(atom, index_of) for atom in lost)
        return problem.opportunities_of(weaker).bits(keys) < MIN_EVIDENCE

    @property
    def types(self) -> Types:
        return tuple(variable.type for variable in self.variables)

    def widened(self, types: Types) -> Candidate:
        """Return a copy of the candidate in which each variable has the given type.

        It keeps the hints (preferred objects of variables) and the pinned transitions (those that are
        assigned to this candidate even if other candidates match them better).
        """
        renaming = {
            old: Variable(f"?x{index}", kind)
            for index, (old, kind) in enumerate(zip(self.variables, types, strict=True))
        }
        hints = {
            transition: {renaming[variable]: number for variable, number in hint.items()}
            for transition, hint in self.candidate.hints.items()
        }
        return canonical_candidate(rename(self.candidate.operator, renaming), hints, self.candidate.pinned)


class _Merge(NamedTuple):
    """A possible merge: candidates that differ only in types, and the wider types that make them equal."""

    width: int
    types: Types
    members: tuple[_Member, ...]


def _merged(fitted: Sequence[FittedOperator], problem: LearningProblem) -> Iterator[Iterable[Candidate]]:
    """Yield, for each possible merge, all candidates after this merge; the narrowest types come first.

    A merge replaces each candidate that takes part in it by a copy with the wider types. The copies have
    equal operators, but may differ in `Candidate.hints` and `Candidate.pinned`. `merge_duplicates` later
    combines them into one candidate. The other candidates are unchanged.
    """
    for merge in _merges(fitted, problem):
        absorbed = [member.candidate for member in merge.members]
        rest = (one.candidate for one in fitted if one.candidate not in absorbed)
        yield (*rest, *(member.widened(merge.types) for member in merge.members))


def _merges(fitted: Iterable[FittedOperator], problem: LearningProblem) -> list[_Merge]:
    """Return the possible merges of candidates that differ only in types, narrowest types first.

    There is no merge if one of the operators needs a precondition whose predicate does not accept the wider
    types (see `_Member.can_widen`): the merged operator could not require it.
    """
    groups: dict[UntypedForm, list[_Member]] = {}
    for one in fitted:
        found, variables = untyped_form(one.candidate.operator)
        groups.setdefault(found, []).append(_Member(one, variables))
    merges = []
    for group in groups.values():
        pairs = itertools.combinations([member.types for member in group], 2)
        for types in {types for pair in pairs if (types := _common_types(*pair)) is not None}:
            members = tuple(member for member in group if _common_types(member.types, types) == types)
            if all(member.can_widen(types, problem) for member in members):
                merges.append(_Merge(_width(types), types, members))
    return sorted(merges, key=lambda merge: (merge.width, merge.members[0].candidate.text, merge.types))


def _common_types(one: Types, other: Types) -> Types | None:
    """Return, for each index, the nearest common ancestor of the two types at this index.

    Return None if the two types at some index have no common ancestor.
    """
    found = [mine.nearest_common_ancestor(theirs) for mine, theirs in zip(one, other, strict=True)]
    ancestors = tuple(kind for kind in found if kind is not None)
    return ancestors if len(ancestors) == len(found) else None


def _widened(fitted: Sequence[FittedOperator]) -> Iterator[Iterable[Candidate]]:
    """Yield the set of candidates after each possible merge of two quantified deletes of one operator.

    In each set, one candidate has the merged delete and all others are unchanged.
    """
    for widened in fitted:
        candidate = widened.candidate
        rest = [other.candidate for other in fitted if other is not widened]
        for pattern in _wider_patterns(widened.operator.delete_patterns):
            patterns = without_subsumed((*candidate.operator.delete_patterns, pattern))
            operator = replace(candidate.operator, delete_patterns=patterns)
            yield (*rest, canonical_candidate(operator, candidate.hints, candidate.pinned))


def _wider_patterns(patterns: Iterable[DeletePattern]) -> list[DeletePattern]:
    """Merge each pair of delete patterns that can be merged; return the results, narrowest first."""
    pairs = itertools.combinations(patterns, 2)
    found = {wider for pair in pairs if (wider := nearest_common_pattern(*pair)) is not None}
    return sorted(found, key=lambda one: (_width([argument.type for argument in one.arguments]), str(one)))


def _width(types: Iterable[Type]) -> int:
    """Return the total width of types; a type closer to the root of the type hierarchy is wider."""
    return -sum(len(list(kind.ancestry())) for kind in types)
