"""Operators as PDDL actions, lifted or ground."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.abstraction.atom_table import bits
from needful.core.atoms import GroundAtom, LiftedAtom
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.planning.grounding import GroundProblem
from needful.planning.pddl.names import NameTable, controller_comment


@dataclass(frozen=True, slots=True)
class DomainNames:
    """The PDDL names of everything that actions speak of."""

    types: NameTable
    predicates: NameTable
    operators: NameTable
    objects: NameTable

    @classmethod
    def of(
        cls,
        types: Iterable[str],
        predicates: Iterable[str],
        operators: Iterable[str],
        objects: Iterable[str],
    ) -> DomainNames:
        """Return names for all; those of objects come last, so a domain's do not depend on a task."""
        tables: list[NameTable] = []
        for kind, originals in zip(
            ("type", "predicate", "action", "object"), (types, predicates, operators, objects), strict=True
        ):
            taken = [name for table in tables for name in table.by_original.values()]
            tables.append(NameTable.of(kind, originals, taken))
        return cls(*tables)

    def non_action_names(self) -> list[str]:
        """Return the names of whatever is no action."""
        tables = (self.types, self.predicates, self.objects)
        return [name for table in tables for name in table.by_original.values()]

    def atom(self, atom: GroundAtom) -> str:
        """Return a ground atom."""
        return _list([self.predicates[atom.predicate.name], *(self.objects[o.name] for o in atom.objects)])


@dataclass(frozen=True, slots=True)
class Scope:
    """The names of the domain, and of the variables of one operator."""

    names: DomainNames
    variables: NameTable

    @classmethod
    def of(cls, operator: Operator, names: DomainNames) -> Scope:
        """Return the scope inside an operator."""
        return cls(names, NameTable.of("variable", (v.name[1:] for v in operator.parameters)))

    def variable(self, variable: Variable) -> str:
        """Return a variable of the operator."""
        return f"?{self.variables[variable.name[1:]]}"

    def atom(self, atom: LiftedAtom) -> str:
        """Return an atom over variables of the operator."""
        return _list([self.names.predicates[atom.predicate.name], *map(self.variable, atom.variables)])

    def typed(self, variables: Iterable[tuple[str, Type]]) -> str:
        """Return a typed list of variables."""
        return " ".join(f"{name} - {self.names.types[kind.name]}" for name, kind in variables)

    def pattern_terms(self, pattern: DeletePattern) -> list[str]:
        """Return what stands at each position of a pattern; wildcards become fresh variables."""
        fresh = "any"
        while any(name.lower().startswith(fresh) for name in self.variables.by_original.values()):
            fresh += "_"
        return [
            f"?{fresh}{place}" if isinstance(argument, Wildcard) else self.variable(argument)
            for place, argument in enumerate(pattern.arguments)
        ]


Forget: TypeAlias = Callable[[DeletePattern, Operator, Scope], str | None]


def forall_delete(pattern: DeletePattern, operator: Operator, scope: Scope) -> str | None:
    """Return the effect that deletes all that a pattern matches; add effects beside it win."""
    if any(_bindings(pattern, atom) == {} for atom in operator.add_effects):
        return None  # the pattern is one atom, and that is added
    return _delete_effect(pattern, scope, [()])


def guarded_delete(pattern: DeletePattern, operator: Operator, scope: Scope) -> str | None:
    """Return the effect that deletes all that a pattern matches but the add effects.

    An added atom is spared if one of its arguments differs from the atom at hand. Several arguments
    would ask for a disjunction, which few planners accept, so there is an effect for each way to
    differ from all of the added atoms.
    """
    terms = scope.pattern_terms(pattern)
    spared = []
    for atom in sorted(operator.add_effects):
        bindings = _bindings(pattern, atom)
        if bindings is not None:
            spared.append([f"(not (= {terms[i]} {scope.variable(v)}))" for i, v in bindings.items()])
    ways = [tuple(dict.fromkeys(way)) for way in itertools.product(*spared)]
    return _delete_effect(pattern, scope, ways) if ways else None


