"""Divide the transitions among operators and induce each operator from its share (RECOMPUTE)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needful.core.operators import Operator
from needful.operator_learning.candidates import Candidate, merge
from needful.operator_learning.encoding import EncodedDemonstration, EncodedTransition
from needful.operator_learning.induction import Datum, Inducer
from needful.operator_learning.matching import Match, Matcher
from needful.operator_learning.objective import Coverage


@dataclass(frozen=True, slots=True)
class FittedOperator:
    """A candidate with the transitions it explains (D_ω) and the operator induced from them."""

    candidate: Candidate
    data: tuple[Datum, ...]
    operator: Operator


def partition(
    candidates: Iterable[Candidate],
    coverage: Coverage,
    demonstrations: Sequence[EncodedDemonstration],
    matcher: Matcher,
    inducer: Inducer,
) -> tuple[FittedOperator, ...]:
    """Give each transition to the candidate that explains it best; drop candidates without data.

    A transition whose necessary atoms are known goes only to candidates that add what it needs.
    """
    merged = merge(candidates)
    by_controller: dict[str, list[Candidate]] = {}
    for candidate in merged:
        by_controller.setdefault(candidate.operator.controller.name, []).append(candidate)
    shares: dict[Operator, list[Datum]] = {candidate.operator: [] for candidate in merged}
    for demonstration in demonstrations:
        for transition in demonstration.transitions:
            rivals = by_controller.get(transition.controller.name, ())
            chosen = _best(rivals, transition, coverage, matcher)
            if chosen is not None:
                match, candidate = chosen
                shares[candidate.operator].append((transition, match.objects))
    fitted = []
    for candidate in merged:
        data = tuple(shares[candidate.operator])
        if data:
            fitted.append(FittedOperator(candidate, data, inducer.fit(candidate.operator, data)))
    return tuple(fitted)


def _best(
    rivals: Iterable[Candidate], transition: EncodedTransition, coverage: Coverage, matcher: Matcher
) -> tuple[Match, Candidate] | None:
    needed = (coverage.necessary_after(transition) or 0) & ~transition.before
    best: tuple[Match, Candidate] | None = None
    for candidate in rivals:
        match = _preferred(candidate, transition, needed, matcher)
        if match is None:
            continue
        if (transition.demonstration, transition.step) in candidate.pinned:
            return match, candidate
        if best is None or match < best[0]:
            best = (match, candidate)
    return best


def _preferred(
    candidate: Candidate, transition: EncodedTransition, needed: int, matcher: Matcher
) -> Match | None:
    """Return the best grounding, one that agrees with the hint for this transition if there is any."""
    matches = matcher.explaining(candidate.operator, transition, needed)
    where = (transition.demonstration, transition.step)
    agreeing = (match for match in matches if candidate.agrees(match.objects, where))
    return next(agreeing, matches[0] if matches else None)
