"""Canonical names: names that do not depend on the names that the user chose.

The learner breaks ties by the order of names: of two operators that explain a transition equally well, it
chooses the one whose text comes first. The user's names would thus affect the result. To avoid this, the
learner works on demonstrations with canonical names: for example, types are called t000, t001 and so on, in
an order that `colour_refinement` derives from the structure of the demonstrations. Predicates and
controllers share one order. The demonstrations themselves are sorted by structure, too
(`canonical_encoding`). At the end, `CanonicalNames.restore` gives the learned operators the user's names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.canonical import canonical_form
from needful.core.controllers import Controller
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, GroundedTransition, Operator, Wildcard
from needful.operator_learning.encoding import NumberedDemonstration
from needful.operator_learning.learned_operators import DecodedOperator, UserNames
from needful.operator_learning.objective import Hypothesis
from needful.operator_learning.partition import FittedOperator


class _Restored(NamedTuple):
    """An operator with the user's names.

    `candidate_text` is the text of the operator's `Candidate` (the operator without the parts that are
    induced from transitions), also with the user's names. Operators are sorted by this text. Restoring the
    names may change the order of the parameters: `order` contains, for each parameter, its index in the
    operator with canonical names.
    """

    candidate_text: str
    operator: Operator
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalNames:
    """Demonstrations with canonical names, in canonical order, and the user's names.

    Attributes:
        demonstrations: the demonstrations with canonical names, in canonical order.
        indices: for each of these demonstrations, its index among the user's demonstrations.
        objects: for each of these demonstrations, the user's objects, sorted by their canonical numbers.
        atoms: for each of these demonstrations, the user's atoms, sorted by their canonical numbers.
        types: a map from canonical types to the user's types.
        predicates: a map from canonical predicates to the user's predicates.
        controllers: a map from canonical controllers to the user's controllers.
    """

    demonstrations: tuple[NumberedDemonstration, ...]
    indices: tuple[int, ...]
    objects: tuple[tuple[Object, ...], ...]
    atoms: tuple[tuple[GroundAtom, ...], ...]
    types: Mapping[Type, Type]
    predicates: Mapping[Predicate, Predicate]
    controllers: Mapping[Controller, Controller]
    _restored_operators: dict[str, _Restored] = field(default_factory=dict)

    def describe(self, fitted: FittedOperator) -> str:
        """Return the text of an operator with the user's names."""
        return self._restored(fitted).operator.text

    def by_demonstration(self) -> Iterator[UserNames]:
        """Yield, for each demonstration, the user's objects and atoms in the order of their numbers."""
        return map(UserNames, self.indices, self.objects, self.atoms)

    def restore(self, hypothesis: Hypothesis) -> list[DecodedOperator]:
        """Return the operators of a hypothesis with the user's names, sorted by their texts.

        Each operator comes with the transitions that it was induced from.
        """
        found = [(self._restored(fitted), fitted) for fitted in hypothesis.fitted]
        found.sort(key=lambda one: (one[0].candidate_text, one[0].operator.text))
        return [
            DecodedOperator(
                restored.operator,
                self._restore_data(fitted, restored.order),
                fitted.operator.text,
                restored.order,
            )
            for restored, fitted in found
        ]

    def _restore_data(self, fitted: FittedOperator, order: Sequence[int]) -> tuple[GroundedTransition, ...]:
        """Return an operator's transitions with the user's objects; `_Restored` explains `order`."""
        indices, objects = self.indices, self.objects
        data = sorted(
            [
                (indices[transition.demonstration], transition.step, numbers, transition.demonstration)
                for transition, numbers in fitted.data
            ]
        )
        return tuple(
            [
                GroundedTransition(index, step, tuple([objects[demonstration][numbers[i]] for i in order]))
                for index, step, numbers, demonstration in data
            ]
        )

    def _restored(self, fitted: FittedOperator) -> _Restored:
        key = fitted.operator.text
        if key not in self._restored_operators:
            self._restored_operators[key] = self._restore_operator(fitted)
        return self._restored_operators[key]

    def _restore_operator(self, fitted: FittedOperator) -> _Restored:
        candidate = fitted.candidate.operator
        variables = {one: Variable(one.name, self.types[one.type]) for one in candidate.parameters}
        stripped, renaming = canonical_form(self._with_user_names(candidate, variables))
        index_of = {variable: index for index, variable in enumerate(variables.values())}
        order = tuple([index_of[variable] for variable in renaming])
        renamed = {candidate.parameters[i]: new for i, new in zip(order, renaming.values(), strict=True)}
        return _Restored(stripped.text, self._with_user_names(fitted.operator, renamed), order)

    def _with_user_names(self, operator: Operator, variables: Mapping[Variable, Variable]) -> Operator:
        """Return an operator with the user's names, and with new variables.

        `variables` maps the operator's parameters to the new variables. The new parameters are in the order
        of this map.
        """

        def atoms(old: Iterable[LiftedAtom]) -> frozenset[LiftedAtom]:
            return frozenset(
                LiftedAtom(self.predicates[a.predicate], tuple(variables[v] for v in a.variables))
                for a in old
            )

        return Operator(
            self.controllers[operator.controller].name,
            tuple(variables.values()),
            atoms(operator.preconditions),
            atoms(operator.add_effects),
            atoms(operator.delete_effects),
            frozenset(
                DeletePattern(
                    self.predicates[pattern.predicate],
                    tuple(
                        variables[one] if isinstance(one, Variable) else Wildcard(self.types[one.type])
                        for one in pattern.arguments
                    ),
                )
                for pattern in operator.delete_patterns
            ),
            self.controllers[operator.controller],
            tuple(variables[one] for one in operator.controller_arguments),
            atoms(operator.negative_preconditions),
        )
