"""Operators, ground operators, and operators with the transitions that they were learned from.

The paper writes an operator as a tuple ⟨args, P, E+, E-, Q, C, cargs⟩. In the same order, the attributes of
`Operator` are `parameters`, `preconditions`, `add_effects`, `delete_effects`, `delete_patterns` (the
quantified deletes), `controller` and `controller_arguments`. The paper's operators have no
`negative_preconditions`, atoms that must not hold.

Applying an operator gives the atoms that are predicted to hold afterwards. Nothing is predicted about other
atoms: they are unknown, not false. Only for negative preconditions, an unknown atom counts as false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TypeAlias

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.objects import Object, Type, Variable, counted, short_repr
from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Wildcard:
    """An argument of a `DeletePattern`, such as `*:block`; it matches every object of its type."""

    type: Type

    def __str__(self) -> str:
        return f"*:{self.type.name}"

    def __repr__(self) -> str:
        return short_repr(self, str(self))


PatternArgument: TypeAlias = Variable | Wildcard


@dataclass(frozen=True, slots=True)
class DeletePattern:
    """A quantified delete effect: after the action, it is unknown whether the matching atoms hold.

    In the paper, all arguments are wildcards. Here, arguments can also be variables of the operator:
    `OnTop(?book, *:obj)` matches the atoms `OnTop(book1, shelf)` and `OnTop(book1, desk)` if `?book` is
    bound to `book1`.
    """

    predicate: Predicate
    arguments: tuple[PatternArgument, ...]

    def __post_init__(self) -> None:
        self.predicate.check_arguments(self.arguments)

    def __str__(self) -> str:
        arguments = (a.name if isinstance(a, Variable) else str(a) for a in self.arguments)
        return f"{self.predicate.name}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return short_repr(self, str(self))

    def __lt__(self, other: DeletePattern) -> bool:
        return str(self) < str(other)

    def subsumes(self, other: DeletePattern) -> bool:
        """Return whether this pattern matches every atom that the other one matches."""
        # Arguments are compared first: they usually differ, and comparing them is faster.
        return (
            len(self.arguments) == len(other.arguments)
            and all(map(_argument_subsumes, self.arguments, other.arguments))
            and self.predicate == other.predicate
        )

    def ground(self, binding: Mapping[Variable, Object]) -> GroundDeletePattern:
        """Return the pattern with each variable replaced by its object in `binding`; wildcards stay."""
        arguments = (binding[a] if isinstance(a, Variable) else a for a in self.arguments)
        return GroundDeletePattern(self.predicate, tuple(arguments))


def _argument_subsumes(mine: PatternArgument, theirs: PatternArgument) -> bool:
    if isinstance(mine, Variable):
        return mine == theirs
    return mine.type is theirs.type or theirs.type.is_subtype_of(mine.type)


@dataclass(frozen=True, slots=True)
class GroundDeletePattern:
    """A `DeletePattern` whose variables are bound to objects; its wildcards still stand for any object."""

    predicate: Predicate
    arguments: tuple[Object | Wildcard, ...]

    def matches(self, atom: GroundAtom) -> bool:
        """Return whether the pattern matches the given atom.

        The predicates must be equal. Each object of the atom must equal the pattern's object at the same
        position, or have the type of the wildcard there.
        """
        return atom.predicate == self.predicate and all(
            obj.type.is_subtype_of(argument.type) if isinstance(argument, Wildcard) else obj == argument
            for obj, argument in zip(atom.objects, self.arguments, strict=True)
        )

    def __str__(self) -> str:
        arguments = (a.name if isinstance(a, Object) else str(a) for a in self.arguments)
        return f"{self.predicate.name}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return short_repr(self, str(self))


@dataclass(frozen=True)
class Operator:
    """A symbolic model of one way to use a controller.

    A grounding binds each parameter to a different object of the right type. It is applicable in an
    abstract state that contains all its preconditions and none of its negative preconditions.
    """

    name: str
    parameters: tuple[Variable, ...]
    preconditions: frozenset[LiftedAtom]
    add_effects: frozenset[LiftedAtom]
    delete_effects: frozenset[LiftedAtom]
    delete_patterns: frozenset[DeletePattern]
    controller: Controller
    controller_arguments: tuple[Variable, ...]
    negative_preconditions: frozenset[LiftedAtom] = frozenset()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.parameters]
        if len(set(names)) != len(names):
            raise InvalidInputError(f"Operator {self.name!r} lists a parameter twice: {names}.")
        known = set(self.parameters)
        used = {v for atoms in self._atom_sets() for atom in atoms for v in atom.variables}
        used |= {a for p in self.delete_patterns for a in p.arguments if isinstance(a, Variable)}
        used |= set(self.controller_arguments)
        if not used <= known:
            stray = sorted(variable.name for variable in used - known)
            raise InvalidInputError(
                f"Operator {self.name!r} uses variables that are not its parameters: {stray}. "
                "Add them to its parameters."
            )
        if contradictory := self.preconditions & self.negative_preconditions:
            raise InvalidInputError(
                f"Operator {self.name!r} requires that {min(contradictory)} holds and that it does not "
                "hold. Remove it from the preconditions or from the negative preconditions."
            )
        if len(self.controller_arguments) != len(self.controller.types):
            raise InvalidInputError(
                f"Operator {self.name!r} passes {len(self.controller_arguments)} arguments to "
                f"{self.controller.name!r}, which takes {len(self.controller.types)}."
            )
        for variable, kind in zip(self.controller_arguments, self.controller.types, strict=True):
            if not variable.type.is_subtype_of(kind):
                raise InvalidInputError(
                    f"Operator {self.name!r} passes {variable} to {self.controller.name!r}, "
                    f"which asks for a {kind.name}."
                )
        parts = (self.name, self.parameters, *self._atom_sets(), self.delete_patterns)
        object.__setattr__(self, "_hash", hash(parts))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self) if one.init)

    def _atom_sets(self) -> tuple[frozenset[LiftedAtom], ...]:
        return (self.preconditions, self.negative_preconditions, self.add_effects, self.delete_effects)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        negative = self.negative_preconditions
        return short_repr(
            self,
            repr(self.name),
            counted(self.parameters, "parameter"),
            counted(self.preconditions, "precondition"),
            *([counted(negative, "negative precondition")] if negative else []),
            counted(self.add_effects, "add effect"),
        )

    def _repr_html_(self) -> str:
        from needful.core.cards import operator_card

        return operator_card(self)

    @cached_property
    def text(self) -> str:
        """The operator as text; it is cached, because operators are compared and sorted by their texts."""

        def listed(items: frozenset[LiftedAtom] | frozenset[DeletePattern]) -> str:
            return ", ".join(map(str, sorted(items))) or "-"

        arguments = ", ".join(variable.name for variable in self.controller_arguments)
        negative = self.negative_preconditions
        lines = [
            f"{self.name}({', '.join(map(str, self.parameters))})",
            f"  controller: {self.controller.name}({arguments})",
            f"  needs:      {listed(self.preconditions)}",
            *([f"  forbids:    {listed(negative)}"] if negative else []),
            f"  adds:       {listed(self.add_effects)}",
            f"  deletes:    {listed(self.delete_effects)}",
            f"  forgets:    {listed(self.delete_patterns)}",
        ]
        return "\n".join(lines)

    @cached_property
    def keep_effects(self) -> frozenset[LiftedAtom]:
        """The preconditions that are also add effects: they are predicted to stay true."""
        return self.preconditions & self.add_effects

    def ground(self, objects: Sequence[Object]) -> GroundOperator:
        """Return the operator with its parameters bound to the given objects, in order.

        The objects must be distinct and have the types of the parameters.
        """
        if len(objects) != len(self.parameters):
            raise InvalidInputError(
                f"Operator {self.name!r} has {len(self.parameters)} parameters, got {len(objects)} objects."
            )
        if len(set(objects)) != len(objects):
            raise InvalidInputError(
                f"Operator {self.name!r} needs distinct objects, got {_names(objects)}."
            )
        for variable, obj in zip(self.parameters, objects, strict=True):
            if not obj.type.is_subtype_of(variable.type):
                raise InvalidInputError(f"Operator {self.name!r} cannot bind {variable} to {obj}.")
        return GroundOperator(self, tuple(objects))


@dataclass(frozen=True)
class GroundOperator:
    """An operator whose parameters are bound to objects."""

    operator: Operator
    objects: tuple[Object, ...]

    def __str__(self) -> str:
        return f"{self.operator.name}({', '.join(_names(self.objects))})"

    def __repr__(self) -> str:
        return short_repr(self, str(self))

    @cached_property
    def binding(self) -> dict[Variable, Object]:
        """A map from each parameter to the object that it is bound to."""
        return dict(zip(self.operator.parameters, self.objects, strict=True))

    @cached_property
    def preconditions(self) -> AbstractState:
        """The preconditions, with objects instead of variables."""
        return self._ground(self.operator.preconditions)

    @cached_property
    def negative_preconditions(self) -> AbstractState:
        """The negative preconditions, with objects instead of variables."""
        return self._ground(self.operator.negative_preconditions)

    @cached_property
    def add_effects(self) -> AbstractState:
        """The add effects, with objects instead of variables."""
        return self._ground(self.operator.add_effects)

    @cached_property
    def delete_effects(self) -> AbstractState:
        """The delete effects, with objects instead of variables."""
        return self._ground(self.operator.delete_effects)

    @cached_property
    def delete_patterns(self) -> tuple[GroundDeletePattern, ...]:
        """The delete patterns, with objects instead of variables; wildcards stay."""
        return tuple(p.ground(self.binding) for p in sorted(self.operator.delete_patterns))

    @cached_property
    def controller_objects(self) -> tuple[Object, ...]:
        """The objects passed to the controller."""
        return tuple(self.binding[variable] for variable in self.operator.controller_arguments)

    def _ground(self, atoms: frozenset[LiftedAtom]) -> AbstractState:
        return frozenset(atom.ground(self.binding) for atom in atoms)

    def applicable(self, state: AbstractState) -> bool:
        """Return whether the preconditions hold and no negative precondition holds."""
        return self.preconditions <= state and state.isdisjoint(self.negative_preconditions)

    def apply(self, state: AbstractState) -> AbstractState:
        """Return the atoms that are predicted to hold after applying the operator in the given state.

        First, atoms that match a delete pattern or are delete effects are removed. Then the add effects
        are added, so an atom that is both deleted and added holds afterwards. In the paper's notation, with
        delete patterns Q: F(s, ω) = ({a ∈ s : a matches no pattern of Q} \\ E-) ∪ E+.
        """
        if not self.applicable(state):
            missing = ", ".join(map(str, sorted(self.preconditions - state)))
            forbidden = ", ".join(map(str, sorted(self.negative_preconditions & state)))
            reasons = [f"{missing} does not hold"] if missing else []
            reasons += [f"{forbidden} must not hold"] if forbidden else []
            raise InvalidInputError(f"{self} is not applicable: {' and '.join(reasons)}.")
        patterns = self.delete_patterns
        kept = {atom for atom in state if not any(pattern.matches(atom) for pattern in patterns)}
        return frozenset((kept - self.delete_effects) | self.add_effects)


def _names(objects: Sequence[Object]) -> list[str]:
    return [obj.name for obj in objects]


@dataclass(frozen=True, slots=True)
class GroundedTransition:
    """A transition that an operator explains, and the objects bound to the operator's parameters.

    In the paper, this is an element (τ, δ) of the dataset of an operator.

    Attributes:
        demonstration: the index of the demonstration.
        step: the index of the transition (τ) in the demonstration; its action is `actions[step]`.
        objects: the objects bound to the operator's parameters (δ), in the order of the parameters.
    """

    demonstration: int
    step: int
    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class OperatorData:
    """An operator and its dataset: the transitions that it was learned from.

    Each transition is in the dataset of at most one operator.
    """

    operator: Operator
    groundings: tuple[GroundedTransition, ...]

    def __repr__(self) -> str:
        return short_repr(self, repr(self.operator.name), counted(self.groundings, "transition"))
