"""The planning model: everything a planner needs to know of a domain.

Samplers propose continuous parameters for controllers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Controller, Parameters
from needful.core.objects import Object, Type
from needful.core.operators import DeletePattern, Operator
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError


class Sampler(Protocol):
    """Proposes continuous parameters for the controller of an operator."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        """Draw parameters; `objects` are those bound to all of the operator's parameters, in order."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantSampler:
    """The sampler of an operator whose controller always wants the same parameters."""

    parameters: Parameters

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the parameters."""
        return self.parameters


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The types, predicates and controllers that a domain's demonstrations and models speak of."""

    types: tuple[Type, ...]
    predicates: tuple[Predicate, ...]
    controllers: tuple[Controller, ...]

    def __post_init__(self) -> None:
        for kind in ("types", "predicates", "controllers"):
            names = [item.name for item in getattr(self, kind)]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InvalidInputError(f"The {kind} {twice} are declared twice.")


@dataclass(frozen=True, slots=True)
class PlanningModel:
    """Operators over a vocabulary, with a sampler for each operator that needs one.

    `samplers` maps operator names to samplers; an operator whose controller has no continuous
    parameters needs none.
    """

    vocabulary: Vocabulary
    operators: tuple[Operator, ...]
    samplers: Mapping[str, Sampler] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [operator.name for operator in self.operators]
        if len(set(names)) != len(names):
            raise InvalidInputError(f"Operators of a model need distinct names, got {names}.")
        stray = sorted(set(self.samplers) - set(names))
        if stray:
            raise InvalidInputError(f"There are samplers for {stray}, but no such operators.")

    def missing_samplers(self) -> tuple[str, ...]:
        """Return the operators that need a sampler and have none."""
        return tuple(
            operator.name
            for operator in self.operators
            if operator.controller.dimension and operator.name not in self.samplers
        )

    def bound_to(self, vocabulary: Vocabulary) -> PlanningModel:
        """Return this model over a domain's own predicates and controllers.

        A model read from a file knows only signatures; the domain's own have classifiers and
        initiation tests, without which nothing can be simulated. Raises if the model speaks of
        something that the domain does not have, or has otherwise.
        """
        operators = tuple(_rebind(operator, vocabulary) for operator in self.operators)
        return PlanningModel(vocabulary, operators, self.samplers)


def _rebind(operator: Operator, vocabulary: Vocabulary) -> Operator:
    predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
    controllers = {controller.name: controller for controller in vocabulary.controllers}

    def own(predicate: Predicate) -> Predicate:
        found = predicates.get(predicate.name)
        if found is None:
            raise UnknownNameError(f"predicate in operator {operator.name}", predicate.name, predicates)
        if found != predicate:
            raise InvalidInputError(f"The model has the predicate {predicate}, the domain {found}.")
        return found

    def atoms(old: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(LiftedAtom(own(atom.predicate), atom.variables) for atom in old)

    name = operator.controller.name
    if name not in controllers:
        raise UnknownNameError(f"controller of operator {operator.name}", name, controllers)
    controller = controllers[name]
    if (controller.types, controller.dimension) != (
        operator.controller.types,
        operator.controller.dimension,
    ):
        raise InvalidInputError(
            f"The model and the domain disagree about the arguments of controller {name!r}."
        )
    _check_types(operator, vocabulary)
    return replace(
        operator,
        preconditions=atoms(operator.preconditions),
        add_effects=atoms(operator.add_effects),
        delete_effects=atoms(operator.delete_effects),
        delete_patterns=frozenset(
            DeletePattern(own(p.predicate), p.arguments) for p in operator.delete_patterns
        ),
        controller=controller,
    )


def _check_types(operator: Operator, vocabulary: Vocabulary) -> None:
    """Raise unless the domain has the types of the operator's parameters and wildcards."""
    types = {kind.name: kind for kind in vocabulary.types}
    used = {variable.type for variable in operator.parameters}
    used |= {argument.type for pattern in operator.delete_patterns for argument in pattern.arguments}
    for kind in sorted(used):
        if kind.name not in types:
            raise UnknownNameError(f"type in operator {operator.name}", kind.name, types)
        if types[kind.name] != kind:
            raise InvalidInputError(
                f"The model and the domain disagree about the type {kind.name!r}: "
                f"its features or its parent differ."
            )