def _delete_effect(pattern: DeletePattern, scope: Scope, ways: Sequence[tuple[str, ...]]) -> str:
    terms = scope.pattern_terms(pattern)
    delete = f"(not {_list([scope.names.predicates[pattern.predicate.name], *terms])})"
    effect = _and([f"(when {_and(way)} {delete})" if way else delete for way in ways])
    wildcards = [
        (term, argument.type)
        for term, argument in zip(terms, pattern.arguments, strict=True)
        if isinstance(argument, Wildcard)
    ]
    return f"(forall ({scope.typed(wildcards)}) {effect})" if wildcards else effect


def _bindings(pattern: DeletePattern, atom: LiftedAtom) -> dict[int, Variable] | None:
    """Return the variable of the atom at each wildcard if the pattern can match it, else None."""
    if atom.predicate != pattern.predicate:
        return None
    found = {}
    for place, (argument, variable) in enumerate(zip(pattern.arguments, atom.variables, strict=True)):
        if isinstance(argument, Wildcard):
            if not overlap(argument.type, variable.type):
                return None
            found[place] = variable
        elif argument != variable:  # distinct variables stand for distinct objects
            return None
    return found


def overlap(one: Type, other: Type) -> bool:
    """Return whether one object can be of both types."""
    return one.is_subtype_of(other) or other.is_subtype_of(one)


def lifted_action(operator: Operator, names: DomainNames, forget: Forget) -> list[str]:
    """Return the lines of an operator's action; `forget` writes the quantified deletes."""
    scope = Scope.of(operator, names)
    parameters = scope.typed((scope.variable(v), v.type) for v in operator.parameters)
    conditions = [scope.atom(atom) for atom in sorted(operator.preconditions)]
    conditions += [
        f"(not (= {scope.variable(a)} {scope.variable(b)}))"
        for a, b in itertools.combinations(operator.parameters, 2)
        if overlap(a.type, b.type)
    ]
    effects = [scope.atom(atom) for atom in sorted(operator.add_effects)]
    deletes = operator.delete_effects - operator.add_effects
    effects += [f"(not {scope.atom(atom)})" for atom in sorted(deletes)]
    patterns = (forget(pattern, operator, scope) for pattern in sorted(operator.delete_patterns))
    effects += [effect for effect in patterns if effect is not None]
    head = names.operators[operator.name]
    arguments = [scope.variable(variable) for variable in operator.controller_arguments]
    return [
        *scope.variables.changes(),
        controller_comment(head, operator.controller.name, arguments),
        *_action(head, parameters, conditions, effects),
    ]


def ground_actions(
    problem: GroundProblem, names: DomainNames, action_names: Sequence[str]
) -> Iterator[list[str]]:
    """Yield the lines of one action without parameters for each ground operator."""
    shown = [names.atom(atom) for atom in problem.atoms]
    for operator, name in zip(problem.ground_operators, action_names, strict=True):
        deletes = operator.deletes
        for pattern in operator.patterns:
            deletes |= problem.pattern_masks[pattern]
        deletes &= problem.reachable & ~operator.adds
        effects = [shown[atom] for atom in bits(operator.adds)]
        effects += [f"(not {shown[atom]})" for atom in bits(deletes)]
        yield _action(name, "", [shown[atom] for atom in bits(operator.preconditions)], effects)


def _action(name: str, parameters: str, conditions: list[str], effects: list[str]) -> list[str]:
    return [
        f"(:action {name}",
        f"  :parameters ({parameters})",
        "  :precondition (and",
        *(f"    {condition}" for condition in conditions),
        "  )",
        "  :effect (and",
        *(f"    {effect}" for effect in effects),
        "  )",
        ")",
    ]


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"(and {' '.join(items)})"


def _list(words: Iterable[str]) -> str:
    return f"({' '.join(words)})"
