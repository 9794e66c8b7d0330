"""Types with single inheritance, the objects of a task and the variables of an operator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sized
from dataclasses import dataclass, field, fields
from enum import Enum

from needful.errors import InvalidInputError

# The maximum length of a `repr` in characters; longer texts are cut off.
MAX_REPR = 120


@dataclass(frozen=True, slots=True)
class Type:
    """A kind of object with named real-valued features.

    A subtype lists all features of its parent too, so code that reads a feature of the parent type
    also works for objects of the subtype.
    """

    name: str
    features: tuple[str, ...] = ()
    parent: Type | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidInputError("A type needs a name, got ''.")
        if len(set(self.features)) != len(self.features):
            raise InvalidInputError(f"Type {self.name!r} lists a feature twice: {self.features}.")
        missing = [f for f in (self.parent.features if self.parent else ()) if f not in self.features]
        if missing:
            raise InvalidInputError(
                f"Type {self.name!r} lacks the features {missing} of its parent. "
                "A subtype must list the features of its parent too."
            )

    def __call__(self, name: str) -> Object:
        """Return the object of this type with the given name."""
        return Object(name, self)

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: Type) -> bool:
        return self.name < other.name

    def __repr__(self) -> str:
        parent = (f"parent {self.parent.name!r}",) if self.parent else ()
        return short_repr(self, repr(self.name), *parent, counted(self.features, "feature"))

    def ancestry(self) -> Iterator[Type]:
        """Yield this type, its parent and so on, up to the root."""
        current: Type | None = self
        while current is not None:
            yield current
            current = current.parent

    def is_subtype_of(self, other: Type) -> bool:
        """Return whether this type is `other` or a descendant of it."""
        # This is called very often. Comparing types by value is slow, so it is the last test.
        current: Type | None = self
        while current is not None:
            if current is other or (current.name == other.name and current == other):
                return True
            current = current.parent
        return False

    def nearest_common_ancestor(self, other: Type) -> Type | None:
        """Return the narrowest type that both this type and `other` are subtypes of, or None."""
        return next((kind for kind in self.ancestry() if other.is_subtype_of(kind)), None)


@dataclass(frozen=True, slots=True)
class _TypedName:
    """A name with a type; the hash is stored because objects and variables are hashed very often."""

    name: str
    type: Type
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidInputError(f"Every {type(self).__name__.lower()} needs a name, got ''.")
        object.__setattr__(self, "_hash", hash(self.name))

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling computes the hash again, because another process hashes strings differently.
        return type(self), (self.name, self.type)

    def __str__(self) -> str:
        return f"{self.name}:{self.type.name}"

    def __repr__(self) -> str:
        return short_repr(self, str(self))


@dataclass(frozen=True, slots=True, repr=False)
class Object(_TypedName):
    """An object of a task."""

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Object) -> bool:
        return (self.name, self.type.name) < (other.name, other.type.name)


@dataclass(frozen=True, slots=True, repr=False)
class Variable(_TypedName):
    """A placeholder for an object in an operator; its name starts with `?`."""

    def __post_init__(self) -> None:
        _TypedName.__post_init__(self)
        if not self.name.startswith("?"):
            raise InvalidInputError(f"A variable's name must start with '?', got {self.name!r}.")

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Variable) -> bool:
        return (self.name, self.type.name) < (other.name, other.type.name)


@dataclass(frozen=True, slots=True)
class InjectiveTuples:
    """All tuples of distinct objects that have one object from each of several domains (sets of objects).

    The tuples are counted without listing them. Each domain is the set of all objects of one type. A type
    has at most one parent, so two domains are either nested or disjoint. Objects are chosen from the
    smallest domain first. If k of the earlier domains are subsets of a domain of n objects, k of these are
    already used, and n - k choices remain. The number of tuples is the product of these numbers n - k.
    For example, two of 3 blocks and one of 5 items (the blocks and two cups) give 3 * 2 * (5 - 2) tuples.
    """

    domains: tuple[tuple[Object, ...], ...]

    @property
    def count(self) -> int:
        """The number of tuples, which may exceed 64 bits."""
        count = 1
        earlier: list[tuple[Object, ...]] = []
        for domain in sorted(self.domains, key=len):
            count *= max(0, len(domain) - sum(other[0] in domain for other in earlier if other))
            earlier.append(domain)
        return count

    def at(self, index: int) -> tuple[Object, ...]:
        """Return the tuple number `index`, from 0 to `count` - 1."""
        chosen: dict[int, Object] = {}
        for argument in sorted(range(len(self.domains)), key=lambda argument: len(self.domains[argument])):
            free = [obj for obj in self.domains[argument] if obj not in chosen.values()]
            index, choice = divmod(index, len(free))
            chosen[argument] = free[choice]
        return tuple(chosen[argument] for argument in range(len(self.domains)))


class Abbreviated:
    """The base class of dataclasses whose `repr` counts the items of collections instead of listing them.

    Derived dataclasses need `repr=False`. Fields with `repr=False` are left out.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        shown = (one.name for one in fields(self) if one.repr)  # type: ignore[arg-type]
        return short_repr(self, *(f"{name}={_abbreviated(getattr(self, name))}" for name in shown))


def _abbreviated(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        # An integer of this size is a bit mask of atoms. Python refuses to print very large integers, so
        # print the number of set bits instead.
        return counted(value.bit_count(), "bit")
    if isinstance(value, str):
        return repr(value) if len(value) <= MAX_REPR else counted(value, "character")
    if isinstance(value, Abbreviated):
        return f"{type(value).__name__}(...)"
    if isinstance(value, Sized):
        return counted(len(value), "item")
    return value.value if isinstance(value, Enum) else repr(value)


def short_repr(value: object, *parts: str) -> str:
    """Return the class name of `value` and the parts in brackets, such as `State(3 objects)`.

    A text of more than `MAX_REPR` characters is cut off.
    """
    text = f"{type(value).__name__}({', '.join(parts)})"
    return text if len(text) <= MAX_REPR else f"{text[: MAX_REPR - 4]}...)"


def counted(items: Collection[object] | int, noun: str) -> str:
    """Return the number of items and the noun in singular or plural, such as "1 object" or "3 objects"."""
    count = items if isinstance(items, int) else len(items)
    return f"{count} {noun}{'' if count == 1 else 's'}"
