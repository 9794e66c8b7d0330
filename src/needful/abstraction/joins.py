"""Find the groundings under which lifted atoms lie in given sets of ground atoms.

A join, not a product: at every level the atom with the fewest candidates binds its variables next.
Groundings are injective and respect types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from needful.abstraction.atom_table import AtomTable, bits

UNBOUND = -1


class Constraint(NamedTuple):
    """A lifted atom that must be grounded to an atom of a set.

    Attributes:
        predicate: the predicate's name.
        variables: the variable number at each position.
        allowed: the mask of the atoms it may become.
    """

    predicate: str
    variables: tuple[int, ...]
    allowed: int


def join(
    table: AtomTable,
    constraints: Sequence[Constraint],
    domains: Sequence[int],
    binding: Sequence[int],
    stop: Callable[[], bool] = lambda: False,
    ascending: Sequence[Sequence[int]] = (),
) -> Iterator[tuple[int, ...]]:
    """Yield every injective grounding that satisfies all constraints, each exactly once.

    Args:
        table: numbers the objects and atoms.
        constraints: the lifted atoms and where each must lie.
        domains: for each variable the mask of the objects that it may be bound to.
        binding: the object number of each variable, `UNBOUND` where it is to be found.
        stop: asked at every level, because a join without results can take for ever too; once it
            says yes, the rest of the groundings is left out.
        ascending: groups of variables; only groundings that bind each group to objects in ascending
            order are wanted. Where the variables of a group are interchangeable, these
            stand for all others, which are as many times more as the group has permutations.
    """
    neighbours = {
        variable: (group[:place], group[place + 1 :])
        for group in ascending
        for place, variable in enumerate(group)
    }
    search = _JoinContext(table, domains, neighbours, stop)
    current, used = [UNBOUND] * len(binding), 0
    for variable, number in enumerate(binding):
        if number == UNBOUND:
            continue
        if not _choices(search, variable, current, used) >> number & 1:
            return
        current[variable] = number
        used |= 1 << number
    yield from _extend(search, constraints, current, used)


class _JoinContext(NamedTuple):
    """What stays the same all through a join.

    `neighbours` gives each variable of an ascending group those before it and those after it.
    """

    table: AtomTable
    domains: Sequence[int]
    neighbours: Mapping[int, tuple[Sequence[int], Sequence[int]]]
    stop: Callable[[], bool]


def _extend(
    search: _JoinContext, waiting: Sequence[Constraint], binding: list[int], used: int
) -> Iterator[tuple[int, ...]]:
    if search.stop():
        return
    chosen, candidates, fewest = 0, 0, -1
    rest: list[Constraint] = []
    for constraint in waiting:
        found = _candidates(search.table, constraint, binding)
        count = found.bit_count()
        if count == 0:
            return
        if count == 1 and UNBOUND not in [binding[variable] for variable in constraint.variables]:
            continue
        if fewest < 0 or count < fewest:
            chosen, candidates, fewest = len(rest), found, count
        rest.append(constraint)
    if not rest:
        if UNBOUND in binding:
            yield from _bind_rest(search, binding, used)
        else:
            yield tuple(binding)
        return
    constraint = rest.pop(chosen)
    for number in bits(candidates):
        newly = _unify(search, constraint.variables, search.table.arguments[number], binding, used)
        if newly is None:
            continue
        bound_now = used
        for variable in newly:
            bound_now |= 1 << binding[variable]
        yield from _extend(search, rest, binding, bound_now)
        for variable in newly:
            binding[variable] = UNBOUND


def _candidates(table: AtomTable, constraint: Constraint, binding: list[int]) -> int:
    name = constraint.predicate
    mask = constraint.allowed & table.with_predicate(name)
    for position, variable in enumerate(constraint.variables):
        if binding[variable] != UNBOUND:
            mask &= table.with_argument(name, position, binding[variable])
    return mask


def _unify(
    search: _JoinContext,
    variables: tuple[int, ...],
    arguments: tuple[int, ...],
    binding: list[int],
    used: int,
) -> list[int] | None:
    """Bind the free variables to the arguments in place; return them, or None with nothing bound."""
    newly: list[int] = []
    for variable, argument in zip(variables, arguments, strict=True):
        if binding[variable] == argument:
            continue
        if binding[variable] != UNBOUND or not _choices(search, variable, binding, used) >> argument & 1:
            break
        binding[variable] = argument
        used |= 1 << argument
        newly.append(variable)
    else:
        return newly
    for variable in newly:
        binding[variable] = UNBOUND
    return None


def _bind_rest(search: _JoinContext, binding: list[int], used: int) -> Iterator[tuple[int, ...]]:
    """Bind the variables that no constraint mentions, in every way."""
    if search.stop():
        return
    if UNBOUND not in binding:
        yield tuple(binding)
        return
    variable = binding.index(UNBOUND)
    for number in bits(_choices(search, variable, binding, used)):
        binding[variable] = number
        yield from _bind_rest(search, binding, used | 1 << number)
        binding[variable] = UNBOUND


def _choices(search: _JoinContext, variable: int, binding: list[int], used: int) -> int:
    """Return the mask of the objects that an unbound variable may be bound to."""
    mask = search.domains[variable] & ~used
    if variable in search.neighbours:
        before, after = search.neighbours[variable]
        for other in before:
            if binding[other] != UNBOUND:
                mask &= -1 << binding[other]
        for other in after:
            if binding[other] != UNBOUND:
                mask &= (1 << binding[other]) - 1
    return mask
