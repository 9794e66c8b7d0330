"""Parameters that may be one object: PDDL allows it where operators do not.

A grounding of an operator maps distinct parameters to distinct objects. An action that may be applied to
one object twice is therefore several operators, one for each way to put parameters together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needful.core.objects import Variable
from needful.planning.pddl_actions import overlap


def ways_to_repeat(variables: Sequence[Variable]) -> Iterator[dict[Variable, Variable]]:
    """Yield every way to put variables together, as a map to the one that stands for all of a group.

    The first way is to keep them all apart. Variables come together if one object can be of all of their
    types; the one of the narrowest type stands for the others.
    """
    for groups in _groupings(variables):
        yield {one: max(group, key=_depth) for group in groups for one in group}


def _groupings(variables: Sequence[Variable]) -> Iterator[list[list[Variable]]]:
    if not variables:
        yield []
        return
    *others, last = variables
    for groups in _groupings(others):
        yield [*groups, [last]]
    for groups in _groupings(others):
        for place, group in enumerate(groups):
            if all(overlap(last.type, one.type) for one in group):
                yield [*groups[:place], [*group, last], *groups[place + 1 :]]


def _depth(variable: Variable) -> int:
    return len(list(variable.type.ancestry()))
