"""Assign transitions to candidates, and induce an operator from the transitions of each (RECOMPUTE).

Candidates are stripped operators. Their hints are, for some transitions, preferred objects of variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import ne

from needful.core.operators import Operator
from needful.operator_learning.candidates import Candidate, merge_duplicates
from needful.operator_learning.encoding import EncodedTransition, TransitionIndex
from needful.operator_learning.induction import Datum, Inducer
from needful.operator_learning.matching import Match, Matcher
from needful.operator_learning.operator_diff import OperatorDiff

# The score of a match on a transition that is pinned to its candidate: better (lower) than any other.
PINNED = -1_000_000_000


@dataclass(frozen=True, slots=True)
class FittedOperator:
    """A candidate with the transitions it explains (D_ω) and the operator induced from them."""

    candidate: Candidate
    data: tuple[Datum, ...]
    operator: Operator

    def __repr__(self) -> str:
        return f"FittedOperator({self.operator.name!r}, transitions={len(self.data)})"


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The transitions of all demonstrations, divided among candidates.

    Attributes:
        transitions: the divided transitions; `needed` and `matches` are indexed by their numbers.
        needed: for each transition the atoms that its candidate has to add.
        matches: for each transition the best match, None if no candidate explains it.
        fitted: the candidates with at least one transition, and the operators induced for them.
    """

    transitions: TransitionIndex
    needed: tuple[int, ...]
    matches: tuple[Match | None, ...]
    fitted: tuple[FittedOperator, ...]

    def __repr__(self) -> str:
        return f"Partition(transitions={len(self.matches)}, operators={len(self.fitted)})"

    @classmethod
    def empty(cls, transitions: TransitionIndex) -> Partition:
        """Return the partition without candidates."""
        count = len(transitions.by_number)
        return cls(transitions, (0,) * count, (None,) * count, ())


def partition(
    candidates: Iterable[Candidate],
    needed: tuple[int, ...],
    previous: Partition,
    matcher: Matcher,
    inducer: Inducer,
) -> Partition:
    """Assign each transition to the candidate that explains it best; drop candidates that get none.

    A transition is only assigned to candidates that add its `needed` atoms. `previous` is a partition among
    other candidates or with other needed atoms. It saves time, because unchanged parts are taken from it,
    but does not affect the result.
    """
    merged = merge_duplicates(candidates)
    diff = OperatorDiff.between((one.candidate for one in previous.fitted), merged)
    matches = list(previous.matches)
    moved: list[Match | None] = []
    for transition, competitors, incumbent in _transitions_to_rematch(diff, needed, previous):
        best = _best(competitors, transition, needed[transition.number], matcher, incumbent)
        earlier = matches[transition.number]
        if best is not earlier:
            matches[transition.number] = best
            moved += (earlier, best)
    changed = {match.text for match in moved if match is not None}
    unchanged = {one.candidate.text: one for one in previous.fitted if one.candidate.text not in changed}
    fitted = []
    for candidate in merged:
        if candidate.text in changed:
            data = _data(candidate, previous.transitions, matches)
            if data:
                fitted.append(FittedOperator(candidate, data, inducer.fit(candidate.operator, data)))
        elif candidate.text in unchanged:
            one = unchanged[candidate.text]
            # The operator is the same, but hints or pinned transitions of the candidate may be new.
            fitted.append(one if one.candidate is candidate else replace(one, candidate=candidate))
    return Partition(previous.transitions, needed, tuple(matches), tuple(fitted))


def _transitions_to_rematch(
    diff: OperatorDiff[Candidate], needed: Sequence[int], previous: Partition
) -> Iterator[tuple[EncodedTransition, Sequence[Candidate], Match | None]]:
    """Yield each transition whose best match may change, the candidates to try, and the match to beat.

    All candidates of the controller are tried if the previous best candidate is gone, or if the needed
    atoms changed so that another candidate may be better. The match to beat is then None. Otherwise only
    new candidates are tried, and the match to beat is the previous best match.
    """
    rows = zip(previous.transitions.by_number, needed, previous.needed, previous.matches, strict=True)
    open_to_all = {
        transition
        for transition, now, then, match in compress(rows, map(ne, needed, previous.needed))
        if not _match_still_best(match, now, then) or _hinted(transition, diff)
    }
    for one in previous.fitted:
        if one.candidate.text not in diff.unchanged_texts:
            open_to_all.update(transition for transition, _ in one.data)
    for transition in open_to_all:
        yield transition, diff.by_controller.get(transition.controller.name, ()), None
    for name, new_candidates in diff.new_by_controller.items():
        for transition in previous.transitions.by_controller.get(name, ()):
            if transition not in open_to_all:
                yield transition, new_candidates, previous.matches[transition.number]


def _match_still_best(match: Match | None, now: int, then: int) -> bool:
    """Return whether a transition's best match stays the best if its needed atoms change.

    The needed atoms change from `then` to `now`. The match stays the best under two conditions: `now`
    contains all atoms of `then`, so that no further candidate qualifies, and the match adds all atoms of
    `now`. Hints are ignored here, although they may have excluded a better match; `_hinted` checks them.
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
    agrees with the hint is returned. If no match agrees, the hint is ignored.
    """
    matches = matcher.explaining_matches(candidate.operator, transition, needed)
    if not matches:
        return None
    best = matches[0]
    if len(matches) > 1:
        identity = transition.transition_id
        best = next((match for match in matches if candidate.agrees(match.objects, identity)), best)
    if candidate.pinned and transition.transition_id in candidate.pinned:
        # If a transition is pinned to several candidates, their scores and arities are equal, so it is
        # assigned to the candidate whose text comes first.
        return best._replace(score=PINNED, arity=0)
    return best


def _data(
    candidate: Candidate, transitions: TransitionIndex, matches: Sequence[Match | None]
) -> tuple[Datum, ...]:
    of_controller = transitions.by_controller.get(candidate.controller.name, ())
    found = ((transition, matches[transition.number]) for transition in of_controller)
    return tuple(
        (transition, match.objects)
        for transition, match in found
        if match is not None and match.text == candidate.text
    )
