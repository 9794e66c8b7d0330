"""Two ways to turn a mispredicted atom into a quantified delete.

An operator mispredicts an atom if the atom became false and names an object outside the operator's
arguments, so that no atomic delete can express it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from needful.core.atoms import GroundAtom, Predicate
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, PatternArgument, Wildcard

Generalise: TypeAlias = Callable[[GroundAtom, Mapping[Object, Variable]], DeletePattern]


def whole_predicate(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Return the pattern that matches every atom with the atom's predicate, as in the paper."""
    return predicate_pattern(atom.predicate)


def predicate_pattern(predicate: Predicate) -> DeletePattern:
    """Return the pattern that every atom of a predicate matches."""
    return DeletePattern(predicate, tuple(Wildcard(kind) for kind in predicate.types))


def partly_bound(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Return a pattern for an atom: an operator's objects become variables, others become wildcards.

    `lifting` maps the objects that the operator's parameters are bound to, to these parameters. A wildcard
    has the type of the object that it replaces. An object in `lifting` also becomes a wildcard if its
    variable has a wider type than the predicate accepts.
    """

    def argument(obj: Object, kind: Type) -> PatternArgument:
        variable = lifting.get(obj)
        fits = variable is not None and variable.type.is_subtype_of(kind)
        return variable if variable is not None and fits else Wildcard(obj.type)

    return DeletePattern(atom.predicate, tuple(map(argument, atom.objects, atom.predicate.types)))


def nearest_common_pattern(one: DeletePattern, other: DeletePattern) -> DeletePattern | None:
    """Return the narrowest pattern that matches all atoms that either of two patterns matches.

    Return None unless the two patterns differ only in the types of wildcards, and these types have a common
    ancestor.
    """
    if one.predicate != other.predicate:
        return None
    arguments: list[PatternArgument] = []
    for mine, theirs in zip(one.arguments, other.arguments, strict=True):
        if mine == theirs:
            arguments.append(mine)
            continue
        common = mine.type.nearest_common_ancestor(theirs.type)
        if isinstance(mine, Variable) or isinstance(theirs, Variable) or common is None:
            return None
        arguments.append(Wildcard(common))
    return DeletePattern(one.predicate, tuple(arguments))


def without_subsumed(patterns: Iterable[DeletePattern]) -> frozenset[DeletePattern]:
    """Return the patterns without those that are subsumed: another pattern matches all their atoms."""
    found = set(patterns)
    return frozenset(
        pattern
        for pattern in found
        if not any(other != pattern and other.subsumes(pattern) for other in found)
    )
