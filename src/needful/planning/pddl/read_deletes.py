"""Parameters that may be one object: PDDL allows it where operators do not.

A grounding of an operator maps distinct parameters to distinct objects. An action that may be applied to
one object twice is therefore several operators, one for each way to put parameters together.

Quantified deletes, as they are written in PDDL, back into delete patterns.

Adds win in PDDL as they do in operators, so `(forall (?z - t) (not (P ?z)))` is a pattern. A condition
may spare some of what is deleted, as long as it is added anyway: then the pattern means the same.
Other conditional effects are none of our operators'.
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
from needful.planning.pddl.actions import overlap
from needful.planning.pddl.read_symbols import PddlSyntax

# What a name in a condition stands for: a parameter, or an object that is none of the parameters.
Bindings: TypeAlias = Mapping[str, Variable | None]


@dataclass(frozen=True, slots=True)
class DeleteEffect:
    """A delete effect.

    Attributes:
        pattern: what it deletes.
        names: the quantified variable at each place of the pattern, None where there is a parameter.
        condition: when it does, None for always.
        parameters: the parameters that a condition may speak of, by name.
        at: where it is written.
    """

    pattern: DeletePattern
    names: tuple[str | None, ...]
    condition: Expression | None
    parameters: Mapping[str, Variable]
    at: Form


def forgotten(
    deletes: Iterable[DeleteEffect], adds: frozenset[LiftedAtom], syntax: PddlSyntax
) -> frozenset[DeletePattern]:
    """Return the patterns that, together with the add effects, do what the delete effects do."""
    by_pattern: dict[DeletePattern, list[DeleteEffect]] = {}
    for delete in deletes:
        by_pattern.setdefault(delete.pattern, []).append(delete)
    added = {(atom.predicate, atom.variables) for atom in adds}
    for pattern, ways in by_pattern.items():
        for choice in itertools.product(*_candidates(pattern, ways[0].parameters.values())):
            if (pattern.predicate, choice) not in added and not _deleted(choice, ways, syntax):
                raise syntax.fault(
                    ways[0].at,
                    f"the condition spares more of {pattern} than is added. Conditional effects are not "
                    "supported but for deletes that spare the add effects.",
                )
    return frozenset(by_pattern)


def _candidates(pattern: DeletePattern, parameters: Iterable[Variable]) -> list[Sequence[Variable | None]]:
    """Return what may stand at each place of a pattern; None is any object but the parameters."""
    every = list(dict.fromkeys(parameters))
    return [
        [None, *(one for one in every if overlap(one.type, argument.type))]
        if isinstance(argument, Wildcard)
        else [argument]
        for argument in pattern.arguments
    ]


def _deleted(choice: Sequence[Variable | None], ways: Sequence[DeleteEffect], syntax: PddlSyntax) -> bool:
    """Return whether one of several delete effects on the same pattern deletes an atom of it."""
    for way in ways:
        quantified = {name: one for name, one in zip(way.names, choice, strict=True) if name is not None}
        if way.condition is None or _holds(way.condition, {**way.parameters, **quantified}, syntax):
            return True
    return False


def _holds(condition: Expression, meaning: Bindings, syntax: PddlSyntax) -> bool:
    """Decide a condition that is made of equalities."""
    head, parts = syntax.parts(condition)
    connectives: dict[str, Callable[[Iterable[bool]], bool]] = {"and": all, "or": any}
    if head in connectives:
        return connectives[head](_holds(part, meaning, syntax) for part in parts)
    if head == "not" and len(parts) == 1:
        return not _holds(parts[0], meaning, syntax)
    if head != "=" or len(parts) != 2:
        raise syntax.fault(
            condition,
            f"{expression_text(condition)} is not supported: conditions of effects are equalities only.",
        )
    one, other = (_meaning(syntax.word(part), meaning, syntax) for part in parts)
    if one is None and other is None:
        raise syntax.fault(
            condition,
            f"{expression_text(condition)} is not supported: compare with a parameter of the action.",
        )
    return one == other


def _meaning(name: Word, meaning: Bindings, syntax: PddlSyntax) -> Variable | None:
    if name.lower() not in meaning:
        raise syntax.unknown("variable", name, meaning)
    return meaning[name.lower()]


def parameter_partitions(variables: Sequence[Variable]) -> Iterator[dict[Variable, Variable]]:
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
