"""The abstraction function: which atoms hold in a state."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.objects import Object
from needful.core.state import State


def abstract(state: State, predicates: Iterable[Predicate]) -> AbstractState:
    """Return all ground atoms that hold in a state, over every type-correct tuple of its objects."""
    return frozenset(
        GroundAtom(predicate, objects)
        for predicate in predicates
        for objects in _extension(state, predicate)
    )


def _extension(state: State, predicate: Predicate) -> Iterable[tuple[Object, ...]]:
    """Return the objects for which a predicate holds, asked for at once if it can be."""
    if predicate.batch_classifier is not None:
        return predicate.batch_classifier(state)
    every = itertools.product(*(state.of_type(kind) for kind in predicate.types))
    return (objects for objects in every if predicate.holds(state, objects))
