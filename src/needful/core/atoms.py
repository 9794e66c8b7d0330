"""Predicates, lifted atoms (over variables) and ground atoms (over objects)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from needful.core.objects import Object, Type, Variable, short_repr
from needful.core.state import State
from needful.errors import InvalidInputError

if TYPE_CHECKING:
    from needful.core.definitions import AnyDefinition

Classifier: TypeAlias = Callable[[State, Sequence[Object]], bool]
BatchClassifier: TypeAlias = Callable[[State], Iterable[tuple[Object, ...]]]


class Typed(Protocol):
    """An argument of a predicate: an object, a variable, or a `Wildcard`, which stands for any object."""

    @property
    def type(self) -> Type:
        """The type of the argument; it must be a subtype of the type that the predicate expects."""
        ...


@dataclass(frozen=True, slots=True)
class Predicate:
    """A named relation over typed objects, with a classifier that returns whether it holds in a state.

    Predicates with equal names and types are equal. A predicate read from a file has no classifier, but it
    equals the environment's predicate.

    Attributes:
        name: the name, unique within a vocabulary.
        types: the type of each argument.
        classifier: returns whether the predicate holds for a tuple of objects in a state.
        batch_classifier: optional; returns all tuples of objects for which the predicate holds in a state.
            Provide it if it is faster than one call of `classifier` per tuple.
        definition: optional; what the classifier computes, as data that can be stored in a file, such as
            "the distance between two objects is at most 0.1". See `needful.core.definitions`.
    """

    name: str
    types: tuple[Type, ...]
    classifier: Classifier | None = field(default=None, compare=False, repr=False)
    batch_classifier: BatchClassifier | None = field(default=None, compare=False, repr=False)
    definition: AnyDefinition | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: Predicate) -> bool:
        return self.name < other.name

    def __str__(self) -> str:
        return f"{self.name}({', '.join(kind.name for kind in self.types)})"

    def __repr__(self) -> str:
        return short_repr(self, str(self))

    def __call__(self, *objects: Object) -> GroundAtom:
        """Return the ground atom of this predicate over the given objects."""
        return GroundAtom(self, objects)

    def lifted(self, *variables: Variable) -> LiftedAtom:
        """Return the lifted atom of this predicate over the given variables."""
        return LiftedAtom(self, variables)

    def holds(self, state: State, objects: Sequence[Object]) -> bool:
        """Return whether the predicate holds for the given objects in the given state."""
        if self.classifier is None:
            raise InvalidInputError(
                f"Predicate {self.name!r} has no classifier: it was read from a file. "
                "Use the predicates of the environment's vocabulary."
            )
        return self.classifier(state, objects)

    def fits(self, arguments: Sequence[Typed]) -> bool:
        """Return whether each given argument has the type that this predicate expects at its position.

        Callers must pass as many arguments as the predicate takes.
        """
        return all(a.type.is_subtype_of(kind) for a, kind in zip(arguments, self.types, strict=True))

    def check_arguments(self, arguments: Sequence[Typed]) -> None:
        """Raise `InvalidInputError` unless the number and the types of the arguments fit this predicate."""
        types = self.types
        if len(arguments) != len(types):
            raise InvalidInputError(f"Predicate {self} takes {len(types)} arguments, got {len(arguments)}.")
        # No strict=True: it would take a third of this check's time, and the check runs for every atom.
        for argument, kind in zip(arguments, types):  # noqa: B905
            if argument.type is not kind and not argument.type.is_subtype_of(kind):
                raise InvalidInputError(f"Predicate {self} does not take {argument}.")


@dataclass(frozen=True, slots=True)
class LiftedAtom:
    """A predicate over variables."""

    predicate: Predicate
    variables: tuple[Variable, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.predicate.check_arguments(self.variables)
        object.__setattr__(self, "_hash", hash((self.predicate.name, self.variables)))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.predicate, self.variables)

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: LiftedAtom) -> bool:
        return (self.predicate.name, self.variables) < (other.predicate.name, other.variables)

    def __str__(self) -> str:
        return f"{self.predicate.name}({', '.join(v.name for v in self.variables)})"

    def __repr__(self) -> str:
        return short_repr(self, str(self))

    def ground(self, binding: Mapping[Variable, Object]) -> GroundAtom:
        """Return the ground atom in which each variable is replaced by its object in `binding`."""
        return GroundAtom(self.predicate, tuple(map(binding.__getitem__, self.variables)))

    def __invert__(self) -> NegatedAtom:
        """Return the condition that this atom does not hold."""
        return NegatedAtom(self)


@dataclass(frozen=True, slots=True)
class NegatedAtom:
    """A precondition of hand-written operators: an atom must not hold. Written `~atom`."""

    atom: LiftedAtom


@dataclass(frozen=True, slots=True)
class GroundAtom:
    """A predicate over objects."""

    predicate: Predicate
    objects: tuple[Object, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.predicate.check_arguments(self.objects)
        object.__setattr__(self, "_hash", hash((self.predicate.name, self.objects)))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.predicate, self.objects)

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: GroundAtom) -> bool:
        return (self.predicate.name, self.objects) < (other.predicate.name, other.objects)

    def __str__(self) -> str:
        return f"{self.predicate.name}({', '.join(o.name for o in self.objects)})"

    def __repr__(self) -> str:
        return short_repr(self, str(self))

    def holds(self, state: State) -> bool:
        """Return whether the atom holds in the given state."""
        return self.predicate.holds(state, self.objects)


AbstractState: TypeAlias = frozenset[GroundAtom]
