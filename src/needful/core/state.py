"""States of the world: a vector of feature values per object."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from needful.core.objects import Object, Type, counted, short_repr
from needful.errors import InvalidInputError, UnknownNameError


@dataclass(frozen=True, slots=True)
class FeatureDifference:
    """How much a feature of an object differs between two states."""

    obj: Object
    feature: str
    size: float

    def __str__(self) -> str:
        return f"{self.obj.name}.{self.feature} by {self.size:.3g}"

    @property
    def sufficient_tolerance(self) -> str:
        """The smallest tolerance with two significant digits that accepts this difference, as text."""
        unit = 10.0 ** (math.floor(math.log10(self.size)) - 1)
        return f"{math.ceil(self.size / unit) * unit:.2g}"


class State:
    """An immutable map from objects to feature vectors (tuples of floats).

    `replace` returns a new state that shares the vectors of all unchanged objects. `str` shows all
    values, `repr` only the number of objects.
    """

    __slots__ = ("_of_type", "_vectors", "objects")

    objects: tuple[Object, ...]
    _vectors: dict[Object, tuple[float, ...]]
    # Cache of `of_type`, shared with the states that `replace` returns: they have the same objects.
    _of_type: dict[Type, tuple[Object, ...]]

    def __init__(self, vectors: Mapping[Object, Sequence[float]]) -> None:
        checked: dict[Object, tuple[float, ...]] = {}
        for obj in sorted(vectors):
            vector = tuple(float(value) for value in vectors[obj])
            if len(vector) != len(obj.type.features):
                raise InvalidInputError(
                    f"Object {obj.name!r} of type {obj.type.name!r} needs {len(obj.type.features)} "
                    f"values {obj.type.features}, got {len(vector)}."
                )
            if not all(map(math.isfinite, vector)):
                raise InvalidInputError(f"Object {obj.name!r} has a value that is not finite: {vector}.")
            checked[obj] = vector
        if len({obj.name for obj in checked}) != len(checked):
            names = [obj.name for obj in checked]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InvalidInputError(f"Two objects of one state share a name: {twice}. Rename one of them.")
        self._vectors = checked
        self._of_type = {}
        self.objects = tuple(checked)

    def __getitem__(self, obj: Object) -> tuple[float, ...]:
        try:
            return self._vectors[obj]
        except KeyError:
            raise self._unknown_object(obj) from None

    def __contains__(self, obj: object) -> bool:
        return obj in self._vectors

    def __iter__(self) -> Iterator[Object]:
        return iter(self.objects)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._vectors == other._vectors

    def __hash__(self) -> int:
        return hash(tuple(self._vectors.items()))

    def __str__(self) -> str:
        return f"State({{{', '.join(f'{o}: {v}' for o, v in self._vectors.items())}}})"

    def __repr__(self) -> str:
        return short_repr(self, counted(self.objects, "object"))

    def get(self, obj: Object, feature: str) -> float:
        """Return the value of the given feature of the given object."""
        try:
            return self._vectors[obj][obj.type.features.index(feature)]
        except KeyError:
            raise self._unknown_object(obj) from None
        except ValueError:
            raise _unknown_feature(obj, feature) from None

    def of_type(self, kind: Type) -> tuple[Object, ...]:
        """Return the objects of the given type (subtypes included), sorted by name."""
        known = self._of_type.get(kind)
        if known is None:
            known = tuple(obj for obj in self.objects if obj.type.is_subtype_of(kind))
            self._of_type[kind] = known
        return known

    def replace(self, changes: Mapping[Object, Mapping[str, float]]) -> State:
        """Return a copy of this state in which the given features of the given objects have new values."""
        vectors = dict(self._vectors)
        for obj, features in changes.items():
            vector, names = list(self[obj]), obj.type.features
            for feature, value in features.items():
                if feature not in names:
                    raise _unknown_feature(obj, feature)
                if not math.isfinite(value):
                    raise InvalidInputError(f"{obj.name}.{feature} must be finite, got {value}.")
                vector[names.index(feature)] = float(value)
            vectors[obj] = tuple(vector)
        return self._with_vectors(vectors)

    def vector(self, objects: Sequence[Object]) -> np.ndarray:
        """Return the concatenated feature vectors of the given objects, in the given order."""
        return np.array([value for obj in objects for value in self[obj]], dtype=np.float64)

    def allclose(self, other: State, tolerance: float) -> bool:
        """Return whether both states have the same objects, with values at most `tolerance` apart."""
        return self.objects == other.objects and all(
            abs(a - b) <= tolerance
            for obj in self.objects
            for a, b in zip(self._vectors[obj], other._vectors[obj], strict=True)
        )

    def largest_difference(self, other: State) -> FeatureDifference | None:
        """Return the feature that differs most from another state with the same objects; None if equal."""
        largest: FeatureDifference | None = None
        for obj in self.objects:
            for feature, a, b in zip(obj.type.features, self[obj], other[obj], strict=True):
                if abs(a - b) > (0.0 if largest is None else largest.size):
                    largest = FeatureDifference(obj, feature, abs(a - b))
        return largest

    def _with_vectors(self, vectors: dict[Object, tuple[float, ...]]) -> State:
        state = State.__new__(State)
        state._vectors = vectors
        state._of_type = self._of_type
        state.objects = self.objects
        return state

    def _unknown_object(self, obj: Object) -> UnknownNameError:
        return UnknownNameError("object", obj.name, (o.name for o in self.objects))


def _unknown_feature(obj: Object, feature: str) -> UnknownNameError:
    return UnknownNameError(f"feature of {obj.type.name}", feature, obj.type.features)


def median_state(readings: Sequence[State]) -> State:
    """Return the state with the median of each feature over several readings of the same objects."""
    objects = readings[0].objects
    for state in readings:
        changed = sorted(set(objects) ^ set(state.objects))
        if changed:
            raise InvalidInputError(
                f"Two readings of the same state have different objects: {changed[0]} is in only one of "
                "them. A reading must contain all objects of the task; use the last known features of an "
                "object that is not seen."
            )
    values = iter(np.median([state.vector(objects) for state in readings], axis=0).tolist())
    return State({obj: list(itertools.islice(values, len(obj.type.features))) for obj in objects})


def feature_array(states: Sequence[State], kind: Type) -> np.ndarray:
    """Return the features of the objects of a type in several states that have the same objects.

    The array has the axes state, object, feature. Objects of subtypes are included, with the features of
    `kind` only.
    """
    objects = states[0].of_type(kind)
    columns = [[obj.type.features.index(name) for name in kind.features] for obj in objects]
    rows = [
        [[state[obj][c] for c in chosen] for obj, chosen in zip(objects, columns, strict=True)]
        for state in states
    ]
    return np.array(rows, dtype=np.float64).reshape(len(states), len(objects), len(kind.features))
