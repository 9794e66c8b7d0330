"""Search for a set of invented predicates with which the plans of learned operators match demonstrations.

The search adds one predicate per round. The module `proposals` proposes predicates. Each of them excludes
false steps, which lack the predicted effects, from plans that are not longer than the demonstrations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from needful.core.atoms import Predicate
from needful.core.definitions import AnyDefinition, defined_predicate
from needful.core.demonstrations import Demonstration
from needful.core.expressions import Expression
from needful.core.objects import Object, Type, Variable
from needful.core.operators import GroundOperator, Operator, OperatorData
from needful.invention.proposals import Proposal, Use, UseFeatures, propose
from needful.invention.scoring import Scored, Scorer

UsesByName: TypeAlias = Mapping[str, Sequence[Use]]

# A predicate must reduce the cost by at least this amount per unit of complexity.
MIN_GAIN = 0.5
# At most this number of equivalent definitions are recorded for a predicate.
MAX_ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class Climb:
    """The result of the search.

    Attributes:
        scored: the predicates and their score.
        accepted: the proposals that were accepted, in order.
        costs: the cost without invented predicates, then after each accepted proposal.
    """

    scored: Scored
    accepted: tuple[Proposal, ...]
    costs: tuple[float, ...]


def climb(
    scorer: Scorer,
    expressions: Sequence[Expression],
    limit: int,
    blame: Blame,
    start: Sequence[Predicate] = (),
    clear_share: float = 0.0,
    min_evidence: float = float("-inf"),
) -> Climb:
    """Add the predicate with the highest value until no predicate reduces the cost of plans enough.

    `_best_addition` defines the value. The function `blame` finds the steps of plans that proposals should
    exclude; these are called false uses (see `Blame`). Each round considers at most `limit` proposals. A
    proposal is accepted only if its evidence is greater than `min_evidence`, and the weight of the false
    uses that it excludes is at least the share `clear_share` of the initial cost.
    """
    best = scorer.score(start)
    accepted: list[Proposal] = []
    costs = [best.cost]
    while best.cost > 0:
        proposals = _ranked_proposals(best, scorer, expressions, limit, blame, min_evidence)
        chosen = _best_addition(best, scorer, proposals, clear_share * costs[0])
        if chosen is None:
            break
        proposal, best = chosen
        accepted.append(proposal)
        costs.append(best.cost)
    return Climb(best, tuple(accepted), tuple(costs))


def _best_addition(
    current: Scored, scorer: Scorer, proposals: Sequence[Proposal], least_excluded: float
) -> tuple[Proposal, Scored] | None:
    """Return the proposal with the highest value, and the scored predicates that include it.

    The value of a proposal is the reduction of the cost, but at most `Proposal.excluded`, divided by the
    proposal's complexity. So `Proposal.value` is an upper bound of the value. The proposals are sorted by
    this bound, and are tried until it is below the best value. Return None if no value reaches `MIN_GAIN`.

    A proposal is rejected if the operators learned with it do not generalise to all demonstrations. All
    proposals with the same types of arguments are then rejected too: they usually hold in the same states.
    """
    rejected: set[tuple[Type, ...]] = set()
    chosen: tuple[Proposal, Scored] | None = None
    best_value = MIN_GAIN
    for proposal in proposals:
        if proposal.value < best_value:
            break
        if proposal.excluded < least_excluded or proposal.definition.arguments in rejected:
            continue
        needed = best_value * proposal.complexity
        predicate = defined_predicate(proposal.definition)
        tried = scorer.score((*current.predicates, predicate), current.cost - needed)
        gain = current.cost - tried.cost
        value = min(gain, proposal.excluded) / proposal.complexity
        if value > best_value or (value == best_value and chosen is None):
            if scorer.generalises(tried):
                best_value, chosen = value, (proposal, tried)
            else:
                rejected.add(proposal.definition.arguments)
    return chosen


def prune(scorer: Scorer, scored: Scored) -> Scored:
    """Remove predicates as long as the cost does not increase."""
    for predicate in scored.predicates:
        without = [one for one in scored.predicates if one is not predicate]
        tried = scorer.score(without, scored.cost)
        if tried.cost <= scored.cost:
            scored = tried
    return scored


# A function that finds the steps that make plans differ from demonstrations. It returns two maps from the
# names of operators to uses in the plans of a `Scored`: true uses, which had the predicted effects, and
# false uses, which did not.
Blame: TypeAlias = Callable[[Scored], tuple[UsesByName, UsesByName]]


def first_steps(scored: Scored, demonstrations: Sequence[Demonstration]) -> tuple[UsesByName, UsesByName]:
    """Return the first steps of plans as false uses; this is the `Blame` function without a simulator.

    A first step counts as false if it differs from the demonstrated action, and the plan is not longer than
    the rest of the demonstration. There are no true uses, because no step is known to succeed.
    """
    found: dict[str, list[Use]] = defaultdict(list)
    for suffix in scored.suffixes:
        demonstration = demonstrations[suffix.demonstration]
        if not suffix.suspicious(demonstration) or not suffix.plan:
            continue
        first, shown = suffix.plan[0], demonstration.actions[suffix.step]
        if (first.operator.controller, first.controller_objects) != (shown.controller, shown.objects):
            assert demonstration.states is not None
            use = Use(demonstration.states[suffix.step], first.objects, suffix.cost)
            found[first.operator.name].append(use)
    return {}, found


def true_uses(
    data: OperatorData, training: Sequence[int], demonstrations: Sequence[Demonstration]
) -> list[Use]:
    """Return the demonstrated uses of an operator.

    The operator was learned from the `demonstrations` with the indices `training`. A use counts even if a
    precondition with an invented predicate did not hold: the bound of this predicate may be too strict.
    Such uses are found only if all parameters of the operator are arguments of its controller.
    """
    operator = data.operator
    found = {(training[one.demonstration], one.step, one.objects): None for one in data.groundings}
    if set(operator.parameters) == set(operator.controller_arguments):
        for index in training:
            working = _working_steps(operator, demonstrations[index])
            found |= {(index, step, objects): None for step, objects in working}
    uses = []
    for index, step, objects in found:
        states = demonstrations[index].states
        assert states is not None
        uses.append(Use(states[step], objects))
    return uses


def _working_steps(
    operator: Operator, demonstration: Demonstration
) -> Iterator[tuple[int, tuple[Object, ...]]]:
    """Yield the demonstrated steps at which the operator works, with the objects of its parameters."""
    for step, action in enumerate(demonstration.actions):
        if action.controller == operator.controller:
            objects = _bind(operator, action.objects)
            if objects and _works(operator.ground(objects), demonstration, step):
                yield step, objects


def _bind(operator: Operator, arguments: Sequence[Object]) -> tuple[Object, ...] | None:
    """Return the object of each operator parameter, given the arguments of the executed controller.

    Return None if an object has the wrong type, or if objects and parameters do not correspond one to one.
    """
    bound: dict[Variable, Object] = {}
    for variable, obj in zip(operator.controller_arguments, arguments, strict=True):
        if bound.setdefault(variable, obj) != obj or not obj.type.is_subtype_of(variable.type):
            return None
    objects = tuple(bound[variable] for variable in operator.parameters)
    return objects if len(set(objects)) == len(objects) else None


def _works(operator: GroundOperator, demonstration: Demonstration, step: int) -> bool:
    """Return whether a demonstrated step made all add effects true, and at least one was false before.

    The preconditions must hold, except those with invented predicates.
    """
    assert demonstration.states is not None
    before, after = (
        {
            atom: atom.holds(demonstration.states[index])
            if atom.predicate.definition is not None
            else atom in demonstration.abstract_states[index]
            for atom in operator.preconditions | operator.add_effects
        }
        for index in (step, step + 1)
    )
    needed = (one for one in operator.preconditions if one.predicate.definition is None)
    return (
        all(before[atom] for atom in needed)
        and all(after[atom] for atom in operator.add_effects)
        and not all(before[atom] for atom in operator.add_effects)
    )


def _ranked_proposals(
    scored: Scored,
    scorer: Scorer,
    expressions: Sequence[Expression],
    limit: int,
    blame: Blame,
    min_evidence: float,
) -> list[Proposal]:
    """Return the most valuable proposals with more evidence than `min_evidence`, in order.

    If several proposals hold in the same demonstrated states, the most valuable one is kept, and the others
    become its alternatives.
    """
    true, false = blame(scored)
    known = []
    for one in scored.data:
        shown = true_uses(one, scorer.training, scorer.abstractor.demonstrations)
        known.append((one.operator, UseFeatures((*shown, *true.get(one.operator.name, ())))))
    used = {
        part.without_bound
        for one in scored.predicates
        if one.definition
        for part, _ in one.definition.parts
    }
    found: list[Proposal] = []
    for operator, features in known:
        scorer.deadline.check()
        failed = UseFeatures(false.get(operator.name, ()))
        proposals = propose(expressions, operator, features, failed, known, min_evidence)
        found += not_weaker(
            [replace(one, reuses=one.definition.without_bound in used) for one in proposals]
        )
    found.sort(key=lambda proposal: (-proposal.value, proposal.complexity, proposal.definition))
    chosen: dict[tuple[bytes, ...], Proposal | None] = {
        _extension_key(scorer, one.definition): None for one in scored.predicates if one.definition
    }
    old = len(chosen)
    for proposal in found:
        key = _extension_key(scorer, proposal.definition)
        first = chosen.setdefault(key, proposal)
        if first is not None and first.definition != proposal.definition:
            if len(first.alternatives) < MAX_ALTERNATIVES:
                others = (*first.alternatives, proposal.definition)
                chosen[key] = replace(first, alternatives=others)
        elif len(chosen) - old == limit:
            break
    return [one for one in chosen.values() if one is not None]


def not_weaker(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals for an operator that are not weaker than the one with the most evidence.

    A proposal is weaker if it excludes only some of the false uses (failures) that the other one excludes,
    and is not simpler. For example, a distance in x excludes fewer failures than the distance in x and y.
    """
    if not proposals:
        return
    strongest = max(proposals, key=lambda one: one.evidence)
    excluded = set(strongest.which)
    for proposal in proposals:
        if proposal.complexity < strongest.complexity or not excluded > set(proposal.which):
            yield proposal


def _extension_key(scorer: Scorer, definition: AnyDefinition) -> tuple[bytes, ...]:
    types = str([kind.name for kind in definition.arguments]).encode()
    return (types, *(one.tobytes() for one in scorer.abstractor.extension(definition)))
