"""Planning models: a vocabulary, operators over it and samplers for their controllers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Controller, Parameters
from needful.core.objects import Object, Type, counted, short_repr
from needful.core.operators import DeletePattern, Operator
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

Named = TypeVar("Named", Type, Predicate, Controller)


class Sampler(Protocol):
    """Draws continuous parameters for the controller of an operator."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        """Draw continuous parameters for the operator's controller.

        `objects` are the objects that the operator's parameters are bound to, in order.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConstantSampler:
    """A sampler that always returns the same parameters."""

    parameters: Parameters

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the constant parameters."""
        return self.parameters


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The types, predicates and controllers of a domain."""

    types: tuple[Type, ...]
    predicates: tuple[Predicate, ...]
    controllers: tuple[Controller, ...]

    def __post_init__(self) -> None:
        for kind in ("types", "predicates", "controllers"):
            names = [item.name for item in getattr(self, kind)]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InvalidInputError(f"The {kind} {twice} are declared twice. Names must be unique.")

    def __repr__(self) -> str:
        return short_repr(self, *_sizes(self))


@dataclass(frozen=True, slots=True)
class PlanningModel:
    """Operators over a vocabulary, with a sampler for each operator that needs one.

    `samplers` maps operator names to samplers. An operator whose controller has no continuous
    parameters needs no sampler.
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
            raise InvalidInputError(
                f"There are samplers for {stray}, but no such operators. Known: {names}."
            )

    def __repr__(self) -> str:
        operators, samplers = counted(self.operators, "operator"), counted(self.samplers, "sampler")
        return short_repr(self, operators, samplers, *_sizes(self.vocabulary))

    def _repr_html_(self) -> str:
        from needful.core.cards import operator_cards

        return operator_cards(counted(self.operators, "operator"), self.operators)

    def missing_samplers(self) -> tuple[str, ...]:
        """Return the names of the operators that need a sampler and have none."""
        return tuple(
            operator.name
            for operator in self.operators
            if operator.controller.dimension and operator.name not in self.samplers
        )

    def bound_to(self, vocabulary: Vocabulary) -> PlanningModel:
        """Return this model with the predicates and controllers of a domain's vocabulary.

        Planning needs the classifiers of predicates and the initiation tests of controllers. A model read
        from a file does not have them: it only has names and argument types. Predicates of the model that
        have a definition are added to the vocabulary. Raises if a type, another predicate or a controller
        of the model is missing in the vocabulary or is defined differently there.
        """
        vocabulary = _with_definitions(vocabulary, self.vocabulary.predicates)
        operators = tuple(_rebind(operator, vocabulary) for operator in self.operators)
        return PlanningModel(vocabulary, operators, self.samplers)


def _with_definitions(vocabulary: Vocabulary, predicates: Iterable[Predicate]) -> Vocabulary:
    """Return the vocabulary, extended by those given predicates that have a definition.

    Raises if the vocabulary lacks a type of a definition, or has another predicate with the same name.
    """
    types = {kind.name: kind for kind in vocabulary.types}
    known = {predicate.name: predicate for predicate in vocabulary.predicates}
    added = []
    for predicate in predicates:
        if predicate.definition is None:
            continue
        for kind in predicate.definition.types:
            find_equal("type", kind, types, f"in definition of predicate {predicate.name}")
        if predicate.name not in known:
            added.append(predicate)
        elif known[predicate.name].definition != predicate.definition:
            raise InvalidInputError(
                f"The model defines the predicate {predicate.name!r}, but the domain has another predicate "
                "with this name. Rename one of them."
            )
    if not added:
        return vocabulary
    return replace(vocabulary, predicates=(*vocabulary.predicates, *added))


def _sizes(vocabulary: Vocabulary) -> tuple[str, ...]:
    return (
        counted(vocabulary.types, "type"),
        counted(vocabulary.predicates, "predicate"),
        counted(vocabulary.controllers, "controller"),
    )


def _rebind(operator: Operator, vocabulary: Vocabulary) -> Operator:
    predicates = {predicate.name: predicate for predicate in vocabulary.predicates}
    controllers = {controller.name: controller for controller in vocabulary.controllers}

    def from_domain(predicate: Predicate) -> Predicate:
        found = predicates.get(predicate.name)
        if found is None:
            raise UnknownNameError(f"predicate in operator {operator.name}", predicate.name, predicates)
        if found != predicate:
            raise InvalidInputError(
                f"The model has the predicate {predicate}, but the domain has {found}. "
                "Use the domain that the model was learned in."
            )
        return found

    def atoms(old: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(LiftedAtom(from_domain(atom.predicate), atom.variables) for atom in old)

    name = operator.controller.name
    if name not in controllers:
        raise UnknownNameError(f"controller of operator {operator.name}", name, controllers)
    controller = controllers[name]
    if (controller.types, controller.dimension) != (
        operator.controller.types,
        operator.controller.dimension,
    ):
        raise InvalidInputError(
            f"The model and the domain disagree about the arguments of controller {name!r}. "
            "Use the domain that the model was learned in."
        )
    _check_types(operator, vocabulary)
    return replace(
        operator,
        preconditions=atoms(operator.preconditions),
        negative_preconditions=atoms(operator.negative_preconditions),
        add_effects=atoms(operator.add_effects),
        delete_effects=atoms(operator.delete_effects),
        delete_patterns=frozenset(
            DeletePattern(from_domain(p.predicate), p.arguments) for p in operator.delete_patterns
        ),
        controller=controller,
    )


def _check_types(operator: Operator, vocabulary: Vocabulary) -> None:
    """Raise unless the vocabulary has equal types for the operator's parameters and wildcards."""
    types = {kind.name: kind for kind in vocabulary.types}
    used = {variable.type for variable in operator.parameters}
    used |= {argument.type for pattern in operator.delete_patterns for argument in pattern.arguments}
    for kind in sorted(used):
        find_equal("type", kind, types, f"in operator {operator.name}")


def find_equal(kind: str, item: Named, known: Mapping[str, Named], where: str) -> Named:
    """Return the domain's item that has the same name as `item`; raise if it is missing or differs.

    `known` has the domain's items by name. Error messages contain `kind`, such as `type`, and `where`, the
    place where `item` occurs, such as `in operator Pick`.
    """
    if item.name not in known:
        raise UnknownNameError(f"{kind} {where}", item.name, known)
    if known[item.name] != item:
        raise InvalidInputError(
            f"The model or policy and the domain disagree about the {kind} {item.name!r}: the definitions "
            "have the same name but differ. Use the domain that it was learned in, or learn again."
        )
    return known[item.name]
