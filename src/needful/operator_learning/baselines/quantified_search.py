"""Cluster and Intersect with quantified effects (CI + QE), a baseline of the paper.

Hill climbing starts with the operators of Cluster and Intersect and minimises their prediction error. A
move deletes an operator, or changes one of its add effects into a quantified delete, which deletes all
atoms of the effect's predicate.

The prediction error is FP − 10 TP. For each transition, an operator is grounded so that its controller
arguments are the objects of the action. Each grounding whose preconditions hold makes one prediction. The
prediction is correct if the add effects and atomic delete effects are exactly the observed changes. FP is
the number of incorrect predictions. TP is the number of transitions with at least one correct prediction.

Deviation E36, docs/paper_to_code.md: as in the authors' code, add effects become quantified deletes.
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
from needful.core.demonstrations import Demonstrations
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.baselines.cluster_intersect import (
    cluster_by_effects,
    with_common_preconditions,
)
from needful.operator_learning.encoding import EncodedTransition, TransitionIndex, encode_demonstrations
from needful.operator_learning.induction import Datum, predicate_pattern
from needful.operator_learning.learned_operators import (
    EncodedOperatorData,
    LearnedOperators,
    evaluate_by_backchaining,
)
from needful.operator_learning.matching import Matcher, compile_operator

# One correctly predicted transition counts as much as this number of incorrect predictions.
TRUE_POSITIVE_WEIGHT = 10
# The maximum number of groundings that are tested for each operator and transition.
MAX_GROUNDINGS = 11


def cluster_and_quantify(
    demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
) -> LearnedOperators:
    """Learn one operator per set of effects, then minimise the prediction error by hill climbing.

    Replays (actions tried in simulation) are used like demonstrations.
    """
    encoded = encode_demonstrations((*demonstrations, *replays))
    start = [
        with_common_preconditions(cluster).operator for cluster in cluster_by_effects(encoded, deadline)
    ]
    transitions = TransitionIndex.of(encoded)
    operators = minimise_prediction_error(start, PredictionScorer(transitions, deadline))
    found = repartition(operators, transitions, Matcher(deadline))
    return evaluate_by_backchaining(found, encoded, len(demonstrations), deadline)


def minimise_prediction_error(start: Sequence[Operator], scorer: PredictionScorer) -> tuple[Operator, ...]:
    """Apply the best move until no move lowers the error, and return the resulting operators.

    A move deletes one operator, or changes one of its add effects into a quantified delete. The scores of
    the other operators stay the same. Among equally good moves, the first is applied.
    """
    current = tuple(start)
    while True:
        error = prediction_error([scorer.score(operator) for operator in current])
        best, chosen = error, None
        for index, replacement, reached in _moves(current, scorer):
            if reached < best:
                best, chosen = reached, (index, replacement)
        if chosen is None:
            return current
        index, replacement = chosen
        current = (*current[:index], *replacement, *current[index + 1 :])


def _moves(
    operators: Sequence[Operator], scorer: PredictionScorer
) -> Iterator[tuple[int, tuple[Operator, ...], int]]:
    """Yield each move: the index of the changed operator, its replacement and the resulting error.

    The replacement is a tuple of one operator, or an empty tuple if the move deletes the operator.
    """
    scores = [scorer.score(operator) for operator in operators]
    total = sum(one.false_positives for one in scores)
    before = list(accumulate((one.predicted_transitions for one in scores), or_, initial=0))
    after = list(accumulate((one.predicted_transitions for one in reversed(scores)), or_, initial=0))[::-1]
    for index, (operator, own) in enumerate(zip(operators, scores, strict=True)):
        others = before[index] | after[index + 1]
        false_positives = total - own.false_positives
        for variant in quantified_variants(operator):
            score = scorer.score(variant)
            true_positives = (others | score.predicted_transitions).bit_count()
            error = false_positives + score.false_positives - TRUE_POSITIVE_WEIGHT * true_positives
            yield index, (variant,), error
        yield index, (), false_positives - TRUE_POSITIVE_WEIGHT * others.bit_count()


def quantified_variants(operator: Operator) -> Iterator[Operator]:
    """Yield, for each add effect, the operator with this effect changed into a quantified delete.

    The quantified delete matches all atoms of the effect's predicate. Parameters that the variant no longer
    mentions are dropped. An operator with only one add effect has no variants.
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
    """Assign each transition to the best consistent operator; drop operators without transitions.

    An operator is consistent with a transition if it is applicable and all atoms that it predicts hold
    afterwards. The best operator is the one with the smallest `Match`, which begins with its score. Unlike
    in backchaining, the operator need not predict the atoms that later steps or the goal need.
    """
    data: dict[str, list[Datum]] = {operator.text: [] for operator in operators}
    competitors: dict[Controller, list[Operator]] = {}
    for operator in operators:
        competitors.setdefault(operator.controller, []).append(operator)
    for transition in transitions.by_number:
        links = (
            matcher.best_consistent_link(operator, transition, 0)
            for operator in competitors.get(transition.controller, ())
        )
        best = min((link for link in links if link is not None), default=None)
        if best is not None:
            data[best.match.text].append((transition, best.match.objects))
    by_text = {operator.text: operator for operator in operators}
    return tuple(
        EncodedOperatorData(by_text[text], tuple(data[text])) for text in sorted(data) if data[text]
    )


