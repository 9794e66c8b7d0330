"""Types with single inheritance, the objects of a task and the variables of an operator.

Tuples of distinct objects, counted and numbered without listing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Type:
    """A kind of object with named real-valued features.

    A subtype lists all of its features, its parent's among them, so that whatever reads a feature
    of the parent can read it from the child.
    """

    name: str
    features: tuple[str, ...] = ()
    parent: Type | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidInputError("A type needs a name.")
        if len(set(self.features)) != len(self.features):
            raise InvalidInputError(f"Type {self.name!r} lists a feature twice: {self.features}.")
        missing = [f for f in (self.parent.features if self.parent else ()) if f not in self.features]
        if missing:
            raise InvalidInputError(
                f"Type {self.name!r} lacks the features {missing} of its parent. "
                "A subtype must list its parent's features too."
            )

    def __call__(self, name: str) -> Object:
        """Return the object of this type with the given name."""
        return Object(name, self)

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: Type) -> bool:
        return self.name < other.name

    def ancestry(self) -> Iterator[Type]:
        """Yield this type, its parent, and so on up to the root."""
        current: Type | None = self
        while current is not None:
            yield current
            current = current.parent

    def is_subtype_of(self, other: Type) -> bool:
        """Return whether an object of this type may stand where `other` is asked for."""
        # Asked all the time, and mostly identity tells; to compare takes much longer.
        current: Type | None = self
        while current is not None:
            if current is other:
                return True
            current = current.parent
        return other in self.ancestry()

    def nearest_common_ancestor(self, other: Type) -> Type | None:
        """Return the narrowest type that both are subtypes of, None if there is none."""
        return next((kind for kind in self.ancestry() if other.is_subtype_of(kind)), None)


@dataclass(frozen=True, slots=True)
class _Named:
    """A typed name; the hash is kept because these are hashed all the time."""

    name: str
    type: Type
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidInputError(f"Every {type(self).__name__.lower()} needs a name.")
        object.__setattr__(self, "_hash", hash(self.name))

    def __reduce__(self) -> tuple[object, ...]:
        # Built anew on loading: another process hashes strings differently.
        return type(self), (self.name, self.type)

    def __str__(self) -> str:
        return f"{self.name}:{self.type.name}"


@dataclass(frozen=True, slots=True)
class Object(_Named):
    """A thing in a task."""

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Object) -> bool:
        return (self.name, self.type.name) < (other.name, other.type.name)


@dataclass(frozen=True, slots=True)
class Variable(_Named):
    """A placeholder for an object in an operator; its name starts with `?`."""

    def __post_init__(self) -> None:
        _Named.__post_init__(self)
        if not self.name.startswith("?"):
            raise InvalidInputError(f"A variable's name starts with '?', got {self.name!r}.")

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Variable) -> bool:
        return (self.name, self.type.name) < (other.name, other.type.name)


@dataclass(frozen=True, slots=True)
class InjectiveTuples:
    """The tuples with one object of each domain and no object twice.

    Domains are the objects of types. Types inherit from one parent at most, so domains contain one
    another or are disjoint: taken from the smallest to the largest, each loses one object for each
    earlier one inside it.
    """

    domains: tuple[tuple[Object, ...], ...]

    @property
    def count(self) -> int:
        """How many there are, which may be more than 64 bits can hold."""
        count = 1
        earlier: list[tuple[Object, ...]] = []
        for domain in sorted(self.domains, key=len):
            count *= max(0, len(domain) - sum(other[0] in domain for other in earlier if other))
            earlier.append(domain)
        return count

    def at(self, index: int) -> tuple[Object, ...]:
        """Return the tuple with the given number, from 0 to `count` - 1."""
        chosen: dict[int, Object] = {}
        for place in sorted(range(len(self.domains)), key=lambda place: len(self.domains[place])):
            free = [obj for obj in self.domains[place] if obj not in chosen.values()]
            index, position = divmod(index, len(free))
            chosen[place] = free[position]
        return tuple(chosen[place] for place in range(len(self.domains)))
