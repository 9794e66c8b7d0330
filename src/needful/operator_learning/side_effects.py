"""Find side effects by experiments in the simulator, and add them to operators as deletes.

With few demonstrations, an operator may have been seen only where it changed nothing else. An experiment
executes its controller in a state in which the operator is applicable. If the add effects hold afterwards,
each atom that was predicted to hold and does not is a side effect. It becomes a delete effect, or a
quantified delete if it names other objects, as if the experiment had been a demonstrated transition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from needful.core.atoms import LiftedAtom
from needful.core.controllers import Execute
from needful.core.model import PlanningModel
from needful.core.operators import DeletePattern, Operator
from needful.operator_learning.accidental_preconditions import (
    ExperimentConfig,
    ExperimentRunner,
    Situation,
    situations_lacking,
)
from needful.operator_learning.delete_patterns import partly_bound, without_subsumed
from needful.seeding import rng_for


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A delete that was added to an operator because of experiments."""

    operator: str
    delete: LiftedAtom | DeletePattern

    def __repr__(self) -> str:
        return f"SideEffect({self.operator!r}, {self.delete})"


def add_side_effects(
    model: PlanningModel,
    situations: Sequence[Situation],
    execute: Execute,
    seed: int,
    config: ExperimentConfig,
) -> tuple[PlanningModel, tuple[SideEffect, ...]]:
    """Return the model with the side effects that experiments showed, and these side effects.

    Operators that add nothing are not tested: there is no way to tell whether they succeeded.
    """
    runner = ExperimentRunner(model.samplers, execute, config.tries)
    operators: list[Operator] = []
    found: list[SideEffect] = []
    for operator in model.operators:
        rng = rng_for(seed, "side effects", operator.name)
        order = [situations[index] for index in rng.permutation(len(situations))]
        deletes, patterns = set(operator.delete_effects), set(operator.delete_patterns)
        for situation, objects in islice(situations_lacking(None, operator, order), config.experiments):
            result = runner.run(operator.ground(objects), situation, rng)
            lifting = dict(zip(objects, operator.parameters, strict=True))
            for atom in result.missed if result.changed else ():
                pattern = partly_bound(atom, lifting)
                variables = tuple(lifting[obj] for obj in atom.objects if obj in lifting)
                if pattern.arguments == variables:
                    deletes.add(LiftedAtom(atom.predicate, variables))
                else:
                    patterns.add(pattern)
        changed = replace(
            operator, delete_effects=frozenset(deletes), delete_patterns=without_subsumed(patterns)
        )
        operators.append(changed)
        found += [SideEffect(operator.name, one) for one in sorted(deletes - operator.delete_effects)]
        added = changed.delete_patterns - operator.delete_patterns
        found += [SideEffect(operator.name, one) for one in sorted(added, key=str)]
    return replace(model, operators=tuple(operators)), tuple(found)
