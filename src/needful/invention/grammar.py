"""Enumerate the expressions from which predicates can be made.

The grammar covers single features, differences of two objects' features, distances, the angle between an
object's heading and the direction to another object, and the distance of a third object from the line
through two objects or the segment between them. An expression can also have a quantifier. Its value is then
the minimum or the maximum over all other objects of the last type.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from needful.core.demonstrations import Demonstration
from needful.core.expressions import QUANTIFIERS, Expression, parse_formula
from needful.core.objects import Type
from needful.core.state import feature_array

# A feature is a coordinate if its name ends with one of `COORDINATES`. It is a heading if its name contains
# one of `HEADINGS`.
COORDINATES = ("x", "y", "z")
HEADINGS = ("theta", "heading", "yaw", "angle", "rotation")
# An integer feature with at most this number of distinct values may be a flag, such as 0 or 1 for "is
# open". It is not compared with features that have other names.
FLAG_VALUES = 2


def enumerate_expressions(
    demonstrations: Sequence[Demonstration], formulas: Sequence[str] = ()
) -> tuple[Expression, ...]:
    """Return the expressions over the types of the demonstrations' objects, in a fixed order.

    The user's formulas come first. Each is used with all types without parents that have its features.

    To limit the number of expressions, only two kinds of types are used: types without parents, and types
    of which every demonstration has exactly one object. A feature that has the same value in all states is
    used neither alone nor in a difference with another such feature.
    """
    objects = [demonstration.objects for demonstration in demonstrations]
    roots = sorted({list(obj.type.ancestry())[-1] for each in objects for obj in each})
    types = {kind for each in objects for obj in each for kind in obj.type.ancestry()}
    single = sorted(
        kind
        for kind in types - set(roots)
        if all(sum(obj.type.is_subtype_of(kind) for obj in each) == 1 for each in objects)
    )
    values = {kind: _feature_values(demonstrations, kind) for kind in (*roots, *single)}
    found: dict[Expression, None] = {}
    for text in formulas:
        for expression in _applied(text, roots):
            found.setdefault(expression)
            found.update(dict.fromkeys(_quantified(expression)))
    for kind in roots:
        for expression in _unary(kind, values[kind]):
            found.setdefault(expression)
            found.update(dict.fromkeys(_quantified(expression)))
    for a, b in itertools.product((*roots, *single), repeat=2):
        for expression in _binary(a, b, values[a], values[b]):
            if a in roots and b in roots and not (expression.kind in _SYMMETRIC and b < a):
                found.setdefault(expression)
            if a in roots:
                found.update(dict.fromkeys(_quantified(expression)))
    for a, b, c in itertools.product(roots, repeat=3):
        if not b < a:
            found.update(dict.fromkeys(_between(a, b, c)))
    return tuple(found)


_SYMMETRIC = frozenset({"absolute difference", "distance"})


def _feature_values(demonstrations: Sequence[Demonstration], kind: Type) -> dict[str, np.ndarray]:
    """Return the distinct values of each feature of a type; leave out features with a single value."""
    arrays = [
        feature_array(demonstration.states, kind).reshape(-1, len(kind.features))
        for demonstration in demonstrations
        if demonstration.states
    ]
    rows = np.concatenate(arrays) if arrays else np.zeros((0, len(kind.features)))
    distinct = {name: np.unique(rows[:, index]) for index, name in enumerate(kind.features)}
    return {name: values for name, values in distinct.items() if len(values) > 1}


def _unary(kind: Type, values: dict[str, np.ndarray]) -> Iterator[Expression]:
    for name in values:
        yield Expression("feature", (kind,), ((name,),))


def _binary(
    a: Type, b: Type, values_a: dict[str, np.ndarray], values_b: dict[str, np.ndarray]
) -> Iterator[Expression]:
    for f, g in itertools.product(a.features, b.features):
        if (f in values_a or g in values_b) and (f == g or _comparable(f, g, values_a, values_b)):
            yield Expression("difference", (a, b), ((f,), (g,)))
            yield Expression("absolute difference", (a, b), ((f,), (g,)))
    for names in _coordinates(a):
        if set(names) <= set(b.features):
            yield Expression("distance", (a, b), (names, names))
            for heading in _headings(a):
                if len(names) == 2:
                    yield Expression("bearing", (a, b), ((*names, heading), names))


def _applied(text: str, types: Sequence[Type]) -> Iterator[Expression]:
    """Yield one expression for each choice of types that have the features of a user's formula."""
    features = parse_formula(text).features
    for chosen in itertools.product(types, repeat=len(features)):
        if all(set(names) <= set(kind.features) for kind, names in zip(chosen, features, strict=True)):
            yield Expression(text, chosen, features)


def _between(a: Type, b: Type, c: Type) -> Iterator[Expression]:
    """Yield expressions for how close objects of type `c` are to the line between two objects.

    There are two kinds: the least distance from the line, and the least distance from the segment.
    """
    for names in _coordinates(a):
        if len(names) == 2 and set(names) <= set(b.features) & set(c.features):
            for kind in ("line distance", "segment distance"):
                yield Expression(kind, (a, b, c), (names, names, names), "min")


def _comparable(f: str, g: str, values_a: dict[str, np.ndarray], values_b: dict[str, np.ndarray]) -> bool:
    """Return whether two features with different names can be compared.

    Both must have integer values only, such as counts, and more than `FLAG_VALUES` distinct values.
    """
    both = (values_a.get(f), values_b.get(g))
    return all(
        values is not None and len(values) > FLAG_VALUES and bool(np.all(values == np.round(values)))
        for values in both
    )


def _coordinates(kind: Type) -> Iterator[tuple[str, ...]]:
    """Yield the groups of two or three features that are coordinates of one point, such as (x, y)."""
    for prefix in sorted({name[:-1] for name in kind.features if name.endswith(COORDINATES)}):
        for dimension in (2, 3):
            names = tuple(prefix + letter for letter in COORDINATES[:dimension])
            if set(names) <= set(kind.features):
                yield names


def _headings(kind: Type) -> list[str]:
    return [name for name in kind.features if any(word in name.lower() for word in HEADINGS)]


def _quantified(expression: Expression) -> Iterator[Expression]:
    for quantifier in QUANTIFIERS:
        yield Expression(expression.kind, expression.types, expression.features, quantifier)
