"""Joins: find all groundings (maps from variables to objects) of a list of lifted atoms.

The caller gives a set of allowed ground atoms for each lifted atom. A grounding must turn each lifted atom
into one of its allowed ground atoms, and must bind different variables to different objects. The search is
recursive. Each level selects the lifted atom with the fewest allowed ground atoms that fit the variables
bound so far, and binds its remaining variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from needful.abstraction.atom_table import AtomTable, bits

UNBOUND = -1


class Constraint(NamedTuple):
    """A lifted atom, and the ground atoms that a grounding may turn it into.

    Attributes:
        predicate: the name of the lifted atom's predicate.
        variables: the index of the variable at each argument position.
        allowed: the mask of the allowed ground atoms.
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

    A grounding is a tuple with the object number of each variable.

    Args:
        table: numbers the objects and atoms.
        constraints: the lifted atoms, each with its allowed ground atoms.
        domains: for each variable, the mask of the objects that it may be bound to.
        binding: the object number of each variable; `UNBOUND` for the variables that the join must bind.
        stop: called at every level of the search; once it returns True, the join ends. Use it for
            time limits, because the search can run for a long time without yielding a grounding.
        ascending: groups of interchangeable variables. Within a group, the object numbers must increase
            from variable to variable. So only one of the permutations of the same objects is yielded.
    """
    if UNBOUND not in binding:
        if (
            is_allowed(binding, domains, ascending)
            and not stop()
            and all(table.ground((one[:2],), binding) & one.allowed for one in constraints)
        ):
            yield tuple(binding)
        return
    neighbours = {
        variable: (group[:index], group[index + 1 :])
        for group in ascending
        for index, variable in enumerate(group)
    }
    context = _JoinContext(table, domains, neighbours, stop)
    current, used = [UNBOUND] * len(binding), 0
    for variable, number in enumerate(binding):
        if number == UNBOUND:
            continue
        bit = 1 << number
        if used & bit or not domains[variable] & bit:
            return
        if neighbours and not _choices(context, variable, current, used) & bit:
            return
        current[variable] = number
        used |= bit
    yield from _extend(context, constraints, current, used)


def is_allowed(binding: Sequence[int], domains: Sequence[int], ascending: Sequence[Sequence[int]]) -> bool:
    """Return whether a complete binding is injective, and respects `domains` and `ascending` of `join`."""
    if len(set(binding)) < len(binding):
        return False
    for variable, number in enumerate(binding):
        if not domains[variable] >> number & 1:
            return False
    return all(binding[one] < binding[other] for group in ascending for one, other in pairwise(group))


class _JoinContext(NamedTuple):
    """The inputs of a join that stay the same during the search.

    `neighbours` encodes the argument `ascending` of `join`, which holds groups of variables. It maps each
    variable of a group to two lists: the variables before it in the group, and those after it.
    """

    table: AtomTable
    domains: Sequence[int]
    neighbours: Mapping[int, tuple[Sequence[int], Sequence[int]]]
    stop: Callable[[], bool]


def _extend(
    context: _JoinContext, waiting: Sequence[Constraint], binding: list[int], used: int
) -> Iterator[tuple[int, ...]]:
    if context.stop():
        return
    chosen, candidates, fewest = 0, 0, -1
    rest: list[Constraint] = []
    for constraint in waiting:
        found = _candidates(context.table, constraint, binding)
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
            yield from _bind_rest(context, binding, used)
        else:
            yield tuple(binding)
        return
    constraint = rest.pop(chosen)
    for number in bits(candidates):
        new_variables = _unify(
            context, constraint.variables, context.table.arguments[number], binding, used
        )
        if new_variables is None:
            continue
        used_now = used
        for variable in new_variables:
            used_now |= 1 << binding[variable]
        yield from _extend(context, rest, binding, used_now)
        for variable in new_variables:
            binding[variable] = UNBOUND


def _candidates(table: AtomTable, constraint: Constraint, binding: list[int]) -> int:
    name = constraint.predicate
    mask = constraint.allowed & table.with_predicate(name)
    for position, variable in enumerate(constraint.variables):
        if binding[variable] != UNBOUND:
            mask &= table.with_argument(name, position, binding[variable])
    return mask


def _unify(
    context: _JoinContext,
    variables: tuple[int, ...],
    arguments: tuple[int, ...],
    binding: list[int],
    used: int,
) -> list[int] | None:
    """Bind each variable to the object number at the same position in `arguments`.

    Updates `binding` and returns the newly bound variables. If a variable may not be bound to its object,
    returns None and leaves `binding` unchanged. `used` is the mask of the objects in `binding`.
    """
    new_variables: list[int] = []
    for variable, argument in zip(variables, arguments, strict=True):
        if binding[variable] == argument:
            continue
        if binding[variable] != UNBOUND or not _choices(context, variable, binding, used) >> argument & 1:
            break
        binding[variable] = argument
        used |= 1 << argument
        new_variables.append(variable)
    else:
        return new_variables
    for variable in new_variables:
        binding[variable] = UNBOUND
    return None


def _bind_rest(context: _JoinContext, binding: list[int], used: int) -> Iterator[tuple[int, ...]]:
    """Yield all groundings that extend `binding` to the unbound variables, which occur in no constraint."""
    if context.stop():
        return
    if UNBOUND not in binding:
        yield tuple(binding)
        return
    variable = binding.index(UNBOUND)
    for number in bits(_choices(context, variable, binding, used)):
        binding[variable] = number
        yield from _bind_rest(context, binding, used | 1 << number)
        binding[variable] = UNBOUND


def _choices(context: _JoinContext, variable: int, binding: list[int], used: int) -> int:
    """Return the mask of the objects that an unbound variable may be bound to.

    `used` is the mask of the objects that other variables are bound to; these are excluded.
    """
    mask = context.domains[variable] & ~used
    if variable in context.neighbours:
        before, after = context.neighbours[variable]
        for other in before:
            if binding[other] != UNBOUND:
                mask &= -1 << binding[other]
        for other in after:
            if binding[other] != UNBOUND:
                mask &= (1 << binding[other]) - 1
    return mask
