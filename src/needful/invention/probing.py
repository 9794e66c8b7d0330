"""Probe in the simulator how far beyond a bound an operator still works, and widen the bound.

An invented predicate compares a value, such as a distance, with a bound. The bound is fitted to the known
uses of operators that had the predicted effects. If an action without parameters makes the predicate true,
the value may be about the same in all these uses. For example, a gripper always stops exactly above a
screw. Such uses do not show how much the value can vary. If the bound is too strict, other values cannot be
tried, because the action has no parameters. So the operators that need the predicate are executed in
demonstrated states in which all their other preconditions hold, but the value is beyond the bound. The new
bound is halfway between the farthest success and the nearest failure.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.definitions import Definition
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object
from needful.core.operators import GroundOperator, Operator, OperatorData
from needful.core.state import State
from needful.invention.experiments import Simulator
from needful.invention.proposals import SLACK, Use, between
from needful.invention.revise import replace_parts

# The maximum number of uses of an operator that `probe_elsewhere` executes.
MAX_PROBES = 40
# The maximum number of demonstrated uses of an operator in which `collect_probes` replaces objects.
MAX_SHOWN = 20

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Probe:
    """An operator in a state in which everything that it needs holds, except one comparison with a bound.

    The comparison is part of an invented predicate. `excess` is the distance of its value from the bound.
    """

    excess: float
    state: State
    step: GroundOperator


@dataclass(frozen=True, slots=True)
class Widened:
    """Predicates with wider bounds, and the uses of operators that were executed to find them.

    `true` and `false` contain the uses in which the effects came true and those in which they did not, by
    the operators' names.
    """

    predicates: tuple[Predicate, ...]
    true: dict[str, list[Use]]
    false: dict[str, list[Use]]


def widen_bounds(
    predicates: Sequence[Predicate],
    data: Sequence[OperatorData],
    demonstrations: Sequence[Demonstration],
    simulator: Simulator,
) -> Widened:
    """Widen the bounds of predicates as far as operators still work in the simulator.

    Only predicates that an action without parameters makes true are probed. `data` was learned from the
    `demonstrations`, which contain the atoms of all `predicates`.
    """
    fixed = _fixed(data)
    samplers = simulator.samplers(data, demonstrations)
    found = Widened((), defaultdict(list), defaultdict(list))

    def works(probe: Probe) -> bool:
        succeeds = simulator.works(probe.step, probe.state, samplers)
        uses = found.true if succeeds else found.false
        uses[probe.step.operator.name].append(Use(probe.state, probe.step.objects))
        return succeeds

    wider = []
    for predicate in predicates:
        changes = {}
        if predicate in fixed and predicate.definition is not None:
            for part, positions in predicate.definition.parts:
                probes = [
                    probe
                    for one in data
                    for atom in sorted(one.operator.preconditions)
                    if atom.predicate == predicate
                    for probe in collect_probes(one, atom, part, positions, demonstrations)
                ]
                changes[part] = widened(part, probes, works)
        wider.append(replace_parts(predicate, changes))
    return replace(found, predicates=tuple(wider))


def _fixed(data: Sequence[OperatorData]) -> set[Predicate]:
    """Return the invented predicates that an action without parameters makes true."""
    return {
        atom.predicate
        for one in data
        if not one.operator.controller.dimension
        for atom in one.operator.add_effects
        if atom.predicate.definition is not None
    }


def needs_fixed(operator: Operator, data: Sequence[OperatorData]) -> bool:
    """Return whether an operator needs a predicate from `_fixed`.

    Such an invented predicate is made true by an action without parameters.
    """
    return not _fixed(data).isdisjoint(atom.predicate for atom in operator.preconditions)


def collect_probes(
    data: OperatorData,
    atom: LiftedAtom,
    part: Definition,
    positions: tuple[int, ...],
    demonstrations: Sequence[Demonstration],
) -> Iterator[Probe]:
    """Yield uses of an operator in which only `part`, a part of its precondition `atom`, does not hold.

    Each use is a demonstrated use in which one of the atom's objects is replaced by another. At most
    `MAX_SHOWN` demonstrated uses are considered. `part` is a comparison in the definition of the atom's
    predicate. `positions` contains, for each argument of the part, its index among the arguments of the
    atom.
    """
    operator = data.operator
    indices = [operator.parameters.index(variable) for variable in atom.variables]
    sign = 1.0 if part.compare == "<=" else -1.0
    for grounding in _at_intervals(data.groundings, MAX_SHOWN):
        states = demonstrations[grounding.demonstration].states
        assert states is not None
        state = states[grounding.step]
        for objects in _variants(operator, grounding.objects, indices, state):
            chosen = [objects[indices[position]] for position in positions]
            excess = sign * (part.expression.value(state, chosen) - part.bound)
            if excess > 0 and math.isfinite(excess):
                step = operator.ground(objects)
                if _only_false(part, step, atom, state):
                    yield Probe(float(excess), state, step)


def _at_intervals(items: Sequence[Item], limit: int) -> Sequence[Item]:
    """Return at most `limit` of the items, at regular intervals."""
    return items[:: max(1, math.ceil(len(items) / limit))]


def _variants(
    operator: Operator, objects: Sequence[Object], indices: Sequence[int], state: State
) -> Iterator[tuple[Object, ...]]:
    """Yield copies of `objects` in which the object at one of the indices is replaced by another one."""
    for index in indices:
        for other in state.of_type(operator.parameters[index].type):
            if other not in objects:
                yield (*objects[:index], other, *objects[index + 1 :])


def _only_false(part: Definition, step: GroundOperator, atom: LiftedAtom, state: State) -> bool:
    """Return whether a step is worth probing: everything that it needs holds, except `part`.

    All other preconditions and all other parts of `atom` must hold. At least one add effect must not hold
    yet.
    """
    probed = atom.ground(step.binding)
    definition = probed.predicate.definition
    assert definition is not None
    return (
        all(one.holds(state) for one in step.preconditions if one != probed)
        and all(
            one.holds(state, [probed.objects[position] for position in positions])
            for one, positions in definition.parts
            if one != part
        )
        and not all(one.holds(state) for one in step.add_effects)
    )


def widened(part: Definition, probes: Sequence[Probe], works: Callable[[Probe], bool]) -> Definition:
    """Return `part` with a bound halfway between the farthest success and the nearest failure.

    `part` is a comparison with a bound. The function `works` executes a probe. Both probes are found by a
    binary search, which assumes that a probe works if another one farther from the bound works. If all
    probes work, the new bound is a little beyond the farthest one. If none works, the bound stays the same.
    """
    unique = {probe.excess: probe for probe in reversed(probes)}
    nearest = sorted(unique.values(), key=lambda probe: probe.excess)
    low, high = 0, len(nearest)  # the first `low` probes work, and those from index `high` on fail
    while low < high:
        middle = (low + high) // 2
        if works(nearest[middle]):
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return part
    farthest = nearest[low - 1].excess
    failure = nearest[low].excess if low < len(nearest) else (1 + 2 * SLACK) * farthest
    sign = 1.0 if part.compare == "<=" else -1.0
    bound = between(sign * part.bound + farthest, sign * part.bound + failure)
    return Definition(part.expression, part.compare, sign * bound + 0.0)


def probe_elsewhere(
    data: OperatorData, demonstrations: Sequence[Demonstration], simulator: Simulator
) -> tuple[list[Use], list[Use]]:
    """Execute an operator in demonstrated states in which it should work; return true and false uses.

    A use is true if the operator's effects came true, otherwise false. For each demonstrated use, the other
    states of its demonstration are considered, with the objects of the use or with one of them replaced.
    There, the preconditions must hold, and at least one add effect must not hold yet. Of all these uses, at
    most `MAX_PROBES` are executed, at regular intervals.
    """
    operator = data.operator
    probes: dict[Use, GroundOperator] = {}
    for grounding in data.groundings:
        states = demonstrations[grounding.demonstration].states
        assert states is not None
        for index, state in enumerate(states):
            if index == grounding.step:
                continue
            others = _variants(operator, grounding.objects, range(len(operator.parameters)), state)
            for objects in (grounding.objects, *others):
                step = operator.ground(objects)
                if all(one.holds(state) for one in step.preconditions) and not all(
                    one.holds(state) for one in step.add_effects
                ):
                    probes.setdefault(Use(state, objects), step)
    chosen = _at_intervals(list(probes.items()), MAX_PROBES)
    samplers = simulator.samplers([data], demonstrations)
    found: tuple[list[Use], list[Use]] = ([], [])
    for use, step in chosen:
        found[0 if simulator.works(step, use.state, samplers) else 1].append(use)
    return found
