"""Divide the transitions among operators and induce each operator from its share (RECOMPUTE)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import ne

from needful.core.operators import Operator
from needful.operator_learning.candidates import Candidate, merge
from needful.operator_learning.encoding import EncodedTransition, TransitionIndex
from needful.operator_learning.induction import Datum, Inducer
from needful.operator_learning.matching import Match, Matcher
from needful.operator_learning.operator_diff import OperatorDiff

# The score of a match that no other can beat.
PINNED = -1_000_000_000


@dataclass(frozen=True, slots=True)
class FittedOperator:
    """A candidate with the transitions it explains (D_ω) and the operator induced from them."""

    candidate: Candidate
    data: tuple[Datum, ...]
    operator: Operator


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The transitions of all demonstrations divided among candidates.

    Attributes:
        transitions: what is divided; `needed` and `matches` go by the transitions' numbers.
        needed: for each transition the atoms that a candidate had to add to be given it.
        matches: for each transition the best match, None if no candidate explains it.
        fitted: the candidates that got data.
    """

    transitions: TransitionIndex
    needed: tuple[int, ...]
    matches: tuple[Match | None, ...]
    fitted: tuple[FittedOperator, ...]

    @classmethod
    def empty(cls, transitions: TransitionIndex) -> Partition:
        """Return the partition without candidates."""
        count = len(transitions.numbered)
        return cls(transitions, (0,) * count, (None,) * count, ())


def partition(
    candidates: Iterable[Candidate],
    needed: tuple[int, ...],
    known: Partition,
    matcher: Matcher,
    inducer: Inducer,
) -> Partition:
    """Give each transition to the candidate that explains it best; drop candidates without data.

    A transition goes only to candidates that add what it needs. `known` is a partition among other
    candidates or by other needs. What does not change is taken from it, so that the work is that of
    the change; the result is the same whatever is known.
    """
    merged = merge(candidates)
    turnover = OperatorDiff.between((one.candidate for one in known.fitted), merged)
    matches = list(known.matches)
    moved: list[Match | None] = []
    for transition, competitors, incumbent in _transitions_to_rematch(turnover, needed, known):
        best = _best(competitors, transition, needed[transition.number], matcher, incumbent)
        earlier = matches[transition.number]
        if best is not earlier:
            matches[transition.number] = best
            moved += (earlier, best)
    changed = {match.text for match in moved if match is not None}
    unchanged = {one.candidate.text: one for one in known.fitted if one.candidate.text not in changed}
    fitted = []
    for candidate in merged:
        if candidate.text in changed:
            data = _data(candidate, known.transitions, matches)
            if data:
                fitted.append(FittedOperator(candidate, data, inducer.fit(candidate.operator, data)))
        elif candidate.text in unchanged:
            one = unchanged[candidate.text]
            # Its hints may be others, though.
            fitted.append(one if one.candidate is candidate else replace(one, candidate=candidate))
    return Partition(known.transitions, needed, tuple(matches), tuple(fitted))


def _transitions_to_rematch(
    turnover: OperatorDiff[Candidate], needed: Sequence[int], known: Partition
) -> Iterator[tuple[EncodedTransition, Sequence[Candidate], Match | None]]:
    """Yield the transitions whose best match may have changed, with the competitors and the one to beat.

    Everyone competes where the best candidate has gone or the needs have changed so that it may lose.
    Elsewhere only new_by_controller do.
    """
    questions = zip(known.transitions.numbered, needed, known.needed, known.matches, strict=True)
    reopened = {
        transition
        for transition, now, then, match in compress(questions, map(ne, needed, known.needed))
        if not _match_still_best(match, now, then) or _hinted(transition, turnover)
    }
    for one in known.fitted:
        if one.candidate.text not in turnover.unchanged_texts:
            reopened.update(transition for transition, _ in one.data)
    for transition in reopened:
        yield transition, turnover.by_controller.get(transition.controller.name, ()), None
    for name, new_by_controller in turnover.new_by_controller.items():
        for transition in known.transitions.by_controller.get(name, ()):
            if transition not in reopened:
                yield transition, new_by_controller, known.matches[transition.number]


def _match_still_best(match: Match | None, now: int, then: int) -> bool:
    """Return whether the best of all matches stays the best when other atoms are needed.

    It does if all that was needed still is, so that nobody qualifies who did not before, and the match
    adds the rest too. Without hints, that is: they may have kept a better match out of the contest.
    """
    return not then & ~now and (match is None or not now & ~match.adds)


def _hinted(transition: EncodedTransition, turnover: OperatorDiff[Candidate]) -> bool:
    competitors = turnover.by_controller.get(transition.controller.name, ())
    return any(transition.where in candidate.hints for candidate in competitors)


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
    """Return the best grounding, one that agrees with the hint for this transition if there is any."""
    matches = matcher.explaining(candidate.operator, transition, needed)
    if not matches:
        return None
    best = matches[0]
    if len(matches) > 1:
        best = next((match for match in matches if candidate.agrees(match.objects, transition.where)), best)
    if candidate.pinned and transition.where in candidate.pinned:
        # Among several candidates that a transition is pinned to, the first by text gets it.
        return best._replace(score=PINNED, arity=0)
    return best


def _data(
    candidate: Candidate, transitions: TransitionIndex, matches: Sequence[Match | None]
) -> tuple[Datum, ...]:
    competed_for = transitions.by_controller.get(candidate.controller.name, ())
    found = ((transition, matches[transition.number]) for transition in competed_for)
    return tuple(
        (transition, match.objects)
        for transition, match in found
        if match is not None and match.text == candidate.text
    )
