"""Write delete patterns as delete effects of PDDL, and read such effects as delete patterns.

A delete pattern is an atom in which some arguments are wildcards. A wildcard matches every object of a
type. In PDDL, it is a quantified variable: `(forall (?b - block) (not (Clear ?b)))`. In PDDL and in
operators, add effects override deletes. A condition that excludes only added atoms from a delete is
therefore redundant and can be left out. Other conditional effects are not supported.

A grounding of an operator maps distinct parameters to distinct objects, but PDDL allows an action to use an
object twice. Such an action can be read as several operators, one per way to merge its parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.core.atoms import LiftedAtom
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.s_expressions import Expression, Form, Word, expression_text
from needful.planning.pddl.names import Scope
from needful.planning.pddl.read_symbols import PddlSyntax

# What each name in the condition of a delete stands for: a parameter of the action, or None for an object
# that is not the value of any parameter.
Bindings: TypeAlias = Mapping[str, Variable | None]
# Takes a delete pattern of an operator. Returns it as a PDDL effect, or None if it deletes nothing.
DeleteWriter: TypeAlias = Callable[[DeletePattern, Operator, Scope], str | None]


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
    """Return the cases to distinguish for each argument of a pattern.

    The object that a wildcard matches can be the value of one of the action's parameters, if their types
    fit, or of none of them (None). An argument that is a parameter has only one case, this parameter.
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
    None for an object that is not the value of any parameter.
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


def forall_delete(pattern: DeletePattern, operator: Operator, scope: Scope) -> str | None:
    """Return the PDDL effect that deletes all atoms that match a pattern; None if it deletes nothing.

    The effect may also match atoms that the operator adds. They are not deleted: in PDDL, add effects
    override deletes.
    """
    if any(_bindings(pattern, atom) == {} for atom in operator.add_effects):
        return None  # the pattern matches only this atom, which is added
    return _delete_effect(pattern, scope, [()])


def guarded_delete(pattern: DeletePattern, operator: Operator, scope: Scope) -> str | None:
    """Return the PDDL effect that deletes all atoms that match a pattern, except those the operator adds.

    Returns None if the effect deletes nothing. An atom differs from an added atom if their first arguments
    differ, or their second arguments, and so on. Few planners accept such a disjunction as a condition. The
    effect therefore contains several conditional deletes. For one added atom On(a, b), one of them
    deletes the atoms whose first argument is not a, the other those whose second argument is not b. For
    several added atoms, there is one delete per combination of such conditions.
    """
    terms = scope.pattern_terms(pattern)
    inequalities = []
    for atom in sorted(operator.add_effects):
        bindings = _bindings(pattern, atom)
        if bindings is not None:
            inequalities.append([f"(not (= {terms[i]} {scope.variable(v)}))" for i, v in bindings.items()])
    ways = [tuple(dict.fromkeys(way)) for way in itertools.product(*inequalities)]
    return _delete_effect(pattern, scope, ways) if ways else None


def _delete_effect(pattern: DeletePattern, scope: Scope, ways: Sequence[tuple[str, ...]]) -> str:
    terms = scope.pattern_terms(pattern)
    delete = f"(not ({' '.join([scope.names.predicates[pattern.predicate.name], *terms])}))"
    effect = _and([f"(when {_and(way)} {delete})" if way else delete for way in ways])
    wildcards = [
        (term, argument.type)
        for term, argument in zip(terms, pattern.arguments, strict=True)
        if isinstance(argument, Wildcard)
    ]
    return f"(forall ({scope.typed_list(wildcards)}) {effect})" if wildcards else effect


def _bindings(pattern: DeletePattern, atom: LiftedAtom) -> dict[int, Variable] | None:
    """Match a pattern with an atom: return the variable that each wildcard matches, by argument index.

    Returns None if the pattern cannot match the atom.
    """
    if atom.predicate != pattern.predicate:
        return None
    found = {}
    for index, (argument, variable) in enumerate(zip(pattern.arguments, atom.variables, strict=True)):
        if isinstance(argument, Wildcard):
            if not types_overlap(argument.type, variable.type):
                return None
            found[index] = variable
        elif argument != variable:  # distinct variables stand for distinct objects
            return None
    return found


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"(and {' '.join(items)})"


def types_overlap(one: Type, other: Type) -> bool:
    """Return whether an object can be of both types."""
    return one.is_subtype_of(other) or other.is_subtype_of(one)
