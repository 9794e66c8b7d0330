"""Repair a vocabulary with experiments in the simulator: move bounds, and add predicates.

Offline, only demonstrated states are known. The simulator shows where plans really fail. A false use of an
operator asks for a stricter bound or a further predicate, a true use outside a bound for a looser bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from needful.core.atoms import Predicate
from needful.core.definitions import Definition, Expression, defined_predicate
from needful.core.operators import Operator
from needful.invention.experiments import Simulator, Trials
from needful.invention.proposals import Proposal, Use, UseFeatures, between, propose
from needful.invention.search import Scored, Scorer, true_uses


@dataclass(frozen=True, slots=True)
class Repair:
    """The result of experiments with a vocabulary.

    Attributes:
        scored: the predicates, and the operators learned with them from all demonstrations.
        trials: the experiments with them.
        accepted: the proposals that were accepted.
        solved: the number of practice tasks that first plans solved, at the start and after each change.
    """

    scored: Scored
    trials: Trials
    accepted: tuple[Proposal, ...]
    solved: tuple[int, ...]


def repair(
    scorer: Scorer,
    predicates: Sequence[Predicate],
    simulator: Simulator,
    given: Sequence[Predicate],
    expressions: Sequence[Expression],
    rounds: int,
    limit: int,
) -> Repair:
    """Change a set of predicates as long as more first plans work in the simulator.

    Each round tries moved bounds, and at most `limit` further predicates. Finally, predicates that do not
    help are removed. `given` are the predicates that are not invented.
    """

    def attempt(changed: Sequence[Predicate]) -> tuple[Scored, Trials]:
        scored = scorer.learn(changed)
        demonstrations = scorer.abstractor.with_predicates(changed)
        return scored, simulator.run(scored.data, demonstrations, (*given, *changed))

    scored, trials = attempt(predicates)
    accepted: list[Proposal] = []
    solved = [len(trials.solved)]
    for _ in range(rounds):
        if solved[-1] == len(simulator.tasks):
            break
        better, most = None, solved[-1]
        for changed, proposal in _changes(scorer, scored, trials, expressions, limit):
            tried = attempt(changed)
            if len(tried[1].solved) > most:
                better, most = (tried, proposal), len(tried[1].solved)
                if most == len(simulator.tasks):
                    break
        if better is None:
            break
        (scored, trials), added = better
        accepted += [] if added is None else [added]
        solved.append(most)
    return Repair(scored, trials, tuple(accepted), tuple(solved))


def _changes(
    scorer: Scorer, scored: Scored, trials: Trials, expressions: Sequence[Expression], limit: int
) -> Iterator[tuple[tuple[Predicate, ...], Proposal | None]]:
    """Yield changed sets of predicates: with moved bounds, then with one proposal more."""
    predicates = scored.predicates
    demonstrations = scorer.abstractor.demonstrations
    uses = {
        one.operator.name: (
            true_uses(one, range(len(demonstrations)), demonstrations)
            + list(trials.true.get(one.operator.name, ())),
            list(trials.false.get(one.operator.name, ())),
        )
        for one in scored.data
    }
    operators = [one.operator for one in scored.data]
    moved = {p.name: refit(p, operators, uses) for p in predicates}
    if any(new is not old for old, new in zip(predicates, moved.values(), strict=True)):
        yield tuple(moved.values()), None
        for index, predicate in enumerate(predicates):
            new = moved[predicate.name]
            if new is not predicate and len(moved) > 1:
                yield (*predicates[:index], new, *predicates[index + 1 :]), None
    proposals = [
        proposal
        for operator in operators
        for proposal in propose(expressions, operator, *uses[operator.name])
    ]
    proposals.sort(key=lambda proposal: (-proposal.value, proposal.complexity, proposal.definition))
    names = {p.name for p in predicates}
    for proposal in proposals[:limit]:
        if proposal.definition.name not in names:
            yield (*predicates, defined_predicate(proposal.definition)), proposal


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
                    values = sign * UseFeatures(some).values(definition.expression, arguments)
                    found.extend(values.tolist())
    if not inside:
        return predicate
    limit = max(inside)
    beyond = [value for value in outside if value > limit]
    bound = sign * definition.bound
    if beyond and (min(beyond) <= bound or limit > bound):
        bound = between(limit, min(beyond))
    elif limit > bound:
        bound = limit + 0.1 * abs(limit - bound)
    if bound == sign * definition.bound:
        return predicate
    return defined_predicate(Definition(definition.expression, definition.compare, float(sign * bound)))
