"""Two ways to turn a mispredicted atom into a quantified delete.

An operator mispredicts an atom if the atom became false and names an object outside the operator's
arguments, so that no atomic delete can say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from needful.core.atoms import GroundAtom
from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, Wildcard

Generalise: TypeAlias = Callable[[GroundAtom, Mapping[Object, Variable]], DeletePattern]


def whole_predicate(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Forget every atom of the predicate, as the paper does."""
    return DeletePattern(atom.predicate, tuple(Wildcard(kind) for kind in atom.predicate.types))


def partly_bound(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Forget only atoms that agree with the operator's arguments where this one does.

    Objects outside the operator become wildcards of their own type.
    """
    arguments = (lifting.get(obj) or Wildcard(obj.type) for obj in atom.objects)
    return DeletePattern(atom.predicate, tuple(arguments))


def without_subsumed(patterns: Iterable[DeletePattern]) -> frozenset[DeletePattern]:
    """Drop the patterns that another one makes superfluous."""
    found = set(patterns)
    return frozenset(
        pattern
        for pattern in found
        if not any(other != pattern and other.subsumes(pattern) for other in found)
    )
