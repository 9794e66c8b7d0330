"""A domain's hand-written samplers for learned operators.

An evaluation with them tells what the operators are worth apart from the learned samplers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needful.core.atoms import LiftedAtom
from needful.core.model import PlanningModel, Sampler
from needful.core.objects import Object, Variable
from needful.core.operators import Operator
from needful.core.state import State
from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class RemappedSampler:
    """A sampler of another operator; `places` tell where its objects are among one's own."""

    sampler: Sampler
    places: tuple[int, ...]

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        """Draw parameters."""
        return self.sampler.sample(state, [objects[place] for place in self.places], rng)


def with_oracle_samplers(model: PlanningModel, oracle: PlanningModel) -> PlanningModel:
    """Return the model with the oracle's samplers in place of its own.

    An operator borrows from the oracle's operator of the same controller with which it has most
    preconditions and add effects in common. Raises if the oracle's sampler asks for an object that the
    operator knows nothing of.
    """
    samplers = {o.name: _best_oracle_sampler(o, oracle) for o in model.operators if o.controller.dimension}
    return replace(model, samplers=samplers)


def _best_oracle_sampler(operator: Operator, oracle: PlanningModel) -> Sampler:
    best: RemappedSampler | None = None
    most = -1
    for source_operator in oracle.operators:
        if (
            source_operator.controller.name != operator.controller.name
            or source_operator.name not in oracle.samplers
        ):
            continue
        for binding in _bindings(source_operator, operator):
            shared = len(_renamed(source_operator.preconditions, binding) & operator.preconditions)
            shared += len(_renamed(source_operator.add_effects, binding) & operator.add_effects)
            if shared > most:
                places = tuple(operator.parameters.index(binding[v]) for v in source_operator.parameters)
                best, most = RemappedSampler(oracle.samplers[source_operator.name], places), shared
    if best is None:
        raise InvalidInputError(
            f"The oracle has no sampler that fits {operator.name}. Use learned samplers for this domain."
        )
    return best


def _renamed(atoms: Iterable[LiftedAtom], binding: Mapping[Variable, Variable]) -> set[LiftedAtom]:
    return {LiftedAtom(atom.predicate, tuple(binding[v] for v in atom.variables)) for atom in atoms}


def _bindings(source_operator: Operator, operator: Operator) -> list[dict[Variable, Variable]]:
    """Return the ways to take the operator's parameters for the source_operator's; the controller says some."""
    fixed = dict(zip(source_operator.controller_arguments, operator.controller_arguments, strict=True))
    open_ones = [variable for variable in source_operator.parameters if variable not in fixed]
    free = [variable for variable in operator.parameters if variable not in fixed.values()]
    return [
        fixed | dict(zip(open_ones, chosen, strict=True))
        for chosen in itertools.permutations(free, len(open_ones))
        if all(one.type.is_subtype_of(v.type) for v, one in zip(open_ones, chosen, strict=True))
    ]
