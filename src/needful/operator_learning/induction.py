"""Induce operators from necessary changes, and fit their preconditions and deletes to transitions.

An atom is mispredicted if it became false, but the operator predicts that it still holds. This happens if
one of the atom's objects is not bound to any parameter, so that no delete effect can mention the atom. A
quantified delete, which is a pattern with wildcards, is then induced. `whole_predicate`,
`whole_typed_predicate` and `partly_bound` are three ways to turn the atom into a pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, Operator, PatternArgument, Wildcard
from needful.operator_learning.encoding import EncodedTransition

Generalise: TypeAlias = Callable[[GroundAtom, Mapping[Object, Variable]], DeletePattern]


def whole_predicate(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Return the pattern that matches all atoms of the given atom's predicate."""
    return predicate_pattern(atom.predicate)


def whole_typed_predicate(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Return the pattern that matches the atoms of the same predicate with objects of the same types.

    In the paper's experiments, each combination of types has its own predicate, such as
    OnTop-hardback-shelf, and quantified deletes match all atoms of a predicate. Here one predicate accepts
    several types, so the pattern contains the types of the given atom's objects.
    """
    return DeletePattern(atom.predicate, tuple(Wildcard(obj.type) for obj in atom.objects))


def predicate_pattern(predicate: Predicate) -> DeletePattern:
    """Return the pattern that matches all atoms of a predicate."""
    return DeletePattern(predicate, tuple(Wildcard(kind) for kind in predicate.types))


def partly_bound(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> DeletePattern:
    """Return the atom as a pattern, with its objects replaced by variables and wildcards.

    For example, On(a, b) becomes On(?x, *:block) if `lifting` is {a: ?x}, with the parameter ?x.
    An object in `lifting` becomes its parameter, unless the type of the parameter is wider than the
    predicate accepts. All other objects become wildcards of their types.
    """

    def argument(obj: Object, kind: Type) -> PatternArgument:
        variable = lifting.get(obj)
        fits = variable is not None and variable.type.is_subtype_of(kind)
        return variable if variable is not None and fits else Wildcard(obj.type)

    return DeletePattern(atom.predicate, tuple(map(argument, atom.objects, atom.predicate.types)))


def nearest_common_pattern(one: DeletePattern, other: DeletePattern) -> DeletePattern | None:
    """Return the narrowest pattern that matches every atom that `one` or `other` matches.

    Return None if the patterns differ in more than the types of their wildcards, or if two of these types
    have no common ancestor.
    """
    if one.predicate != other.predicate:
        return None
    arguments: list[PatternArgument] = []
    for mine, theirs in zip(one.arguments, other.arguments, strict=True):
        if mine == theirs:
            arguments.append(mine)
            continue
        common = mine.type.nearest_common_ancestor(theirs.type)
        if isinstance(mine, Variable) or isinstance(theirs, Variable) or common is None:
            return None
        arguments.append(Wildcard(common))
    return DeletePattern(one.predicate, tuple(arguments))


def without_subsumed(patterns: Iterable[DeletePattern]) -> frozenset[DeletePattern]:
    """Drop each pattern whose atoms are all matched by another pattern, and return the other patterns."""
    by_predicate: dict[str, set[DeletePattern]] = {}
    for pattern in patterns:
        by_predicate.setdefault(pattern.predicate.name, set()).add(pattern)
    return frozenset(
        pattern
        for found in by_predicate.values()
        for pattern in found
        if not any(other is not pattern and other.subsumes(pattern) for other in found)
    )


# A transition that an operator explains, and the numbers of the objects bound to the operator's parameters.
Datum: TypeAlias = tuple[EncodedTransition, tuple[int, ...]]

# A set of lifted atoms. For example, the key ("On", (0, 2)) stands for the atom On of the operator's first
# and third parameters. The value is the predicate On.
LiftedAtomMap: TypeAlias = dict[AtomKey, Predicate]


def induce_operator(transition: EncodedTransition, necessary: int) -> tuple[Operator, tuple[int, ...]]:
    """Return an operator that explains a transition, and the numbers of the objects of its parameters.

    This is InduceOpToCover of the paper. The add effects are (s_i \\ s_{i-1}) ∩ α_i: the necessary atoms
    that hold after the transition but not before it. There may be no such atoms. The parameters stand for
    the controller's arguments in order, then for the other objects of the add effects, sorted by name. Each
    parameter has the type of its object.
    """
    table = transition.table
    added = necessary & transition.added
    numbers = list(dict.fromkeys(transition.arguments))
    others = {number for atom in bits(added) for number in table.arguments[atom]}
    numbers += sorted(others - set(numbers))
    lifting = {
        table.objects[number]: Variable(f"?x{index}", table.objects[number].type)
        for index, number in enumerate(numbers)
    }
    operator = Operator(
        name=transition.controller.name,
        parameters=tuple(lifting.values()),
        preconditions=frozenset(),
        add_effects=lift(transition, added, lifting),
        delete_effects=frozenset(),
        delete_patterns=frozenset(),
        controller=transition.controller,
        controller_arguments=tuple(lifting[table.objects[number]] for number in transition.arguments),
    )
    return operator, tuple(numbers)


def lift(
    transition: EncodedTransition, atoms: int, lifting: dict[Object, Variable]
) -> frozenset[LiftedAtom]:
    """Return the atoms of the mask `atoms`, with each object replaced by its variable in `lifting`."""
    table = transition.table
    return frozenset(
        LiftedAtom(
            table.predicate_of[atom],
            tuple([lifting[table.objects[number]] for number in table.arguments[atom]]),
        )
        for atom in bits(atoms)
    )


class Inducer:
    """Induces the preconditions and deletes of operators from transitions.

    The induced operators are cached, and so are the deletes that were induced from each transition.
    """

    def __init__(self, generalise: Generalise) -> None:
        self._generalise = generalise
        self._deletes: dict[Operator, dict[Datum, tuple[LiftedAtomMap, frozenset[DeletePattern]]]] = {}
        self._fitted: dict[tuple[Operator, tuple[Datum, ...]], Operator] = {}

    def fit(self, stripped: Operator, data: tuple[Datum, ...]) -> Operator:
        """Return the operator with preconditions and deletes induced from the transitions it explains.

        `stripped` is the operator without induced parts: it has add effects, required preconditions and the
        quantified deletes that `merge_types` gave it. The induced preconditions are the lifted atoms that
        hold before all transitions. The delete effects are the lifted atoms that became false in some of
        them.

        Some deleted atoms cannot be lifted to the operator's parameters. For each of them, a quantified
        delete is added; otherwise the atom would be predicted to hold. A quantified delete is dropped if
        another one matches all of its atoms.
        """
        known = self._fitted.get((stripped, data))
        if known is None:
            contributions = self._deletes.setdefault(stripped, {})
            deletes: LiftedAtomMap = {}
            patterns = set(stripped.delete_patterns)
            for datum in data:
                if datum not in contributions:
                    contributions[datum] = self._deleted(stripped, datum)
                datum_deletes, datum_patterns = contributions[datum]
                deletes.update(datum_deletes)
                patterns.update(datum_patterns)
            known = self._fitted[stripped, data] = replace(
                stripped,
                preconditions=common_preconditions(stripped, data),
                delete_effects=lifted_atoms(stripped.parameters, deletes),
                delete_patterns=without_subsumed(patterns),
            )
        return known

    def _deleted(self, operator: Operator, datum: Datum) -> tuple[LiftedAtomMap, frozenset[DeletePattern]]:
        """Return the delete effects and the delete patterns induced from one transition."""
        transition, objects = datum
        liftable, others = _split_liftable(operator, datum, transition.deleted)
        if not others:
            return liftable, frozenset()
        table = transition.table
        lifting = dict(zip([table.objects[number] for number in objects], operator.parameters, strict=True))
        return liftable, frozenset([self._generalise(atom, lifting) for atom in table.decode(others)])


def common_preconditions(operator: Operator, data: Sequence[Datum]) -> frozenset[LiftedAtom]:
    """Return the atoms over the operator's parameters that hold before every transition in `data`."""
    return lifted_atoms(operator.parameters, preconditions_by_key(operator, data))


def preconditions_by_key(operator: Operator, data: Sequence[Datum]) -> LiftedAtomMap:
    """Return the lifted atoms that hold before every transition in `data`, as a `LiftedAtomMap`."""
    found = liftable_atoms_before(operator, data[0])
    for transition, objects in data[1:]:
        held = transition.table.ground(found, objects) & transition.before
        if held.bit_count() == len(found):
            continue
        for key in list(found):
            if not transition.table.ground((key,), objects) & transition.before:
                del found[key]
    return found


def common_atoms_after(operator: Operator, data: Sequence[Datum], names: Container[str]) -> LiftedAtomMap:
    """Return the lifted atoms that hold after every transition in `data`, as a `LiftedAtomMap`.

    Only the predicates with the given names are considered.
    """
    found = _split_liftable(operator, data[0], data[0][0].after)[0]
    return {
        key: predicate
        for key, predicate in found.items()
        if key[0] in names
        and all(transition.table.ground((key,), objects) & transition.after for transition, objects in data)
    }


def liftable_atoms_before(operator: Operator, datum: Datum, atoms: int = -1) -> LiftedAtomMap:
    """Return the atoms that held before a transition and can be lifted to the operator's parameters.

    Only atoms of the mask `atoms` are returned, by default all.
    """
    transition, objects = datum
    about = transition.table.only_about(objects)
    return _split_liftable(operator, datum, transition.before & about & atoms)[0]


def lifted_atoms(parameters: Sequence[Variable], lifted: LiftedAtomMap) -> frozenset[LiftedAtom]:
    """Return the atoms of a `LiftedAtomMap`, with `parameters` instead of the indices of parameters."""
    return frozenset(
        LiftedAtom(predicate, tuple(parameters[index] for index in indices))
        for (_, indices), predicate in lifted.items()
    )


def _split_liftable(operator: Operator, datum: Datum, atoms: int) -> tuple[LiftedAtomMap, int]:
    """Divide atoms into those that can be lifted to the operator's parameters, and the others.

    Return the lifted atoms and the mask of the others. An atom can be lifted if each of its objects is
    bound to a parameter, and the predicate accepts the types of these parameters. A parameter may have a
    wider type than its object in this transition; the predicate then may not accept it.
    """
    transition, objects = datum
    table = transition.table
    index_of = {number: index for index, number in enumerate(objects)}
    liftable: LiftedAtomMap = {}
    others = 0
    for number in bits(atoms):
        predicate, arguments = table.predicate_of[number], table.arguments[number]
        found = tuple([index_of[argument] for argument in arguments if argument in index_of])
        complete = len(found) == len(arguments)
        if complete and predicate.fits([operator.parameters[index] for index in found]):
            liftable[predicate.name, found] = predicate
        else:
            others |= 1 << number
    return liftable, others
