"""The abstraction function: which atoms hold in a state."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.state import State


def abstract(state: State, predicates: Iterable[Predicate]) -> AbstractState:
    """Return all ground atoms that hold in a state, over every type-correct tuple of its objects."""
    return frozenset(
        GroundAtom(predicate, objects)
        for predicate in predicates
        for objects in itertools.product(*(state.of_type(kind) for kind in predicate.types))
        if predicate.holds(state, objects)
    )
