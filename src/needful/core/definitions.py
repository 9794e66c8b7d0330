"""Definitions of predicates as data: an expression over the features of one or two objects, and a bound.

A definition can be stored in a file and read back without executing code, because the kinds of expressions
are a closed set. `defined_predicate` turns a definition into a predicate with a classifier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from needful.core.atoms import Predicate
from needful.core.objects import Object, Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

# The value of an expression, given the selected features of each object. The arrays may have any shape
# with one feature per entry of the last axis; the other axes are broadcast.
Formula: TypeAlias = Callable[..., np.ndarray]

QUANTIFIERS = ("min", "max")
COMPARISONS = ("<=", ">")


def _feature(a: np.ndarray) -> np.ndarray:
    return a[..., 0]


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] - b[..., 0]


def _absolute_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a[..., 0] - b[..., 0])


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum((a - b) ** 2, axis=-1))


def _bearing(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the angle between the heading of `a` (x, y, heading) and the direction from `a` to `b`."""
    direction = np.arctan2(b[..., 1] - a[..., 1], b[..., 0] - a[..., 0])
    turn = direction - a[..., 2]
    return np.abs(np.arctan2(np.sin(turn), np.cos(turn)))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of expression.

    Attributes:
        formula: computes the value from the selected features of each object.
        objects: the number of objects.
        complexity: the cost of using such an expression in a predicate.
        sentence: describes the value; `{a}` and `{b}` are the objects, `{f}` and `{g}` their features.
    """

    formula: Formula
    objects: int
    complexity: int
    sentence: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "feature": Kind(_feature, 1, 1, "{f} of {a}"),
        "difference": Kind(_difference, 2, 2, "{f} of {a} minus {g} of {b}"),
        "absolute difference": Kind(
            _absolute_difference, 2, 2, "the difference between {f} of {a} and {g} of {b}"
        ),
        "distance": Kind(_distance, 2, 2, "the distance between {a} and {b} in {f}"),
        "bearing": Kind(_bearing, 2, 3, "the angle between the heading of {a} and the direction to {b}"),
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Expression:
    """A real-valued function of one or two objects of a state.

    Attributes:
        kind: the name of the kind, one of `KINDS`.
        types: the type of each object.
        features: for each object, the features that the kind uses, in the kind's order.
        quantifier: None, or "min" or "max": the least or greatest value over all objects of the last type.
            The last object is then no argument of the expression. An object is not compared with itself.
    """

    kind: str
    types: tuple[Type, ...]
    features: tuple[tuple[str, ...], ...]
    quantifier: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError("kind of expression", self.kind, KINDS)
        count = KINDS[self.kind].objects
        if len(self.types) != count or len(self.features) != count:
            raise InvalidInputError(
                f"An expression of the kind {self.kind!r} takes {count} objects, got the types "
                f"{[kind.name for kind in self.types]} and the features {self.features}."
            )
        if self.quantifier is not None and self.quantifier not in QUANTIFIERS:
            raise UnknownNameError("quantifier", self.quantifier, QUANTIFIERS)
        for kind, names in zip(self.types, self.features, strict=True):
            for name in names:
                if name not in kind.features:
                    raise UnknownNameError(f"feature of {kind.name}", name, kind.features)

    @property
    def arguments(self) -> tuple[Type, ...]:
        """The types of the objects that the expression is a function of."""
        return self.types if self.quantifier is None else self.types[:-1]

    @property
    def complexity(self) -> int:
        """The cost of using the expression in a predicate."""
        return KINDS[self.kind].complexity + (self.quantifier is not None)

    def values(self, features: Mapping[Type, np.ndarray]) -> np.ndarray:
        """Return the values for all tuples of objects in several states at once.

        `features` maps each type to an array with the axes state, object, feature. The result has the axis
        state and one axis per argument. If both types are the same, the value for an object and itself is
        NaN.
        """
        kind = KINDS[self.kind]
        columns = [
            features[t][..., [t.features.index(name) for name in names]]
            for t, names in zip(self.types, self.features, strict=True)
        ]
        if kind.objects == 1:
            values = kind.formula(columns[0])
        else:
            values = kind.formula(columns[0][:, :, None], columns[1][:, None, :])
            if self.types[0] == self.types[1]:
                values = values.copy()
                diagonal = np.arange(values.shape[1])
                values[:, diagonal, diagonal] = math.nan
        if self.quantifier is None:
            return values
        fill, reduce = (math.inf, np.min) if self.quantifier == "min" else (-math.inf, np.max)
        values = np.where(np.isnan(values), fill, values)
        return reduce(values, axis=-1, initial=fill)


@dataclass(frozen=True, slots=True, order=True)
class Definition:
    """A comparison of an expression with a bound.

    Attributes:
        expression: the compared expression.
        compare: "<=" or ">".
        bound: a finite number.
    """

    expression: Expression
    compare: str
    bound: float

    def __post_init__(self) -> None:
        if self.compare not in COMPARISONS:
            raise UnknownNameError("comparison", self.compare, COMPARISONS)
        if not math.isfinite(self.bound):
            raise InvalidInputError(f"The bound of a definition must be finite, got {self.bound}.")

    @property
    def name(self) -> str:
        """A name for the predicate with this definition; different definitions have different names."""
        expression = self.expression
        objects = [
            f"{'+'.join(names)}({kind.name})"
            for kind, names in zip(expression.types, expression.features, strict=True)
        ]
        words = [*([expression.quantifier] if expression.quantifier else []), expression.kind.replace(" ", "-")]
        relation = "at-most" if self.compare == "<=" else "above"
        return f"{'-'.join(words)}[{','.join(objects)}]-{relation}-{self.bound!r}"

    @property
    def negation(self) -> Definition:
        """The definition that holds for an object tuple exactly if this one does not."""
        return Definition(self.expression, ">" if self.compare == "<=" else "<=", self.bound)

    def extension(self, values: np.ndarray) -> np.ndarray:
        """Return for each value of the expression whether the definition holds; false for NaN."""
        with np.errstate(invalid="ignore"):
            return values <= self.bound if self.compare == "<=" else values > self.bound

    def true_tuples(self, state: State) -> Iterator[tuple[Object, ...]]:
        """Yield the tuples of objects for which the definition holds in a state."""
        features = {kind: feature_array([state], kind) for kind in self.expression.types}
        holds = self.extension(self.expression.values(features))[0]
        domains = [state.of_type(kind) for kind in self.expression.arguments]
        for index in np.argwhere(holds):
            yield tuple(domain[i] for domain, i in zip(domains, index, strict=True))

    def holds(self, state: State, objects: Sequence[Object]) -> bool:
        """Return whether the definition holds for a tuple of objects in a state."""
        features = {kind: feature_array([state], kind) for kind in self.expression.types}
        index = (
            state.of_type(kind).index(obj)
            for kind, obj in zip(self.expression.arguments, objects, strict=True)
        )
        return bool(self.extension(self.expression.values(features))[(0, *index)])


def feature_array(states: Sequence[State], kind: Type) -> np.ndarray:
    """Return the features of the objects of a type in several states that have the same objects.

    The array has the axes state, object, feature. Objects of subtypes are included, with the features of
    `kind` only.
    """
    objects = states[0].of_type(kind)
    columns = [[obj.type.features.index(name) for name in kind.features] for obj in objects]
    rows = [
        [[vector[c] for c in chosen] for vector, chosen in zip(map(state.__getitem__, objects), columns)]
        for state in states
    ]
    return np.array(rows, dtype=np.float64).reshape(len(states), len(objects), len(kind.features))


def defined_predicate(definition: Definition) -> Predicate:
    """Return the predicate with the given definition."""
    return Predicate(
        definition.name, definition.expression.arguments, definition.holds, definition.true_tuples, definition
    )
