"""Direct implementations of the baselines' definitions, over sets of atoms and all groundings."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom
from needful.core.demonstrations import Demonstration, Transition
from needful.core.objects import Object, Variable
from needful.core.operators import Operator

# The objects of a demonstration, and one of its transitions.
Case = tuple[tuple[Object, ...], Transition]


def cases(demonstrations: Sequence[Demonstration]) -> list[Case]:
    return [(demo.objects, transition) for demo in demonstrations for transition in demo.transitions()]


def effect_objects(transition: Transition) -> list[Object]:
    """Return the controller's arguments, then the other objects of the effects by name."""
    changed = transition.added | transition.deleted
    return list(
        dict.fromkeys((*transition.action.objects, *sorted({o for a in changed for o in a.objects})))
    )


def alike(one: Transition, other: Transition) -> bool:
    """Return whether a renaming that respects types maps one's effects and action to the other's."""
    mine, theirs = effect_objects(one), effect_objects(other)
    if one.action.controller != other.action.controller or len(mine) != len(theirs):
        return False
    for order in itertools.permutations(theirs):
        renaming = dict(zip(mine, order, strict=True))
        if any(a.type != b.type for a, b in renaming.items()):
            continue
        if tuple(renaming[o] for o in one.action.objects) != other.action.objects:
            continue
        if all(
            {GroundAtom(a.predicate, tuple(renaming[o] for o in a.objects)) for a in left} == right
            for left, right in ((one.added, other.added), (one.deleted, other.deleted))
        ):
            return True
    return False


def bindings(operator: Operator, case: Case) -> Iterator[dict[Variable, Object]]:
    """Yield all type-correct bindings with the action's objects; two variables may share an object."""
    objects, transition = case
    domains = [[o for o in sorted(objects) if o.type.is_subtype_of(v.type)] for v in operator.parameters]
    for chosen in itertools.product(*domains):
        binding = dict(zip(operator.parameters, chosen, strict=True))
        if tuple(binding[v] for v in operator.controller_arguments) == transition.action.objects:
            yield binding


def ground(atoms: frozenset[LiftedAtom], binding: dict[Variable, Object]) -> AbstractState:
    return frozenset(atom.ground(binding) for atom in atoms)


def prediction_error(operators: Sequence[Operator], all_cases: Sequence[Case]) -> int:
    false_positives = true_positives = 0
    for case in all_cases:
        transition, predicted = case[1], False
        for operator in operators:
            if operator.controller != transition.action.controller:
                continue
            for binding in itertools.islice(bindings(operator, case), 11):
                if not ground(operator.preconditions, binding) <= transition.before:
                    continue
                adds, deletes = (
                    ground(e, binding) for e in (operator.add_effects, operator.delete_effects)
                )
                if (adds, deletes) == (transition.added, transition.deleted):
                    predicted = True
                else:
                    false_positives += 1
        true_positives += predicted
    return false_positives - 10 * true_positives


def precondition_cost(
    operator: Operator,
    needs: frozenset[LiftedAtom],
    positives: Sequence[tuple[Transition, dict[Variable, Object]]],
    negatives: Sequence[Case],
) -> float:
    true_positives = sum(ground(needs, binding) <= transition.before for transition, binding in positives)
    if not true_positives:
        return math.inf
    false_positives = sum(
        any(ground(needs, binding) <= case[1].before for binding in bindings(operator, case))
        for case in negatives
    )
    variables = {variable for atom in needs for variable in atom.variables}
    return 100 * false_positives - 1000 * true_positives + 10 * len(variables) + len(needs)


def search_preconditions(
    operator: Operator,
    positives: Sequence[tuple[Transition, dict[Variable, Object]]],
    negatives: Sequence[Case],
) -> frozenset[LiftedAtom]:
    """Search greedily, best first and first found first; each step removes one atom."""
    start: frozenset[LiftedAtom] = frozenset()
    for transition, binding in positives:
        lifting = {obj: variable for variable, obj in binding.items()}
        start |= {
            LiftedAtom(atom.predicate, tuple(lifting[o] for o in atom.objects))
            for atom in transition.before
            if set(atom.objects) <= set(lifting)
        }

    def key(atom: LiftedAtom) -> tuple[str, tuple[int, ...]]:
        return atom.predicate.name, tuple(operator.parameters.index(v) for v in atom.variables)

    number = itertools.count()
    best = (precondition_cost(operator, start, positives, negatives), next(number), start)
    queue, seen = [best], {start}
    for _ in range(2500):
        if not queue:
            break
        _, _, atoms = heapq.heappop(queue)
        for atom in sorted(atoms, key=key):
            fewer = atoms - {atom}
            if fewer not in seen:
                seen.add(fewer)
                found = (precondition_cost(operator, fewer, positives, negatives), next(number), fewer)
                best = min(best, found, key=lambda one: one[:2])
                heapq.heappush(queue, found)
    return best[-1]
