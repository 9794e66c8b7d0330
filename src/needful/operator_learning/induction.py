"""Induce operators: a new one from a necessary change, and P, E- and Q from the data explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, Operator
from needful.operator_learning.delete_patterns import Generalise, without_subsumed
from needful.operator_learning.encoding import EncodedTransition

# A transition and the object numbers that an operator's parameters are bound to.
Datum: TypeAlias = tuple[EncodedTransition, tuple[int, ...]]


def operator_for_change(transition: EncodedTransition, necessary: int) -> tuple[Operator, tuple[int, ...]]:
    """INDUCE: an operator that adds what became true and is necessary, (s_i \\ s_{i-1}) ∩ α_i.

    Variables stand for the controller's arguments in order, then for the other objects of the add
    effects by name. Each has the object's own type. There may be no add effects at all. Returned
    with the object numbers that the variables stand for.
    """
    table = transition.table
    added = necessary & transition.added
    numbers = list(dict.fromkeys(transition.arguments))
    others = {number for atom in bits(added) for number in table.arguments[atom]}
    numbers += sorted(others - set(numbers))
    lifting = {
        table.objects[number]: Variable(f"?x{place}", table.objects[number].type)
        for place, number in enumerate(numbers)
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
    """Return the atoms with variables in the place of their objects, all of which must be lifted."""
    ground = (transition.table.atoms[number] for number in bits(atoms))
    return frozenset(
        LiftedAtom(atom.predicate, tuple(lifting[obj] for obj in atom.objects)) for atom in ground
    )


def liftable(atom: GroundAtom, lifting: Mapping[Object, Variable]) -> bool:
    """Return whether an operator can speak of an atom: its objects are lifted, to fitting variables.

    A variable may have a wider type than the object it is bound to, and then a predicate of the
    object's type does not take it.
    """
    variables = [lifting[obj] for obj in atom.objects if obj in lifting]
    return len(variables) == len(atom.objects) and atom.predicate.fits(variables)


class Inducer:
    """Fits preconditions and deletes to data; remembers what each datum contributes."""

    def __init__(self, generalise: Generalise) -> None:
        self._generalise = generalise
        self._deletes: dict[
            tuple[tuple[Variable, ...], EncodedTransition, tuple[int, ...]],
            tuple[frozenset[LiftedAtom], frozenset[DeletePattern]],
        ] = {}
        self._fitted: dict[tuple[Operator, tuple[Datum, ...]], Operator] = {}

    def fit(self, stripped: Operator, data: tuple[Datum, ...]) -> Operator:
        """Return the operator with P, E- and Q induced from the transitions it explains.

        P is the intersection of the lifted states before, E- the union of the lifted deleted atoms,
        and Q covers every deleted atom that the operator cannot speak of (s_{i-1} \\ E- would
        otherwise predict it).
        """
        known = self._fitted.get((stripped, data))
        if known is None:
            contributions = [self._deleted(stripped, transition, objects) for transition, objects in data]
            known = self._fitted[stripped, data] = replace(
                stripped,
                preconditions=_common_preconditions(stripped, data),
                delete_effects=frozenset().union(*(atoms for atoms, _ in contributions)),
                delete_patterns=without_subsumed(
                    frozenset().union(*(patterns for _, patterns in contributions))
                ),
            )
        return known

    def _deleted(
        self, operator: Operator, transition: EncodedTransition, objects: tuple[int, ...]
    ) -> tuple[frozenset[LiftedAtom], frozenset[DeletePattern]]:
        """Return what one transition contributes to E- and to Q."""
        key = (operator.parameters, transition, objects)
        known = self._deletes.get(key)
        if known is None:
            table = transition.table
            lifting = {table.objects[n]: v for n, v in zip(objects, operator.parameters, strict=True)}
            inside, outside = 0, []
            for number in bits(transition.deleted):
                if liftable(table.atoms[number], lifting):
                    inside |= 1 << number
                else:
                    outside.append(self._generalise(table.atoms[number], lifting))
            known = self._deletes[key] = (lift(transition, inside, lifting), frozenset(outside))
        return known


def _common_preconditions(operator: Operator, data: Sequence[Datum]) -> frozenset[LiftedAtom]:
    """Return the lifted atoms that hold before every transition of the data."""
    (first, objects), rest = data[0], data[1:]
    place = {number: index for index, number in enumerate(objects)}
    lifting = {first.table.objects[number]: operator.parameters[index] for number, index in place.items()}
    found: dict[AtomKey, Predicate] = {}
    for number in bits(first.before):
        if liftable(first.table.atoms[number], lifting):
            predicate, arguments = first.table.atoms[number].predicate, first.table.arguments[number]
            found[predicate.name, tuple(place[argument] for argument in arguments)] = predicate
    for transition, objects in rest:
        table, before = transition.table, transition.before
        for key in list(found):
            ground = table.find((key[0], tuple(objects[index] for index in key[1])))
            if ground is None or not before >> ground & 1:
                del found[key]
    return frozenset(
        LiftedAtom(predicate, tuple(operator.parameters[index] for index in places))
        for (_, places), predicate in found.items()
    )
