"""Compute abstract states, encode sets of atoms as integers, and find groundings of lifted atoms."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.objects import Object
from needful.core.state import State


def abstract(state: State, predicates: Iterable[Predicate]) -> AbstractState:
    """Return all ground atoms of the predicates, over the objects of the state, that hold in the state."""
    return frozenset(
        GroundAtom(predicate, objects)
        for predicate in predicates
        for objects in _true_tuples(state, predicate)
    )


def _true_tuples(state: State, predicate: Predicate) -> Iterable[tuple[Object, ...]]:
    if predicate.batch_classifier is not None:
        return predicate.batch_classifier(state)
    tuples = itertools.product(*(state.of_type(kind) for kind in predicate.types))
    return (objects for objects in tuples if predicate.holds(state, objects))
