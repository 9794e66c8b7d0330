"""Repair a vocabulary with experiments in the simulator: move bounds, and add predicates.

Offline, only demonstrated states are known. The simulator shows where plans really fail. A false use of an
operator asks for a stricter bound or a further predicate, a true use outside a bound for a looser bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from needful.core.atoms import Predicate
from needful.core.definitions import Definition, Expression, defined_predicate
from needful.core.operators import Operator
from needful.invention.experiments import Simulator, Trials
from needful.invention.proposals import Proposal, Use, UseFeatures, between, propose
from needful.invention.search import Scored, Scorer, true_uses

# If a change does not solve more tasks, it must increase the score by this number of tasks.
MIN_IMPROVEMENT = 0.25
# A predicate is proposed if it excludes at least this number of failed uses: one may be an accident.
MIN_EXCLUDED = 2
# At most this number of proposals that exclude the same failed uses are tried.
MAX_EQUIVALENT = 2


@dataclass(frozen=True, slots=True)
class Repair:
    """The result of experiments with a vocabulary.

    Attributes:
        scored: the predicates, and the operators learned with them from all demonstrations.
        accepted: the proposals that were accepted.
        solved: the number of practice tasks that first plans solved, at the start and after each change.
    """

    scored: Scored
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
    """Change a set of predicates as long as first plans get further in the simulator.

    Each round tries moved bounds, and at most `limit` further predicates. Finally, added predicates that do
    not help are removed. `given` are the predicates that are not invented.
    """

    def attempt(changed: Sequence[Predicate]) -> tuple[Scored, Trials]:
        scored = scorer.learn(changed)
        demonstrations = scorer.abstractor.with_predicates(changed)
        return scored, simulator.run(scored.data, demonstrations, (*given, *changed))

    scored, trials = attempt(predicates)
    accepted: list[Proposal] = []
    solved = [trials.solved]
    for _ in range(rounds):
        before = scored
        for change in _changes(scorer, scored, trials, expressions, limit):
            if trials.solved == len(simulator.tasks):
                break
            changed = change.applied_to(scored.predicates)
            if changed == scored.predicates:
                continue
            tried = attempt(changed)
            if tried[1].better_than(trials, MIN_IMPROVEMENT):
                scored, trials = tried
                accepted += [] if change.proposal is None else [change.proposal]
        if scored is before:
            break
        solved.append(trials.solved)
    for proposal in reversed(accepted):
        without = tuple(one for one in scored.predicates if one.definition != proposal.definition)
        if len(without) == len(scored.predicates):  # the bound was moved later, so it matters
            continue
        tried = attempt(without)
        if tried[1].better_than(trials, 0.0):
            scored, trials = tried
            solved.append(trials.solved)
    return Repair(scored, tuple(accepted), tuple(solved))


@dataclass(frozen=True, slots=True)
class _Change:
    """Moved bounds, by the name of the predicate, or a proposal for a further predicate."""

    moved: Mapping[str, Predicate]
    proposal: Proposal | None = None

    def applied_to(self, predicates: Sequence[Predicate]) -> tuple[Predicate, ...]:
        changed = [self.moved.get(one.name, one) for one in predicates]
        if self.proposal is not None:
            added = defined_predicate(self.proposal.definition)
            changed += [] if added in changed else [added]
        return tuple(changed)


def _changes(
    scorer: Scorer, scored: Scored, trials: Trials, expressions: Sequence[Expression], limit: int
) -> Iterator[_Change]:
    """Yield changes that the experiments suggest: moved bounds, then at most `limit` proposals."""
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
    refitted = {one.name: refit(one, operators, uses) for one in scored.predicates}
    moved = {one.name: refitted[one.name] for one in scored.predicates if refitted[one.name] is not one}
    if len(moved) > 1:
        yield _Change(moved)
    for name, predicate in moved.items():
        yield _Change({name: predicate})
    proposals = [
        proposal
        for operator in operators
        for proposal in _clearest(propose(expressions, operator, *uses[operator.name]))
        if len(proposal.which) >= MIN_EXCLUDED
    ]
    proposals.sort(key=lambda proposal: (-proposal.value, proposal.complexity, proposal.definition))
    for proposal in proposals[:limit]:
        yield _Change({}, proposal)


def _clearest(proposals: Iterable[Proposal]) -> Iterator[Proposal]:
    """Yield few of the proposals that exclude the same uses: the simplest ones with the widest margins."""
    groups: dict[tuple[int, ...], list[Proposal]] = {}
    for proposal in proposals:
        groups.setdefault(proposal.which, []).append(proposal)
    for group in groups.values():
        group.sort(key=lambda proposal: (proposal.complexity, -proposal.margin, proposal.definition))
        yield from group[:MAX_EQUIVALENT]


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
