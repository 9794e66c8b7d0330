"""Check that learned operators do no harm: each demonstration can still be planned.

A demonstration is replayable if some sequence of grounded operators, one for each of its actions and
with the action's own objects, is applicable from its initial abstract state by prediction alone and
ends in its goal. A demonstration that backchaining covers always is; for others the check searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedDemonstration
from needful.operator_learning.matching import Matcher

# Beyond so many predicted states a demonstration counts as not replayable.
MAX_REPLAY_STATES = 10_000


def replayable(
    operators: Sequence[Operator], demonstration: EncodedDemonstration, matcher: Matcher
) -> bool:
    """Return whether planning along the demonstration's actions reaches its goal.

    A depth-first search that follows first what predicts most of the states the demonstration saw.
    Predictions are limited to atoms that occur in the demonstration.
    """
    transitions = demonstration.transitions
    start = transitions[0].before if transitions else demonstration.goal
    stack, seen = [(0, start)], set[tuple[int, int]]()
    while stack and len(seen) < MAX_REPLAY_STATES:
        step, state = stack.pop()
        if step == len(transitions):
            if not demonstration.goal & ~state:
                return True
            continue
        if (step, state) in seen:
            continue
        seen.add((step, state))
        observed = transitions[step].after
        imagined = replace(transitions[step], before=state, after=(1 << len(demonstration.table)) - 1)
        reached = {
            prediction
            for operator in operators
            if operator.controller.name == imagined.controller.name
            for prediction in matcher.predictions(operator, imagined)
        }
        # The last one pushed is tried first: most observed atoms, fewest others.
        order = sorted(reached, key=lambda s: ((s & observed).bit_count(), -(s & ~observed).bit_count(), s))
        stack += [(step + 1, prediction) for prediction in order]
    return False
