"""Two ways to turn a mispredicted atom into a quantified delete.

An atom is mispredicted if it became false, but the operator predicts that it still holds. This happens if
no parameter of the operator is bound to one of the atom's objects, so that no atomic delete can name it. A
quantified delete is a pattern with wildcards. `whole_predicate` and `partly_bound` are the two ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from needful.core.atoms import GroundAtom, Predicate
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, PatternArgument, Wildcard

Generalise: TypeAlias = Callable[[GroundAtom, Mapping[Object, Variable]], DeletePattern]


def whole_predicate(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Return the pattern that matches all atoms of the given atom's predicate, as in the paper."""
    return predicate_pattern(atom.predicate)


def predicate_pattern(predicate: Predicate) -> DeletePattern:
    """Return the pattern that matches all atoms of a predicate."""
    return DeletePattern(predicate, tuple(Wildcard(kind) for kind in predicate.types))


def partly_bound(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Return the atom as a pattern, with its objects replaced by variables and wildcards.

    `lifting` maps objects to the operator's parameters. An object in `lifting` becomes its parameter, any
    other object becomes a wildcard of the object's type. An object in `lifting` also becomes a wildcard if
    its parameter has a wider type than the predicate accepts.
    """

    def argument(obj: Object, kind: Type) -> PatternArgument:
        variable = lifting.get(obj)
        fits = variable is not None and variable.type.is_subtype_of(kind)
        return variable if variable is not None and fits else Wildcard(obj.type)

    return DeletePattern(atom.predicate, tuple(map(argument, atom.objects, atom.predicate.types)))


def nearest_common_pattern(one: DeletePattern, other: DeletePattern) -> DeletePattern | None:
    """Return the narrowest pattern that matches every atom that `one` or `other` matches.

    Return None if the patterns differ in more than the types of their wildcards, or if two of these types
    have no common ancestor.
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
    """Drop each pattern whose atoms are all matched by another pattern, and return the other patterns."""
    found = set(patterns)
    return frozenset(
        pattern
        for pattern in found
        if not any(other != pattern and other.subsumes(pattern) for other in found)
    )
