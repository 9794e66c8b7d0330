"""Find side effects by experiments in the simulator, and add them to operators as deletes.

A side effect is an atom that an action makes false although the operator predicts that it stays true. With
few demonstrations, an operator's side effects may have occurred in none of them. An experiment executes the
operator's controller in a state in which the operator is applicable. If the add effects hold afterwards,
all mispredicted atoms are side effects. They become delete effects, or quantified deletes if they mention
objects to which no parameter is bound.

The same experiments test add effects that no demonstration needed (see `hill_climbing.reliable_effects`).
If such an effect does not hold after an experiment although the other add effects do, it becomes a delete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

from needful.core.atoms import LiftedAtom
from needful.core.controllers import Execute
from needful.core.model import PlanningModel
from needful.core.objects import Abbreviated
from needful.core.operators import DeletePattern, Operator
from needful.operator_learning.accidental_preconditions import (
    ExperimentConfig,
    ExperimentRunner,
    Situation,
    situations_lacking,
)
from needful.operator_learning.induction import partly_bound, without_subsumed
from needful.seeding import rng_for

NOTHING: Mapping[str, frozenset[LiftedAtom]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, repr=False)
class SideEffect(Abbreviated):
    """A delete that was added to an operator because of experiments."""

    operator: str
    delete: LiftedAtom | DeletePattern


def add_side_effects(
    model: PlanningModel,
    situations: Sequence[Situation],
    execute: Execute,
    seed: int,
    config: ExperimentConfig,
    unnecessary: Mapping[str, frozenset[LiftedAtom]] = NOTHING,
) -> tuple[PlanningModel, tuple[SideEffect, ...]]:
    """Return the model with the side effects that experiments showed, and a list of these side effects.

    `unnecessary` maps names of operators to their add effects that no demonstration needed. An operator
    without other add effects is not tested, because nothing shows whether its action succeeded.
    """
    runner = ExperimentRunner(model.samplers, execute, config.tries)
    operators: list[Operator] = []
    found: list[SideEffect] = []
    for operator in model.operators:
        rng = rng_for(seed, "side effects", operator.name)
        order = [situations[index] for index in rng.permutation(len(situations))]
        deletes, patterns = set(operator.delete_effects), set(operator.delete_patterns)
        optional = operator.add_effects & unnecessary.get(operator.name, frozenset())
        tested = replace(operator, add_effects=operator.add_effects - optional)
        for situation, objects in islice(situations_lacking(None, tested, order), config.experiments):
            binding = dict(zip(operator.parameters, objects, strict=True))
            may_fail = frozenset(atom.ground(binding) for atom in optional)
            result = runner.run(operator.ground(objects), situation, rng, may_fail)
            lifting = dict(zip(objects, operator.parameters, strict=True))
            for atom in result.missed if result.changed else ():
                pattern = partly_bound(atom, lifting)
                variables = tuple(lifting[obj] for obj in atom.objects if obj in lifting)
                if pattern.arguments == variables:
                    deletes.add(LiftedAtom(atom.predicate, variables))
                else:
                    patterns.add(pattern)
        changed = replace(
            operator,
            add_effects=operator.add_effects - (optional & deletes),
            delete_effects=frozenset(deletes),
            delete_patterns=without_subsumed(patterns),
        )
        operators.append(changed)
        found += [SideEffect(operator.name, one) for one in sorted(deletes - operator.delete_effects)]
        added = changed.delete_patterns - operator.delete_patterns
        found += [SideEffect(operator.name, one) for one in sorted(added, key=str)]
    return replace(model, operators=tuple(operators)), tuple(found)
