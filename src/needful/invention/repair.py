"""Repair a vocabulary with experiments in the simulator: move bounds, and add predicates.

Offline, only demonstrated states are known. The simulator shows where plans really fail. A false use of an
operator asks for a stricter bound or a further predicate, a true use outside a bound for a looser bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needful.core.atoms import Predicate
from needful.core.definitions import Definition, Expression, defined_predicate
from needful.core.operators import Operator
from needful.invention.experiments import Simulator, Trials
from needful.invention.proposals import Use, _between, _UseFeatures, propose
from needful.invention.search import Scored, Scorer, true_uses


@dataclass(frozen=True, slots=True)
class Tried:
    """A scored vocabulary and the result of its experiments."""

    scored: Scored
    trials: Trials


def repair(
    scorer: Scorer,
    scored: Scored,
    simulator: Simulator,
    given: Sequence[Predicate],
    expressions: Sequence[Expression],
    rounds: int = 6,
    candidates: int = 12,
    report: Callable[[str], None] = lambda text: None,
) -> Scored:
    """Change the vocabulary as long as more first plans work in the simulator."""
    training = range(len(scorer.abstractor.demonstrations))
    scorer = replace(scorer, training=training)

    def attempt(predicates: Sequence[Predicate]) -> Tried:
        scored = scorer.score(predicates, 0.0)
        demonstrations = scorer.abstractor.with_predicates(predicates)
        trials = simulator.run(scored.data, demonstrations, (*given, *predicates))
        return Tried(scored, trials)

    best = attempt(scored.predicates)
    report(f"simulator: {len(best.trials.solved)} of {len(simulator.tasks)}")
    for _ in range(rounds):
        if len(best.trials.solved) == len(simulator.tasks):
            break
        better = None
        for predicates in _changes(scorer, best, expressions, candidates):
            tried = attempt(predicates)
            if len(tried.trials.solved) > len((better or best).trials.solved):
                better = tried
                if len(tried.trials.solved) == len(simulator.tasks):
                    break
        if better is None:
            break
        best = better
        report(f"simulator: {len(best.trials.solved)} with {[p.name for p in best.scored.predicates]}")
    return best.scored


def _changes(
    scorer: Scorer, tried: Tried, expressions: Sequence[Expression], limit: int
) -> Iterator[tuple[Predicate, ...]]:
    """Yield changed sets of predicates: with moved bounds, then with one predicate more."""
    predicates = tried.scored.predicates
    uses = {
        one.operator.name: (
            true_uses(one, scorer.training, scorer.abstractor.demonstrations)
            + list(tried.trials.true.get(one.operator.name, ())),
            list(tried.trials.false.get(one.operator.name, ())),
        )
        for one in tried.scored.data
    }
    operators = [one.operator for one in tried.scored.data]
    moved = {p.name: refit(p, operators, uses) for p in predicates}
    if any(new is not old for old, new in zip(predicates, moved.values(), strict=True)):
        yield tuple(moved.values())
        for index, predicate in enumerate(predicates):
            new = moved[predicate.name]
            if new is not predicate and len(moved) > 1:
                yield (*predicates[:index], new, *predicates[index + 1 :])
    proposals = [
        proposal
        for operator in operators
        for proposal in propose(expressions, operator, *uses[operator.name])
    ]
    proposals.sort(key=lambda proposal: (-proposal.value, proposal.complexity, proposal.definition))
    names = {p.name for p in predicates}
    for proposal in proposals[:limit]:
        if proposal.definition.name not in names:
            yield (*predicates, defined_predicate(proposal.definition))


def refit(
    predicate: Predicate,
    operators: Sequence[Operator],
    uses: Mapping[str, tuple[Sequence[Use], Sequence[Use]]],
) -> Predicate:
    """Return the predicate with a bound between the true and the false uses of operators that need it."""
    definition = predicate.definition
    assert definition is not None
    sign = 1.0 if definition.compare == "<=" else -1.0
    inside: list[float] = []
    outside: list[float] = []
    for operator in operators:
        for atom in sorted(operator.preconditions):
            if atom.predicate != predicate:
                continue
            arguments = tuple(operator.parameters.index(v) for v in atom.variables)
            for found, some in zip((inside, outside), uses[operator.name], strict=True):
                if some:
                    values = sign * _UseFeatures(some).values(definition.expression, arguments)
                    found.extend(values.tolist())
    if not inside:
        return predicate
    limit = max(inside)
    beyond = [value for value in outside if value > limit]
    bound = sign * definition.bound
    if beyond and (min(beyond) <= bound or limit > bound):
        bound = _between(limit, min(beyond))
    elif limit > bound:
        bound = limit + 0.1 * abs(limit - bound)
    if bound == sign * definition.bound:
        return predicate
    return defined_predicate(Definition(definition.expression, definition.compare, float(sign * bound)))
