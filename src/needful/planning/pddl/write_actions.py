"""Write operators as PDDL actions, lifted or ground.

A delete pattern is a quantified delete effect: an atom in which some arguments are wildcards. A wildcard
matches every object of a type.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.abstraction.atom_table import bits
from needful.core.atoms import GroundAtom, LiftedAtom
from needful.core.objects import Type, Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.planning.grounding import GroundProblem, deleted_atoms
from needful.planning.pddl.names import NameTable, controller_comment


@dataclass(frozen=True, slots=True)
class DomainNames:
    """The PDDL names of everything that actions refer to."""

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
        """Return unique PDDL names for the given original names.

        Objects get their names last, so the other names are the same for every task.
        """
        tables: list[NameTable] = []
        for kind, originals in zip(
            ("type", "predicate", "action", "object"), (types, predicates, operators, objects), strict=True
        ):
            taken = [name for table in tables for name in table.by_original.values()]
            tables.append(NameTable.of(kind, originals, taken))
        return cls(*tables)

    def non_action_names(self) -> list[str]:
        """Return the PDDL names of all types, predicates and objects."""
        tables = (self.types, self.predicates, self.objects)
        return [name for table in tables for name in table.by_original.values()]

    def atom(self, atom: GroundAtom) -> str:
        """Return a ground atom as PDDL."""
        return _list([self.predicates[atom.predicate.name], *(self.objects[o.name] for o in atom.objects)])


@dataclass(frozen=True, slots=True)
class Scope:
    """The PDDL names of a domain, and those of the variables of one operator."""

    names: DomainNames
    variables: NameTable

    @classmethod
    def of(cls, operator: Operator, names: DomainNames) -> Scope:
        """Return the PDDL names for one operator."""
        return cls(names, NameTable.of("variable", (v.name[1:] for v in operator.parameters)))

    def variable(self, variable: Variable) -> str:
        """Return a variable of the operator as PDDL."""
        return f"?{self.variables[variable.name[1:]]}"

    def atom(self, atom: LiftedAtom) -> str:
        """Return an atom over variables of the operator as PDDL."""
        return _list([self.names.predicates[atom.predicate.name], *map(self.variable, atom.variables)])

    def typed_list(self, variables: Iterable[tuple[str, Type]]) -> str:
        """Return a typed list of variables as PDDL."""
        return " ".join(f"{name} - {self.names.types[kind.name]}" for name, kind in variables)

    def pattern_terms(self, pattern: DeletePattern) -> list[str]:
        """Return the arguments of a delete pattern as PDDL; wildcards become new variables."""
        fresh = "any"
        while any(name.lower().startswith(fresh) for name in self.variables.by_original.values()):
            fresh += "_"
        return [
            f"?{fresh}{index}" if isinstance(argument, Wildcard) else self.variable(argument)
            for index, argument in enumerate(pattern.arguments)
        ]


# Takes a delete pattern of an operator. Returns it as a PDDL effect, or None if it deletes nothing.
DeleteWriter: TypeAlias = Callable[[DeletePattern, Operator, Scope], str | None]


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
    effect therefore contains several conditional deletes, one per choice of an argument for each added
    atom. Each delete requires that its chosen arguments differ from those of the added atoms.
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
    delete = f"(not {_list([scope.names.predicates[pattern.predicate.name], *terms])})"
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


def types_overlap(one: Type, other: Type) -> bool:
    """Return whether an object can be of both types."""
    return one.is_subtype_of(other) or other.is_subtype_of(one)


def lifted_action(operator: Operator, names: DomainNames, write_delete: DeleteWriter) -> list[str]:
    """Return an operator as the lines of a PDDL action; `write_delete` writes its delete patterns."""
    scope = Scope.of(operator, names)
    parameters = scope.typed_list((scope.variable(v), v.type) for v in operator.parameters)
    conditions = [scope.atom(atom) for atom in sorted(operator.preconditions)]
    conditions += [f"(not {scope.atom(atom)})" for atom in sorted(operator.negative_preconditions)]
    conditions += [
        f"(not (= {scope.variable(a)} {scope.variable(b)}))"
        for a, b in itertools.combinations(operator.parameters, 2)
        if types_overlap(a.type, b.type)
    ]
    effects = [scope.atom(atom) for atom in sorted(operator.add_effects)]
    deletes = operator.delete_effects - operator.add_effects
    effects += [f"(not {scope.atom(atom)})" for atom in sorted(deletes)]
    patterns = (write_delete(pattern, operator, scope) for pattern in sorted(operator.delete_patterns))
    effects += [effect for effect in patterns if effect is not None]
    action_name = names.operators[operator.name]
    arguments = [scope.variable(variable) for variable in operator.controller_arguments]
    return [
        *scope.variables.rename_comments(),
        controller_comment(action_name, operator.controller.name, arguments),
        *_action(action_name, parameters, conditions, effects),
    ]


def ground_actions(
    problem: GroundProblem, names: DomainNames, action_names: Sequence[str]
) -> Iterator[list[str]]:
    """Yield each ground operator as the lines of a PDDL action without parameters."""
    written = [names.atom(atom) for atom in problem.atoms]
    for operator, name in zip(problem.ground_operators, action_names, strict=True):
        deletes = deleted_atoms(operator, problem) & problem.reachable
        effects = [written[atom] for atom in bits(operator.adds)]
        effects += [f"(not {written[atom]})" for atom in bits(deletes)]
        conditions = [written[atom] for atom in bits(operator.preconditions)]
        forbidden = operator.negative_preconditions & problem.reachable
        conditions += [f"(not {written[atom]})" for atom in bits(forbidden)]
        yield _action(name, "", conditions, effects)


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
