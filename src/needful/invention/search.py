"""Search for a set of invented predicates whose operators plan as the demonstrations do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from needful.core.atoms import Predicate
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.definitions import Definition, Expression, defined_predicate
from needful.core.demonstrations import Demonstration
from needful.core.operators import Operator, OperatorData
from needful.invention.abstracted import DemonstrationAbstractor
from needful.invention.objective import Suffix, plan_suffixes
from needful.invention.proposals import Proposal, Use, propose
from needful.planning.interfaces import Planner
from needful.planning.planners import default_planner


# A predicate must reduce the cost at least by this amount per complexity.
MIN_GAIN = 0.5


@dataclass(frozen=True, slots=True)
class Scored:
    """A set of invented predicates, the operators learned with it, and its score.

    Attributes:
        predicates: the invented predicates.
        data: the learned operators with their transitions.
        suffixes: the plans from the states of the scoring demonstrations.
    """

    predicates: tuple[Predicate, ...]
    data: tuple[OperatorData, ...]
    suffixes: tuple[Suffix, ...]

    @property
    def cost(self) -> float:
        """The total cost of the plans."""
        return sum(suffix.cost for suffix in self.suffixes)


@dataclass(frozen=True, slots=True)
class Scorer:
    abstractor: DemonstrationAbstractor
    learn: Callable[[Sequence[Demonstration]], Sequence[OperatorData]]
    training: Sequence[int]
    scoring: Sequence[int]
    planner: Planner
    max_nodes: int
    calls: list[int] = field(default_factory=lambda: [0])

    def score(self, predicates: Sequence[Predicate], stop_above: float = float("inf")) -> Scored:
        self.calls[0] += 1
        demonstrations = self.abstractor.with_predicates(predicates)
        data = tuple(self.learn([demonstrations[i] for i in self.training]))
        operators = [one.operator for one in data]
        suffixes = plan_suffixes(
            operators, demonstrations, self.scoring, self.planner, self.max_nodes, stop_above
        )
        return Scored(tuple(predicates), data, suffixes)


def false_uses(scored: Scored, demonstrations: Sequence[Demonstration]) -> dict[str, list[Use]]:
    found: dict[str, list[Use]] = defaultdict(list)
    for suffix in scored.suffixes:
        if not suffix.plan or suffix.cost == 0:
            continue
        demonstration = demonstrations[suffix.demonstration]
        first, shown = suffix.plan[0], demonstration.actions[suffix.step]
        if len(suffix.plan) > len(demonstration) - suffix.step:
            continue
        if (first.operator.controller, first.controller_objects) == (shown.controller, shown.objects):
            continue
        assert demonstration.states is not None
        found[first.operator.name].append(
            Use(demonstration.states[suffix.step], first.objects, suffix.cost)
        )
    return found


def true_uses(
    data: OperatorData, training: Sequence[int], demonstrations: Sequence[Demonstration]
) -> list[Use]:
    uses = []
    for grounding in data.groundings:
        states = demonstrations[training[grounding.demonstration]].states
        assert states is not None
        uses.append(Use(states[grounding.step], grounding.objects))
    return uses


def proposals(
    scored: Scored, scorer: Scorer, expressions: Sequence[Expression], limit: int
) -> list[Proposal]:
    """Return the most valuable proposals, in order; of those that hold in the same states, the simplest."""
    demonstrations = scorer.abstractor.demonstrations
    false = false_uses(scored, demonstrations)
    found = [
        proposal
        for one in scored.data
        for proposal in propose(
            expressions,
            one.operator,
            true_uses(one, scorer.training, demonstrations),
            false.get(one.operator.name, []),
        )
    ]
    found.sort(key=lambda proposal: (-proposal.value, proposal.complexity, proposal.definition))
    seen = {_key(scorer, p.definition) for p in scored.predicates if p.definition}
    chosen: list[Proposal] = []
    for proposal in found:
        key = _key(scorer, proposal.definition)
        if key not in seen:
            seen.add(key)
            chosen.append(proposal)
        if len(chosen) == limit:
            break
    return chosen


def _key(scorer: Scorer, definition: Definition) -> tuple[bytes, ...]:
    arity = str([t.name for t in definition.expression.arguments]).encode()
    return (arity, *(one.tobytes() for one in scorer.abstractor.extension(definition)))


def climb(
    scorer: Scorer,
    expressions: Sequence[Expression],
    start: Sequence[Predicate] = (),
    limit: int = 60,
    report: Callable[[str], None] = lambda text: None,
) -> Scored:
    """Add the predicate with the highest value until no predicate reduces the cost."""
    best = scorer.score(start)
    report(f"start {best.cost}")
    while best.cost > 0:
        chosen = _best_addition(best, scorer, expressions, limit)
        if chosen is None:
            break
        proposal, best = chosen
        report(f"{best.cost:.1f} {proposal.operator} {proposal.definition.name} [{scorer.calls[0]} calls]")
    return best


def _best_addition(
    current: Scored, scorer: Scorer, expressions: Sequence[Expression], limit: int
) -> tuple[Proposal, Scored] | None:
    """Return the proposal with the highest value, and the score with it; None if none reduces the cost.

    The value of a proposal is its credit per complexity. A predicate gets credit for the reduction of the
    cost, but at most for the cost of the false steps that it excludes. So the excluded cost bounds the
    value, and the search ends at the first proposal whose bound is not higher than the best value.
    """
    chosen: tuple[Proposal, Scored] | None = None
    best_value = 0.0
    for proposal in proposals(current, scorer, expressions, limit):
        if proposal.value <= best_value:
            break
        needed = max(MIN_GAIN, best_value) * proposal.complexity
        predicate = defined_predicate(proposal.definition)
        tried = scorer.score((*current.predicates, predicate), current.cost - needed)
        gain = current.cost - tried.cost
        value = min(gain, proposal.excluded) / proposal.complexity
        if gain >= needed and value > best_value:
            best_value, chosen = value, (proposal, tried)
    return chosen


def prune(scorer: Scorer, scored: Scored) -> Scored:
    for predicate in scored.predicates:
        without = [one for one in scored.predicates if one is not predicate]
        tried = scorer.score(without, scored.cost)
        if tried.cost <= scored.cost:
            scored = tried
    return scored
