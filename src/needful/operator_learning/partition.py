"""Assign transitions to candidates, and induce operators from them (PartitionData of the paper).

A candidate is an operator without the parts that are induced from data. Its deletes and most of its
preconditions are induced from the transitions that are assigned to it. A candidate can have a hint for a
transition: a map from variables to preferred objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from itertools import compress
from operator import ne, or_

from needful.abstraction.atom_table import AtomKey
from needful.core.objects import Abbreviated
from needful.core.operators import Operator
from needful.operator_learning.backchaining import OperatorDiff
from needful.operator_learning.candidates import Candidate, merge_duplicates
from needful.operator_learning.encoding import EncodedTransition, TransitionIndex
from needful.operator_learning.induction import (
    Datum,
    Inducer,
    liftable_atoms_before,
    preconditions_by_key,
)
from needful.operator_learning.matching import Match, Matcher

# The score of a match if the transition is pinned to the candidate, that is, always assigned to it. It is
# lower, and thus better, than any other score.
PINNED = -1_000_000_000
# Some transitions of an operator may have no necessary effect, for example because a step was repeated. An
# atom that is false only before such transitions can still be a precondition if they are at most this share
# of the operator's transitions; see `_ineffective`.
TOLERANCE = 0.25
# The maximum number of equally good matches of a transition from which one is chosen; see `_aligned`.
MAX_EQUAL_MATCHES = 8


@dataclass(frozen=True, slots=True, repr=False)
class FittedOperator(Abbreviated):
    """A candidate, the transitions it explains (D_ω), and the operator induced from these transitions.

    `ineffective` contains transitions that were assigned to the candidate, but not used to induce the
    operator. In these transitions, nothing that the operator adds became true, or no necessary atom did. In
    addition, a precondition of the operator did not hold before them. So the step was probably repeated, or
    failed.
    """

    candidate: Candidate
    data: tuple[Datum, ...]
    operator: Operator
    ineffective: tuple[Datum, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Partition(Abbreviated):
    """The transitions of all demonstrations, divided among candidates.

    Attributes:
        transitions: the divided transitions; `needed` and `matches` are indexed by their numbers.
        needed: for each transition, the mask of the atoms that its candidate has to add; None if
            backchaining did not reach the transition.
        matches: for each transition, the best match of a candidate, or None if no candidate explains it.
        fitted: the candidates with at least one transition, and the operators induced for them.
    """

    transitions: TransitionIndex
    needed: tuple[int | None, ...]
    matches: tuple[Match | None, ...]
    fitted: tuple[FittedOperator, ...]

    @classmethod
    def empty(cls, transitions: TransitionIndex) -> Partition:
        """Return the partition without candidates, in which no transition is assigned."""
        count = len(transitions.by_number)
        return cls(transitions, (None,) * count, (None,) * count, ())


def partition(
    candidates: Iterable[Candidate],
    needed: tuple[int | None, ...],
    previous: Partition,
    matcher: Matcher,
    inducer: Inducer,
) -> Partition:
    """Assign each transition to the candidate that explains it best; drop candidates without transitions.

    A transition is only assigned to a candidate that adds all of its `needed` atoms. `previous` is an
    earlier partition of the same transitions; its candidates and needed atoms may differ. Unchanged parts
    are copied from it. This saves time, but does not affect the result.
    """
    merged = merge_duplicates(candidates)
    diff = OperatorDiff.between((one.candidate for one in previous.fitted), merged)
    matches = list(previous.matches)
    moved: list[Match | None] = []
    for transition, competitors, incumbent in _transitions_to_rematch(diff, needed, previous):
        best = _best(competitors, transition, needed[transition.number] or 0, matcher, incumbent)
        earlier = matches[transition.number]
        if best is not earlier:
            matches[transition.number] = best
            moved += (earlier, best)
    changed = {match.text for match in moved if match is not None}
    rows = zip(matches, needed, previous.needed, strict=True)
    changed |= {
        match.text
        for match, now, then in compress(rows, map(ne, needed, previous.needed))
        if match is not None and (now == 0) != (then == 0)
    }
    hints = {one.candidate.text: one.candidate.hints for one in previous.fitted}
    changed |= {one.text for one in merged if one.text in hints and one.hints != hints[one.text]}
    unchanged = {one.candidate.text: one for one in previous.fitted if one.candidate.text not in changed}
    fitted = []
    for candidate in merged:
        if candidate.text in changed:
            data, ineffective = _data(candidate, previous.transitions, matches, needed, matcher)
            if data:
                operator = inducer.fit(candidate.operator, data)
                fitted.append(FittedOperator(candidate, data, operator, ineffective))
        elif candidate.text in unchanged:
            one = unchanged[candidate.text]
            # The induced operator is unchanged, but the candidate may have other pinned transitions.
            fitted.append(one if one.candidate is candidate else replace(one, candidate=candidate))
    return Partition(previous.transitions, needed, tuple(matches), tuple(fitted))


def _transitions_to_rematch(
    diff: OperatorDiff[Candidate], needed: Sequence[int | None], previous: Partition
) -> Iterator[tuple[EncodedTransition, Sequence[Candidate], Match | None]]:
    """Yield each transition whose best match may change, the candidates to try, and the match to beat.

    All candidates of the transition's controller are tried in two cases: if the previous best candidate was
    removed, or if the needed atoms changed so that another candidate may be better. The match to beat is
    then None. Otherwise only new candidates are tried, and they must beat the previous best match.
    """
    rows = zip(previous.transitions.by_number, needed, previous.needed, previous.matches, strict=True)
    open_to_all = {
        transition
        for transition, now, then, match in compress(rows, map(ne, needed, previous.needed))
        if not _match_still_best(match, now or 0, then or 0) or _hinted(transition, diff)
    }
    for one in previous.fitted:
        if one.candidate.text not in diff.unchanged_texts:
            open_to_all.update(transition for transition, _ in (*one.data, *one.ineffective))
    for transition in open_to_all:
        yield transition, diff.by_controller.get(transition.controller.name, ()), None
    for name, new_candidates in diff.new_by_controller.items():
        for transition in previous.transitions.by_controller.get(name, ()):
            if transition not in open_to_all:
                yield transition, new_candidates, previous.matches[transition.number]


def _match_still_best(match: Match | None, now: int, then: int) -> bool:
    """Return whether a transition's best match stays the best if its needed atoms change.

    The needed atoms change from `then` to `now`. The match stays the best under two conditions. First, it
    adds all atoms of `now`. Second, `now` contains all atoms of `then`, so every match that is allowed now
    was allowed before, and was worse. The second condition is not enough if a candidate has a hint
    (preferred objects) for the transition: a better match may have been rejected because of the hint.
    Callers check this with `_hinted`.
    """
    return not then & ~now and (match is None or not now & ~match.adds)


def _hinted(transition: EncodedTransition, diff: OperatorDiff[Candidate]) -> bool:
    competitors = diff.by_controller.get(transition.controller.name, ())
    return any(transition.transition_id in candidate.hints for candidate in competitors)


def _best(
    competitors: Iterable[Candidate],
    transition: EncodedTransition,
    needed: int,
    matcher: Matcher,
    incumbent: Match | None,
) -> Match | None:
    best = incumbent
    for candidate in competitors:
        match = _preferred(candidate, transition, needed, matcher)
        if match is not None and (best is None or match < best):
            best = match
    return best


def _preferred(
    candidate: Candidate, transition: EncodedTransition, needed: int, matcher: Matcher
) -> Match | None:
    """Return the candidate's best match on a transition, or None if it has none.

    If the candidate has a hint (preferred objects of variables) for the transition, the best match that
    agrees with the hint is returned. If no match agrees, the hint is ignored. If the transition is pinned
    to the candidate, the score is `PINNED`.
    """
    matches = matcher.explaining_matches(candidate.operator, transition, needed)
    if not matches:
        return None
    best = matches[0]
    if len(matches) > 1:
        identity = transition.transition_id
        best = next((match for match in matches if candidate.agrees(match.objects, identity)), best)
    if candidate.pinned and transition.transition_id in candidate.pinned:
        # If the transition is pinned to several candidates, their matches get the same score and arity. So
        # the candidate whose text is first in alphabetical order explains the transition.
        return best._replace(score=PINNED, arity=0)
    return best


def _data(
    candidate: Candidate,
    transitions: TransitionIndex,
    matches: Sequence[Match | None],
    needed: Sequence[int | None],
    matcher: Matcher,
) -> tuple[tuple[Datum, ...], tuple[Datum, ...]]:
    """Return the transitions assigned to a candidate: those to learn from, and the ineffective ones.

    `FittedOperator` defines ineffective transitions.
    """
    of_controller = transitions.by_controller.get(candidate.controller.name, ())
    found = ((transition, matches[transition.number]) for transition in of_controller)
    data: list[Datum] = []
    unchanged: list[Datum] = []
    assigned = [(one, match) for one, match in found if match is not None and match.text == candidate.text]
    equal = [_equal_matches(candidate, *one, needed[one[0].number] or 0, matcher) for one in assigned]
    bound = _aligned(candidate, [one for one, _ in assigned], equal)
    for datum, (transition, match) in zip(bound, assigned, strict=True):
        data.append(datum)
        unchanging = not match.changes & ~transition.before
        if transition.skippable and (unchanging or needed[transition.number] == 0):
            unchanged.append(datum)
    if not unchanged or len(unchanged) == len(data):
        return tuple(data), ()
    ineffective = _ineffective(candidate, data, unchanged)
    return tuple(datum for datum in data if datum not in ineffective), tuple(ineffective)


def _equal_matches(
    candidate: Candidate, transition: EncodedTransition, match: Match, needed: int, matcher: Matcher
) -> list[tuple[int, ...]]:
    """Return the objects of a match, then those of other matches that explain the transition equally well.

    Matches are equally good if the same atoms become true. Other matches are returned only if the candidate
    has keep effects (atoms that it requires and predicts to stay true), and no hint (preferred objects) for
    the transition.
    """
    found = [match.objects]
    if candidate.operator.keep_effects and transition.transition_id not in candidate.hints:
        changed = match.changes & ~transition.before
        found += (
            one.objects
            for one in matcher.explaining_matches(candidate.operator, transition, needed)
            if one.objects != match.objects and one.changes & ~transition.before == changed
        )
    return found[:MAX_EQUAL_MATCHES]


def _aligned(
    candidate: Candidate,
    transitions: Sequence[EncodedTransition],
    equal: Sequence[Sequence[tuple[int, ...]]],
) -> Sequence[Datum]:
    """Choose the objects to bind in each transition, so that many atoms hold before all transitions.

    Only atoms that hold before all transitions of an operator become preconditions. So if several choices
    explain a transition equally well, the one with the most atoms in common with the other transitions is
    best. There are two reasons for several choices:

    - `equal` contains, for each transition, the objects of all equally good matches. For example, a robot
      carries one cup past another, and the operator predicts that a cup stays near the robot. Both cups
      fit, but only the carried one is held, as in the other transitions.
    - The objects of interchangeable parameters can be swapped. For example, two people walk together, and
      both change their place. The order matters for preconditions such as Partners(couple, first, second).

    The objects are chosen one transition after the other. Transitions with few choices come first. Among
    equals, those with few atoms come first, because few of their atoms are accidental. If this gives no
    more common atoms than the first match of each transition, the first matches are returned.
    """
    first = [(transition, given[0]) for transition, given in zip(transitions, equal, strict=True)]
    groups = candidate.interchangeable_indices.values()
    varying = {index for group in groups if len(group) > 1 for index in group}
    varying |= {
        index
        for given in equal
        for other in given[1:]
        for index in range(len(other))
        if other[index] != given[0][index]
    }
    if not varying or not first:
        return first
    options: list[list[tuple[Datum, Set[AtomKey]]]] = []
    for transition, given in zip(transitions, equal, strict=True):
        options.append([])
        for objects in (order for one in given for order in candidate.reorderings(one)):
            # Only atoms about the objects of varying parameters depend on the choice.
            about = reduce(or_, (transition.table.with_object(objects[index]) for index in varying))
            held = liftable_atoms_before(candidate.operator, (transition, objects), about)
            options[-1].append(((transition, objects), held.keys()))
    unaligned = frozenset[AtomKey].intersection(*(frozenset(given[0][1]) for given in options))
    chosen = list(first)
    shared: Set[AtomKey] | None = None
    for index in sorted(range(len(options)), key=lambda i: (len(options[i]), len(options[i][0][1]), i)):
        known = options[index][0][1] if shared is None else shared
        chosen[index], atoms = max(options[index], key=lambda one: len(one[1] & known))
        shared = known & atoms
    return chosen if len(shared or ()) > len(unaligned) else first


def _ineffective(candidate: Candidate, data: Sequence[Datum], unchanged: Sequence[Datum]) -> list[Datum]:
    """Return the transitions in `unchanged` before which a precondition of the other transitions is false.

    In the transitions `unchanged`, no add effect or no necessary atom became true. For example, a robot
    executes `open(door)` too far from a door that is already open. If the operator were also learned from
    this step, it would lose the precondition Near(door), because preconditions hold before all transitions.

    But an atom that is false before some transitions may also be no precondition at all. If they are more
    than the share `TOLERANCE` of the transitions, they are not returned because of this atom. There is an
    exception for transitions that are `idle` or `redone` (see `EncodedTransition`), whose action probably
    failed or was repeated: they do not count towards this share, and are returned in any case.
    """
    passive = set(unchanged)
    effective = [datum for datum in data if datum not in passive]
    needs = preconditions_by_key(candidate.operator, effective)
    lacking = {
        key: [one for one in unchanged if not one[0].table.ground((key,), one[1]) & one[0].before]
        for key in needs
    }
    few = TOLERANCE * len(data)
    return [
        one
        for one in unchanged
        if any(
            one in found and (_superfluous(one) or sum(not _superfluous(other) for other in found) <= few)
            for found in lacking.values()
        )
    ]


def _superfluous(datum: Datum) -> bool:
    return datum[0].idle or datum[0].redone
