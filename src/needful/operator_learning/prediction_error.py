"""How wrong operators are: FP − 10 TP, the objective of CI + QE.

A prediction is that of a grounding on a transition's action whose preconditions hold. It is right if its
add and atomic delete effects are exactly what changed. FP counts the wrong ones, TP the transitions of
which at least one is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from needful.abstraction.atom_table import AtomKey, AtomTable, bits
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedTransition, TransitionIndex
from needful.operator_learning.induction import Datum
from needful.operator_learning.matching import compile_operator

# A transition that is predicted makes up for so many wrong predictions.
RIGHT_WEIGHT = 10
# Of the groundings of an operator on an action only the first few are looked at.
MOST_GROUNDINGS = 11


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well one operator predicts.

    Attributes:
        wrong: FP, how many groundings apply and predict something else than what happened.
        right: the transitions that some grounding predicts exactly, as a mask over their numbers.
    """

    wrong: int
    right: int


class Predictions:
    """Judges operators by the transitions of their controller, and remembers every judgement."""

    def __init__(self, transitions: TransitionIndex, deadline: Deadline = NO_DEADLINE) -> None:
        self._transitions = transitions
        self._deadline = deadline
        self._judgements: dict[str, Judgement] = {}
        self._applicable: dict[object, tuple[Datum, ...]] = {}

    def judge(self, operator: Operator) -> Judgement:
        """Return how well an operator predicts."""
        known = self._judgements.get(operator.text)
        if known is None:
            known = self._judgements[operator.text] = self._judge(operator)
        return known

    def _judge(self, operator: Operator) -> Judgement:
        compiled = compile_operator(operator)
        right = wrong = 0
        for transition, objects in self._applicable_groundings(operator):
            added = _ground(compiled.adds.all, transition.table, objects)
            deleted = _ground(compiled.deletes.all, transition.table, objects)
            if added == transition.added and deleted == transition.deleted:
                right |= 1 << transition.number
            else:
                wrong += 1
        return Judgement(wrong, right)

    def _applicable_groundings(self, operator: Operator) -> tuple[Datum, ...]:
        """Return the groundings, of the first few on each action, whose preconditions hold."""
        key = (
            operator.controller.name,
            operator.parameters,
            operator.controller_arguments,
            operator.preconditions,
        )
        known = self._applicable.get(key)
        if known is None:
            needs = compile_operator(operator).preconditions.all
            found: list[Datum] = []
            for transition in self._transitions.of_controller.get(operator.controller.name, ()):
                self._deadline.check()
                for objects in itertools.islice(_groundings(operator, transition), MOST_GROUNDINGS):
                    needed = _ground(needs, transition.table, objects)
                    if needed is not None and not needed & ~transition.before:
                        found.append((transition, objects))
            known = self._applicable[key] = tuple(found)
        return known


def _ground(atoms: Sequence[AtomKey], table: AtomTable, objects: Sequence[int]) -> int | None:
    """Return the mask of lifted atoms; None if one of them never occurs in the demonstration."""
    mask = 0
    for name, places in atoms:
        number = table.find((name, tuple([objects[place] for place in places])))
        if number is None:
            return None
        mask |= 1 << number
    return mask


def _groundings(operator: Operator, transition: EncodedTransition) -> Iterator[tuple[int, ...]]:
    """Yield the groundings with the action's objects, in the order of the parameters and of names.

    As in the authors' code two parameters may be bound to one object. Without such groundings an
    operator of many parameters would be judged by nothing, because its first groundings do not apply.
    """
    domains = [list(bits(transition.table.of_type(variable.type))) for variable in operator.parameters]
    for variable, number in zip(operator.controller_arguments, transition.arguments, strict=True):
        place = operator.parameters.index(variable)
        domains[place] = [number] if number in domains[place] else []
    return itertools.product(*domains)


def prediction_error(judgements: Sequence[Judgement]) -> int:
    """FP − 10 TP of a set of operators; a transition that several predict counts once."""
    right = 0
    for one in judgements:
        right |= one.right
    return sum(one.wrong for one in judgements) - RIGHT_WEIGHT * right.bit_count()
