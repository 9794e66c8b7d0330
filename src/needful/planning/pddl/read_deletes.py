"""Read delete effects of PDDL as delete patterns, and merge parameters that may be one object.

In PDDL as in operators, adds override deletes, so `(forall (?z - t) (not (P ?z)))` is a pattern. A
condition may exclude atoms from the delete if they are added anyway: the pattern then means the same.
Operators have no other conditional effects.

A grounding of an operator maps distinct parameters to distinct objects, but PDDL allows an action to use an
object twice. Such an action becomes several operators, one per way to merge its parameters.
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
from needful.planning.pddl.actions import types_overlap
from needful.planning.pddl.read_symbols import PddlSyntax

# The parameter that a name in a condition stands for, or None for any other object.
Bindings: TypeAlias = Mapping[str, Variable | None]


@dataclass(frozen=True, slots=True)
class DeleteEffect:
    """A delete effect.

    Attributes:
        pattern: the deleted atoms.
        names: the quantified variable at each argument of the pattern; None at a parameter.
        condition: the condition of the delete; None for always.
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
    """Return the patterns that, together with the add effects, are equivalent to the delete effects."""
    by_pattern: dict[DeletePattern, list[DeleteEffect]] = {}
    for delete in deletes:
        by_pattern.setdefault(delete.pattern, []).append(delete)
    added = {(atom.predicate, atom.variables) for atom in adds}
    for pattern, ways in by_pattern.items():
        for choice in itertools.product(*_candidates(pattern, ways[0].parameters.values())):
            if (pattern.predicate, choice) not in added and not _deleted(choice, ways, syntax):
                raise syntax.fault(
                    ways[0].form,
                    f"the condition excludes atoms of {pattern} that are not added. Conditional effects "
                    "are supported for deletes that exclude add effects only.",
                )
    return frozenset(by_pattern)


def _candidates(pattern: DeletePattern, parameters: Iterable[Variable]) -> list[Sequence[Variable | None]]:
    """Return the possible arguments of a pattern; None is any object but the parameters."""
    every = list(dict.fromkeys(parameters))
    return [
        [None, *(one for one in every if types_overlap(one.type, argument.type))]
        if isinstance(argument, Wildcard)
        else [argument]
        for argument in pattern.arguments
    ]


def _deleted(choice: Sequence[Variable | None], ways: Sequence[DeleteEffect], syntax: PddlSyntax) -> bool:
    """Return whether one of the delete effects of a pattern deletes the atom with these arguments."""
    for way in ways:
        quantified = {name: one for name, one in zip(way.names, choice, strict=True) if name is not None}
        if way.condition is None or _holds(way.condition, {**way.parameters, **quantified}, syntax):
            return True
    return False


def _holds(condition: Expression, bindings: Bindings, syntax: PddlSyntax) -> bool:
    """Evaluate a condition made of equalities."""
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
            f"{expression_text(condition)} is not supported: compare with a parameter of the action.",
        )
    return one == other


def _binding(name: Word, bindings: Bindings, syntax: PddlSyntax) -> Variable | None:
    if name.lower() not in bindings:
        raise syntax.unknown("variable", name, bindings)
    return bindings[name.lower()]


def parameter_partitions(variables: Sequence[Variable]) -> Iterator[dict[Variable, Variable]]:
    """Yield every way to merge variables, as a map from each variable to the representative of its group.

    The first way merges none. Variables can be merged if one object can be of all their types; the variable
    of the narrowest type represents the group.
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
