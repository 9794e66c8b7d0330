"""Find the groundings under which lifted atoms lie in given sets of ground atoms.

A join, not a product: at every level the atom with the fewest candidates binds its variables next.
Groundings are injective and respect types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
) -> Iterator[tuple[int, ...]]:
    """Yield every injective grounding that satisfies all constraints, each exactly once.

    Args:
        table: numbers the objects and atoms.
        constraints: the lifted atoms and where each must lie.
        domains: for each variable the mask of the objects that it may be bound to.
        binding: the object number of each variable, `UNBOUND` where it is to be found.
        stop: asked at every level, because a join without results can take for ever too; once it
            says yes, the rest of the groundings is left out.
    """
    current = list(binding)
    used = 0
    for variable, number in enumerate(current):
        if number == UNBOUND:
            continue
        bit = 1 << number
        if used & bit or not domains[variable] & bit:
            return
        used |= bit
    yield from _extend(table, list(constraints), domains, current, used, stop)


def _extend(
    table: AtomTable,
    waiting: list[Constraint],
    domains: Sequence[int],
    binding: list[int],
    used: int,
    stop: Callable[[], bool],
) -> Iterator[tuple[int, ...]]:
    if stop():
        return
    if not waiting:
        yield from _bind_rest(domains, binding, used, stop)
        return
    chosen, candidates, fewest = 0, 0, -1
    for index, constraint in enumerate(waiting):
        found = _candidates(table, constraint, binding)
        count = found.bit_count()
        if count == 0:
            return
        if fewest < 0 or count < fewest:
            chosen, candidates, fewest = index, found, count
    constraint = waiting[chosen]
    rest = waiting[:chosen] + waiting[chosen + 1 :]
    for number in bits(candidates):
        newly = _unify(constraint.variables, table.arguments[number], domains, binding, used)
        if newly is None:
            continue
        bound_now = used
        for variable in newly:
            bound_now |= 1 << binding[variable]
        yield from _extend(table, rest, domains, binding, bound_now, stop)
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
    variables: tuple[int, ...],
    arguments: tuple[int, ...],
    domains: Sequence[int],
    binding: list[int],
    used: int,
) -> list[int] | None:
    """Bind the free variables to the arguments in place; return them, or None with nothing bound."""
    newly: list[int] = []
    for variable, argument in zip(variables, arguments, strict=True):
        if binding[variable] == argument:
            continue
        bit = 1 << argument
        if binding[variable] != UNBOUND or used & bit or not domains[variable] & bit:
            break
        binding[variable] = argument
        used |= bit
        newly.append(variable)
    else:
        return newly
    for variable in newly:
        binding[variable] = UNBOUND
    return None


def _bind_rest(
    domains: Sequence[int], binding: list[int], used: int, stop: Callable[[], bool]
) -> Iterator[tuple[int, ...]]:
    """Bind the variables that no constraint mentions, in every way."""
    if stop():
        return
    try:
        variable = binding.index(UNBOUND)
    except ValueError:
        yield tuple(binding)
        return
    for number in bits(domains[variable] & ~used):
        binding[variable] = number
        yield from _bind_rest(domains, binding, used | 1 << number, stop)
    binding[variable] = UNBOUND
