"""Cluster and Intersect with quantified effects (CI + QE), a baseline of the paper.

Starts from the operators of Cluster and Intersect and climbs by prediction error, FP − 10 TP. A move
deletes an operator, or takes one of its add effects away and lets it forget that predicate instead.

Deviation E36, docs/paper_to_code.md: as in the authors' code it is add effects that become quantified.

How wrong operators are: FP − 10 TP, the objective of CI + QE.

A prediction is that of a grounding on a transition's action whose preconditions hold. It is right if its
add and atomic delete effects are exactly what changed. FP counts the wrong ones, TP the transitions of
which at least one is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import or_

from needful.abstraction.atom_table import AtomKey, AtomTable, bits
from needful.core.atoms import LiftedAtom
from needful.core.controllers import Controller
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.baselines.cluster_intersect import clusters, with_common_preconditions
from needful.operator_learning.delete_patterns import predicate_pattern
from needful.operator_learning.encoding import EncodedTransition, TransitionIndex, encode_demonstrations
from needful.operator_learning.induction import Datum
from needful.operator_learning.learned_operators import EncodedOperatorData, LearnedOperators, judged
from needful.operator_learning.matching import Matcher, compile_operator

# A transition that is predicted makes up for so many wrong predictions.
TRUE_POSITIVE_WEIGHT = 10
# Of the groundings of an operator on an action only the first few are looked at.
MAX_GROUNDINGS = 11


@dataclass(frozen=True, slots=True)
class PredictionScore:
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
        self._judgements: dict[str, PredictionScore] = {}
        self._applicable: dict[object, tuple[Datum, ...]] = {}

    def judge(self, operator: Operator) -> PredictionScore:
        """Return how well an operator predicts."""
        known = self._judgements.get(operator.text)
        if known is None:
            known = self._judgements[operator.text] = self._judge(operator)
        return known

    def _judge(self, operator: Operator) -> PredictionScore:
        compiled = compile_operator(operator)
        right = wrong = 0
        for transition, objects in self._applicable_groundings(operator):
            added = _ground(compiled.adds.all, transition.table, objects)
            deleted = _ground(compiled.deletes.all, transition.table, objects)
            if added == transition.added and deleted == transition.deleted:
                right |= 1 << transition.number
            else:
                wrong += 1
        return PredictionScore(wrong, right)

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
            for transition in self._transitions.by_controller.get(operator.controller.name, ()):
                self._deadline.check()
                for objects in itertools.islice(_groundings(operator, transition), MAX_GROUNDINGS):
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


def prediction_error(scores: Sequence[PredictionScore]) -> int:
    """FP − 10 TP of a set of operators; a transition that several predict counts once."""
    right = 0
    for one in scores:
        right |= one.right
    return sum(one.wrong for one in scores) - TRUE_POSITIVE_WEIGHT * right.bit_count()


def cluster_and_quantify(
    demonstrations: Sequence[Demonstration],
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Learn an operator for every set of effects, then climb by prediction error over changed sets."""
    encoded = encode_demonstrations((*demonstrations, *replays))
    start = [with_common_preconditions(cluster).operator for cluster in clusters(encoded, deadline)]
    transitions = TransitionIndex.of(encoded)
    operators = climb(start, Predictions(transitions, deadline))
    found = repartition(operators, transitions, Matcher(deadline))
    return judged(found, encoded, len(demonstrations), deadline)


def climb(start: Sequence[Operator], predictions: Predictions) -> tuple[Operator, ...]:
    """Take the best move as long as one lowers the error; among equals the first.

    A move changes one operator, so the scores of the others stay.
    """
    current = tuple(start)
    while True:
        error = prediction_error([predictions.judge(operator) for operator in current])
        best, chosen = error, None
        for place, change, reached in _moves(current, predictions):
            if reached < best:
                best, chosen = reached, (place, change)
        if chosen is None:
            return current
        place, change = chosen
        current = (*current[:place], *change, *current[place + 1 :])


def _moves(
    operators: Sequence[Operator], predictions: Predictions
) -> Iterator[tuple[int, tuple[Operator, ...], int]]:
    """Yield what can take the place of an operator, and the error that is reached."""
    scores = [predictions.judge(operator) for operator in operators]
    wrong = sum(one.wrong for one in scores)
    before = list(accumulate((one.right for one in scores), or_, initial=0))
    after = list(accumulate((one.right for one in reversed(scores)), or_, initial=0))[::-1]
    for place, (operator, own) in enumerate(zip(operators, scores, strict=True)):
        others = before[place] | after[place + 1]
        for changed in quantified(operator):
            judgement = predictions.judge(changed)
            right = (others | judgement.right).bit_count()
            yield place, (changed,), wrong - own.wrong + judgement.wrong - TRUE_POSITIVE_WEIGHT * right
        yield place, (), wrong - own.wrong - TRUE_POSITIVE_WEIGHT * others.bit_count()


def quantified(operator: Operator) -> Iterator[Operator]:
    """Yield the operator with one add effect turned into a quantified delete, for each that it has.

    Parameters that are mentioned no more are dropped. The last add effect stays.
    """
    if len(operator.add_effects) < 2:
        return
    for atom in sorted(operator.add_effects):
        adds = operator.add_effects - {atom}
        kept = _mentioned(operator, adds)
        yield replace(
            operator,
            parameters=tuple(variable for variable in operator.parameters if variable in kept),
            add_effects=adds,
            delete_patterns=operator.delete_patterns | {predicate_pattern(atom.predicate)},
        )


def _mentioned(operator: Operator, adds: frozenset[LiftedAtom]) -> set[Variable]:
    atoms = operator.preconditions | adds | operator.delete_effects
    return {variable for atom in atoms for variable in atom.variables} | set(operator.controller_arguments)


def repartition(
    operators: Sequence[Operator], transitions: TransitionIndex, matcher: Matcher
) -> tuple[EncodedOperatorData, ...]:
    """Give each transition to the operator that is consistent with it and fits best; drop the others.

    Nothing is asked to be necessary: this is BEST(full) without α.
    """
    data: dict[str, list[Datum]] = {operator.text: [] for operator in operators}
    competitors: dict[Controller, list[Operator]] = {}
    for operator in operators:
        competitors.setdefault(operator.controller, []).append(operator)
    for transition in transitions.numbered:
        links = (
            matcher.consistent(operator, transition, 0)
            for operator in competitors.get(transition.controller, ())
        )
        best = min((link for link in links if link is not None), default=None)
        if best is not None:
            data[best.match.text].append((transition, best.match.objects))
    by_text = {operator.text: operator for operator in operators}
    return tuple(
        EncodedOperatorData(by_text[text], tuple(data[text])) for text in sorted(data) if data[text]
    )
