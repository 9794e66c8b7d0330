"""Use a domain's hand-written samplers for learned operators.

This evaluates learned operators independently of learned samplers.
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
    """The sampler of an oracle (hand-written) operator, adapted to a learned operator.

    The oracle operator may have fewer parameters than the learned one, or another order of parameters. Its
    parameter i corresponds to parameter `indices[i]` of the learned operator.
    """

    sampler: Sampler
    indices: tuple[int, ...]

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        """Draw the controller's parameters; `objects` are bound to the learned operator's parameters."""
        return self.sampler.sample(state, [objects[index] for index in self.indices], rng)


def with_oracle_samplers(model: PlanningModel, oracle: PlanningModel) -> PlanningModel:
    """Return a learned model with the samplers of the oracle (the hand-written model) instead of its own.

    Each learned operator gets the sampler of the most similar oracle operator. This is the one with the
    same controller that shares the most preconditions and add effects. Raises if no oracle operator has
    the same controller, or if the learned operator lacks a parameter that the sampler needs.
    """
    samplers = {o.name: _best_oracle_sampler(o, oracle) for o in model.operators if o.controller.dimension}
    return replace(model, samplers=samplers)


def _best_oracle_sampler(operator: Operator, oracle: PlanningModel) -> Sampler:
    best: RemappedSampler | None = None
    best_score = -1
    for source in oracle.operators:
        if source.controller.name != operator.controller.name or source.name not in oracle.samplers:
            continue
        for binding in _bindings(source, operator):
            shared = len(_renamed(source.preconditions, binding) & operator.preconditions)
            shared += len(_renamed(source.add_effects, binding) & operator.add_effects)
            if shared > best_score:
                indices = tuple(operator.parameters.index(binding[v]) for v in source.parameters)
                best, best_score = RemappedSampler(oracle.samplers[source.name], indices), shared
    if best is None:
        raise InvalidInputError(
            f"The oracle has no sampler that fits {operator.name}. Use learned samplers for this domain."
        )
    return best


def _renamed(atoms: Iterable[LiftedAtom], binding: Mapping[Variable, Variable]) -> set[LiftedAtom]:
    return {LiftedAtom(atom.predicate, tuple(binding[v] for v in atom.variables)) for atom in atoms}


def _bindings(source: Operator, operator: Operator) -> list[dict[Variable, Variable]]:
    """Return all ways to map the parameters of the oracle operator `source` to those of `operator`.

    Each mapping is injective, and maps the controller arguments of `source` to those of `operator`, in
    order. The other parameters are mapped to parameters of the same type or a subtype.
    """
    fixed = dict(zip(source.controller_arguments, operator.controller_arguments, strict=True))
    unbound = [variable for variable in source.parameters if variable not in fixed]
    free = [variable for variable in operator.parameters if variable not in fixed.values()]
    return [
        fixed | dict(zip(unbound, chosen, strict=True))
        for chosen in itertools.permutations(free, len(unbound))
        if all(one.type.is_subtype_of(v.type) for v, one in zip(unbound, chosen, strict=True))
    ]
