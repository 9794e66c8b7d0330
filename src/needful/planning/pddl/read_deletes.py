"""Read delete effects of PDDL as delete patterns, and merge parameters that may stand for the same object.

`(forall (?b - block) (not (Clear ?b)))` becomes a delete pattern: an atom with a wildcard, which matches
every object of a type. In PDDL and in operators, add effects override deletes. A condition that excludes
only added atoms from a delete is therefore redundant and can be left out. Other conditional effects are not
supported.

A grounding of an operator maps distinct parameters to distinct objects, but PDDL allows an action to use an
object twice. Such an action can be read as several operators, one per way to merge its parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.core.atoms import LiftedAtom
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Wildcard
from needful.core.s_expressions import Expression, Form, Word, expression_text
from needful.planning.pddl.read_symbols import PddlSyntax
from needful.planning.pddl.write_actions import types_overlap

# For each name in a condition, the parameter that it stands for. None means an object that is bound to no
# parameter.
Bindings: TypeAlias = Mapping[str, Variable | None]


@dataclass(frozen=True, slots=True)
class DeleteEffect:
    """A delete effect as read from PDDL.

    Attributes:
        pattern: the atoms to delete. Its wildcards are the quantified variables of the effect.
        names: for each argument of the pattern, the name of the quantified variable, or None if the
            argument is a parameter of the action.
        condition: the condition of the delete; None if there is none.
        parameters: the parameters that a condition may refer to, by name.
        form: the expression in the text, for error messages.
    """

    pattern: DeletePattern
    names: tuple[str | None, ...]
    condition: Expression | None
    parameters: Mapping[str, Variable]
    form: Form


def merge_deletes(
    deletes: Iterable[DeleteEffect], adds: frozenset[LiftedAtom], syntax: PddlSyntax
) -> frozenset[DeletePattern]:
    """Return the delete patterns of an action, without the conditions of its delete effects.

    The conditions may exclude only atoms that the action adds: add effects override deletes, so these
    conditions are redundant. Any other condition raises an error.
    """
    by_pattern: dict[DeletePattern, list[DeleteEffect]] = {}
    for delete in deletes:
        by_pattern.setdefault(delete.pattern, []).append(delete)
    added = {(atom.predicate, atom.variables) for atom in adds}
    for pattern, effects in by_pattern.items():
        for choice in itertools.product(*_candidates(pattern, effects[0].parameters.values())):
            if (pattern.predicate, choice) not in added and not _deleted(choice, effects, syntax):
                raise syntax.fault(
                    effects[0].form,
                    f"the condition excludes atoms of {pattern} that are not added. The condition of a "
                    "delete may exclude only atoms that the action adds.",
                )
    return frozenset(by_pattern)


def _candidates(pattern: DeletePattern, parameters: Iterable[Variable]) -> list[Sequence[Variable | None]]:
    """Return the possible values of each argument of a pattern.

    A value is a parameter of the action. None means an object that is bound to no parameter.
    """
    every = list(dict.fromkeys(parameters))
    return [
        [None, *(one for one in every if types_overlap(one.type, argument.type))]
        if isinstance(argument, Wildcard)
        else [argument]
        for argument in pattern.arguments
    ]


def _deleted(
    choice: Sequence[Variable | None], effects: Sequence[DeleteEffect], syntax: PddlSyntax
) -> bool:
    """Return whether at least one delete effect deletes the atom with the arguments `choice`.

    All effects have the same pattern, which matches the atom. An argument is a parameter of the action, or
    None for an object that is bound to no parameter.
    """
    for effect in effects:
        quantified = {name: one for name, one in zip(effect.names, choice, strict=True) if name is not None}
        bindings = {**effect.parameters, **quantified}
        if effect.condition is None or _holds(effect.condition, bindings, syntax):
            return True
    return False


def _holds(condition: Expression, bindings: Bindings, syntax: PddlSyntax) -> bool:
    """Return whether a condition is true if its names stand for the parameters in `bindings`.

    The condition may contain only equalities, `and`, `or` and `not`.
    """
    head, parts = syntax.parts(condition)
    connectives: dict[str, Callable[[Iterable[bool]], bool]] = {"and": all, "or": any}
    if head in connectives:
        return connectives[head](_holds(part, bindings, syntax) for part in parts)
    if head == "not" and len(parts) == 1:
        return not _holds(parts[0], bindings, syntax)
    if head != "=" or len(parts) != 2:
        raise syntax.fault(
            condition,
            f"{expression_text(condition)} is not supported: conditions of effects must be equalities.",
        )
    one, other = (_binding(syntax.word(part), bindings, syntax) for part in parts)
    if one is None and other is None:
        raise syntax.fault(
            condition,
            f"{expression_text(condition)} is not supported: one side must be a parameter of the action.",
        )
    return one == other


def _binding(name: Word, bindings: Bindings, syntax: PddlSyntax) -> Variable | None:
    if name.lower() not in bindings:
        raise syntax.unknown("variable", name, bindings)
    return bindings[name.lower()]


def parameter_partitions(variables: Sequence[Variable]) -> Iterator[dict[Variable, Variable]]:
    """Yield every way to divide variables into groups, where each group stands for one object.

    Each way is a map from each variable to the variable with the narrowest type in its group. Variables can
    be in one group if an object can have all their types. In the first map, each variable is a group of its
    own.
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
        for index, group in enumerate(groups):
            if all(types_overlap(last.type, one.type) for one in group):
                yield [*groups[:index], [*group, last], *groups[index + 1 :]]


def _depth(variable: Variable) -> int:
    return len(list(variable.type.ancestry()))
