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
        found[first.operator.name].append(Use(demonstration.states[suffix.step], first.objects))
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
    demonstrations = scorer.abstractor.demonstrations
    false = false_uses(scored, demonstrations)
    ranked: list[list[Proposal]] = []
    for one in scored.data:
        negatives = false.get(one.operator.name, [])
        positives = true_uses(one, scorer.training, demonstrations)
        found = sorted(
            propose(expressions, one.operator, positives, negatives),
            key=lambda p: (-p.value, p.definition.expression.complexity, p.definition),
        )
        ranked.append(found)
    ranked.sort(key=lambda each: -each[0].excluded if each else 0.0)
    chosen: list[Proposal] = []
    seen: set[tuple[bytes, ...]] = {_key(scorer, p.definition) for p in scored.predicates if p.definition}
    rank = 0
    while len(chosen) < limit and any(len(each) > rank for each in ranked):
        for each in ranked:
            if rank < len(each):
                key = _key(scorer, each[rank].definition)
                if key not in seen:
                    seen.add(key)
                    chosen.append(each[rank])
        rank += 1
    return chosen[:limit]


def _key(scorer: Scorer, definition: Definition) -> tuple[bytes, ...]:
    arity = str([t.name for t in definition.expression.arguments]).encode()
    return (arity, *(one.tobytes() for one in scorer.abstractor.extension(definition)))


def climb(
    scorer: Scorer,
    expressions: Sequence[Expression],
    start: Sequence[Predicate] = (),
    limit: int = 120,
    batch: int = 12,
    report: Callable[[str], None] = lambda text: None,
) -> Scored:
    best = scorer.score(start)
    report(f"start {best.cost}")
    while best.cost > 0:
        candidates = proposals(best, scorer, expressions, limit)
        chosen: tuple[float, Scored, Proposal] | None = None
        for begin in range(0, len(candidates), batch):
            for proposal in candidates[begin : begin + batch]:
                predicate = defined_predicate(proposal.definition)
                tried = scorer.score((*best.predicates, predicate), best.cost - 0.5)
                gain = best.cost - tried.cost
                value = gain / proposal.definition.expression.complexity
                if gain >= 0.5 and (chosen is None or value > chosen[0]):
                    chosen = (value, tried, proposal)
            if chosen is not None:
                break
        if chosen is None:
            report(f"no better candidate among {len(candidates)}")
            break
        best = chosen[1]
        report(f"{best.cost:.1f} {chosen[2].operator} {chosen[2].definition.name} [{scorer.calls[0]} calls]")
    return best


def prune(scorer: Scorer, scored: Scored) -> Scored:
    for predicate in scored.predicates:
        without = [one for one in scored.predicates if one is not predicate]
        tried = scorer.score(without, scored.cost)
        if tried.cost <= scored.cost:
            scored = tried
    return scored
