"""Complement predicates: `not P` holds for objects if and only if the predicate P does not.

`with_complements` adds complement atoms to demonstrations, so the learner can treat `not P` like any other
predicate. `translate_complements` turns the complements in the learned operators into negative
preconditions and effects of the original predicates.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.demonstrations import Demonstration
from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator, OperatorData
from needful.operator_learning.learned_operators import LearnedOperators

# The name of a complement starts with this text.
NOT = "not "
# A predicate gets no complement if it would have more complement atoms than this in a demonstration.
MAX_COMPLEMENTS = 1_000
# Two predicates are complements if exactly one of them holds in at least this share of all cases. A case is
# a choice of objects for the arguments, in one state.
ALMOST_ALL = 0.95


def find_complements(
    negated: Set[str], demonstrations: Sequence[Demonstration]
) -> dict[Predicate, Predicate]:
    """Return a map from the predicates with the names in `negated` to their new complements.

    A predicate is left out if it would have too many complement atoms, or if an existing predicate already
    is its complement, as `Open` is the complement of `Closed`.
    """
    if not negated:
        return {}
    predicates = {
        atom.predicate.name: atom.predicate
        for demonstration in demonstrations
        for atom in frozenset[GroundAtom]().union(*demonstration.abstract_states)
    }
    return {
        predicate: Predicate(_free_name(NOT + name, predicates), predicate.types)
        for name, predicate in sorted(predicates.items())
        if name in negated
        and all(_count_atoms(predicate, one.objects) <= MAX_COMPLEMENTS for one in demonstrations)
        and not any(
            _are_complements(predicate, other, demonstrations)
            for other in predicates.values()
            if other.name != name and other.types == predicate.types
        )
    }


def _free_name(name: str, taken: Container[str]) -> str:
    """Return the name; if it is already used, append spaces until it is new."""
    while name in taken:
        name += " "
    return name


def _are_complements(one: Predicate, other: Predicate, demonstrations: Sequence[Demonstration]) -> bool:
    """Return whether, for almost all choices of objects and states, exactly one of two predicates holds."""
    exclusive = total = 0
    for demonstration in demonstrations:
        count = sum(1 for _ in _tuples(one, demonstration.objects))
        for state in demonstration.abstract_states:
            held = [
                {atom.objects for atom in state if atom.predicate == predicate}
                for predicate in (one, other)
            ]
            exclusive += len(held[0] ^ held[1])
            total += count
    return exclusive >= ALMOST_ALL * total


def _count_atoms(predicate: Predicate, objects: Sequence[Object]) -> int:
    return math.prod(sum(obj.type.is_subtype_of(kind) for obj in objects) for kind in predicate.types)


def with_complements(
    demonstrations: Sequence[Demonstration], complements: Mapping[Predicate, Predicate]
) -> tuple[Demonstration, ...]:
    """Return the demonstrations with complement atoms: `not P(a)` is added to each state without P(a).

    `complements` maps predicates to their complements. Complement atoms are added only for distinct
    objects, because the parameters of an operator are always bound to distinct objects.
    """
    return tuple(_with_complements(one, complements) for one in demonstrations)


def _tuples(predicate: Predicate, objects: Sequence[Object]) -> Iterator[tuple[Object, ...]]:
    """Yield the tuples of distinct objects to which a predicate can be applied."""
    domains = ([obj for obj in objects if obj.type.is_subtype_of(kind)] for kind in predicate.types)
    return (chosen for chosen in product(*domains) if len(set(chosen)) == len(chosen))


def _with_complements(
    demonstration: Demonstration, complements: Mapping[Predicate, Predicate]
) -> Demonstration:
    pairs = [
        (predicate(*objects), complement(*objects))
        for predicate, complement in complements.items()
        for objects in _tuples(predicate, demonstration.objects)
    ]
    states = tuple(
        state.union(complement for atom, complement in pairs if atom not in state)
        for state in demonstration.abstract_states
    )
    return replace(demonstration, abstract_states=states)


def translate_complements(
    learned: LearnedOperators,
    complements: Mapping[Predicate, Predicate],
    demonstrations: Sequence[Demonstration],
) -> LearnedOperators:
    """Return learned operators with negative preconditions instead of complements.

    `complements` maps predicates to their complements. `demonstrations` contains the demonstrations before
    complement atoms were added.
    """
    negated = {complement.name: predicate for predicate, complement in complements.items()}
    return _Translator(negated).translate(learned, demonstrations)


# A transition of an operator: the objects of its parameters, and the states before and after it.
_Case: TypeAlias = tuple[Mapping[Variable, Object], AbstractState, AbstractState]


@dataclass(frozen=True, slots=True)
class _Translator:
    """Translates complements to negative preconditions and to effects of the original predicates.

    `negated` maps the names of complements to the original predicates.
    """

    negated: Mapping[str, Predicate]

    def translate(
        self, learned: LearnedOperators, demonstrations: Sequence[Demonstration]
    ) -> LearnedOperators:
        """Return learned operators with negative preconditions instead of complements."""
        data = tuple(replace(one, operator=self._operator(one, demonstrations)) for one in learned.data)
        operators = {one.operator.name: one.operator for one in data}
        return replace(
            learned,
            data=data,
            chains=tuple(
                tuple(
                    None if step is None else GroundOperator(operators[step.operator.name], step.objects)
                    for step in chain
                )
                for chain in learned.chains
            ),
            necessary=tuple(tuple(map(self._positive, one)) for one in learned.necessary),
            forbidden=tuple(tuple(map(self._forbidden, one)) for one in learned.necessary),
        )

    def _operator(self, data: OperatorData, demonstrations: Sequence[Demonstration]) -> Operator:
        """Translate one operator.

        A precondition `not P` becomes a negative precondition, and an add effect `not P` becomes the delete
        effect P. A delete effect `not P` means that P may become true. It becomes the add effect P if P
        held after all transitions of the operator; otherwise it is dropped. Quantified deletes of
        complements are dropped.

        For the learner, a delete effect P means that P may become false. But a planner assumes that P
        becomes false, and could thus satisfy a negative precondition `not P` by a delete that does not
        happen. So if a predicate has a complement, its delete effects are kept only if the deleted atom was
        false after all transitions of the operator. `_is_uncertain` tests this for quantified deletes of P.
        """
        operator = data.operator
        cases: list[_Case] = []
        for one in data.groundings:
            before, after = demonstrations[one.demonstration].abstract_states[one.step : one.step + 2]
            cases.append((dict(zip(operator.parameters, one.objects, strict=True)), before, after))
        made_true = frozenset(
            atom
            for atom in self._negations(operator.delete_effects)
            if all(atom.ground(binding) in after for binding, _, after in cases)
        )
        made_false = self._negations(operator.add_effects)
        uncertain = frozenset(
            atom
            for atom in operator.delete_effects
            if atom.predicate in self.negated.values()
            and any(atom.ground(binding) in after for binding, _, after in cases)
        )
        return replace(
            operator,
            preconditions=self._others(operator.preconditions),
            negative_preconditions=self._negations(operator.preconditions),
            add_effects=self._others(operator.add_effects) | made_true,
            delete_effects=self._others(operator.delete_effects - uncertain) | made_false,
            delete_patterns=frozenset(
                one
                for one in operator.delete_patterns
                if one.predicate.name not in self.negated
                and not (one.predicate in self.negated.values() and _is_uncertain(one, cases))
            ),
        )

    def _negations(self, atoms: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(
            LiftedAtom(self.negated[atom.predicate.name], atom.variables)
            for atom in atoms
            if atom.predicate.name in self.negated
        )

    def _others(self, atoms: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(atom for atom in atoms if atom.predicate.name not in self.negated)

    def _positive(self, atoms: AbstractState | None) -> AbstractState | None:
        if atoms is None:
            return None
        return frozenset(atom for atom in atoms if atom.predicate.name not in self.negated)

    def _forbidden(self, atoms: AbstractState | None) -> AbstractState | None:
        if atoms is None:
            return None
        return frozenset(
            GroundAtom(self.negated[atom.predicate.name], atom.objects)
            for atom in atoms
            if atom.predicate.name in self.negated
        )


def _is_uncertain(pattern: DeletePattern, cases: Sequence[_Case]) -> bool:
    """Return whether there is a transition in which a quantified delete did not happen.

    The delete happened if at least one atom that it matches held before the transition, and none after it.
    """
    for binding, before, after in cases:
        ground = pattern.ground(binding)
        if any(map(ground.matches, after)) or not any(map(ground.matches, before)):
            return True
    return False