@dataclass(frozen=True, slots=True)
class PredictionScore:
    """The incorrect predictions of one operator, and the transitions that it predicts correctly.

    Attributes:
        false_positives: FP, the number of groundings that apply and predict incorrectly.
        predicted_transitions: the transitions that at least one grounding predicts correctly, as a bit
            mask: bit i stands for the transition with number i.
    """

    false_positives: int
    predicted_transitions: int

    def __repr__(self) -> str:
        predicted = self.predicted_transitions.bit_count()
        return f"PredictionScore(false_positives={self.false_positives}, predicted={predicted})"


class PredictionScorer:
    """Counts how well operators predict the transitions of their controller, and caches the results."""

    def __init__(self, transitions: TransitionIndex, deadline: Deadline = NO_DEADLINE) -> None:
        self._transitions = transitions
        self._deadline = deadline
        self._scores: dict[str, PredictionScore] = {}
        self._applicable: dict[object, tuple[Datum, ...]] = {}

    def score(self, operator: Operator) -> PredictionScore:
        """Return an operator's number of incorrect predictions, and its correctly predicted transitions."""
        known = self._scores.get(operator.text)
        if known is None:
            known = self._scores[operator.text] = self._score(operator)
        return known

    def _score(self, operator: Operator) -> PredictionScore:
        compiled = compile_operator(operator)
        predicted_transitions = false_positives = 0
        for transition, objects in self._applicable_groundings(operator):
            added = _ground(compiled.adds.all, transition.table, objects)
            deleted = _ground(compiled.deletes.all, transition.table, objects)
            if added == transition.added and deleted == transition.deleted:
                predicted_transitions |= 1 << transition.number
            else:
                false_positives += 1
        return PredictionScore(false_positives, predicted_transitions)

    def _applicable_groundings(self, operator: Operator) -> tuple[Datum, ...]:
        """Return each transition with each grounding that is applicable in the state before it.

        Only the first `MAX_GROUNDINGS` groundings are tested for each transition.
        """
        key = (
            operator.controller.name,
            operator.parameters,
            operator.controller_arguments,
            operator.preconditions,
        )
        known = self._applicable.get(key)
        if known is None:
            preconditions = compile_operator(operator).preconditions.all
            found: list[Datum] = []
            for transition in self._transitions.by_controller.get(operator.controller.name, ()):
                self._deadline.check()
                for objects in itertools.islice(_groundings(operator, transition), MAX_GROUNDINGS):
                    needed = _ground(preconditions, transition.table, objects)
                    if needed is not None and not needed & ~transition.before:
                        found.append((transition, objects))
            known = self._applicable[key] = tuple(found)
        return known


def _ground(atoms: Sequence[AtomKey], table: AtomTable, objects: Sequence[int]) -> int | None:
    """Replace parameter indices by `objects`, and return the mask of the resulting ground atoms.

    Return None if one of these atoms never occurs in the demonstration.
    """
    mask = 0
    for name, indices in atoms:
        number = table.find((name, tuple([objects[index] for index in indices])))
        if number is None:
            return None
        mask |= 1 << number
    return mask


def _groundings(operator: Operator, transition: EncodedTransition) -> Iterator[tuple[int, ...]]:
    """Yield the groundings whose controller arguments are the action's objects, sorted by object names.

    As in the authors' code, several parameters may be bound to the same object. If this were forbidden,
    often none of the first `MAX_GROUNDINGS` groundings of an operator with many parameters would be
    applicable. The operator would then make no predictions, and hill climbing would never delete it.
    """
    domains = [list(bits(transition.table.of_type(variable.type))) for variable in operator.parameters]
    for variable, number in zip(operator.controller_arguments, transition.arguments, strict=True):
        index = operator.parameters.index(variable)
        domains[index] = [number] if number in domains[index] else []
    return itertools.product(*domains)


def prediction_error(scores: Sequence[PredictionScore]) -> int:
    """Return the prediction error FP − 10 TP of a set of operators.

    FP is the number of incorrect predictions, TP the number of transitions that are predicted correctly. A
    transition that several operators predict counts once.
    """
    predicted = 0
    for one in scores:
        predicted |= one.predicted_transitions
    return sum(one.false_positives for one in scores) - TRUE_POSITIVE_WEIGHT * predicted.bit_count()
