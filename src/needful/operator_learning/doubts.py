"""Find what is doubtful about learned operators.

Full coverage does not mean that operators are true. The doubts are symptoms that can be seen in the
demonstrations: false claims, effects that rarely happened, steps without purpose, idle steps, repaired
atoms and transitions that are not covered. They depend on nothing else, so they are stored with the model.
Cross-validation may be skipped to save time, so `validation_doubts` are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.operators import Operator
from needful.operator_learning.cross_validation import Validation
from needful.operator_learning.doubt import Doubt, DoubtKind, example, location
from needful.operator_learning.doubtful_operators import doubt_claim, doubt_data
from needful.operator_learning.doubtful_steps import (
    doubt_repaired,
    doubt_uncovered,
    doubt_wasted,
    reached_steps,
)
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.false_claims import report_false_claims
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.matching import Matcher

# False claims in cross-validation are doubtful if they are more frequent than in training by this factor,
# and by this number of transitions.
VALIDATION_FACTOR = 1.5
VALIDATION_EXCESS = 2


@dataclass(frozen=True, slots=True)
class Doubts:
    """What is doubtful about operators, judged by the demonstrations that they were learned from.

    Attributes:
        transitions: the number of transitions.
        uncovered: the number of transitions that backchaining does not explain.
        false_claims: the number of ground atoms that the operators predict falsely, summed over the
            transitions; see `validity`.
        false_transitions: the number of transitions with at least one false claim.
        purposeless_steps: the number of steps that add atoms, none of them necessary.
        idle_steps: the number of steps that learning skipped, because they add nothing necessary.
        repaired_atoms: the number of atoms that were repaired as detection errors.
        items: the doubts in words, in the order of `Doubt.rank`.
    """

    transitions: int = 0
    uncovered: int = 0
    false_claims: int = 0
    false_transitions: int = 0
    purposeless_steps: int = 0
    idle_steps: int = 0
    repaired_atoms: int = 0
    items: tuple[Doubt, ...] = ()

    def __repr__(self) -> str:
        return f"Doubts(false_claims={self.false_claims}, items={len(self.items)})"

    @property
    def false_share(self) -> float:
        """The share of the transitions with at least one false claim."""
        return self.false_transitions / self.transitions if self.transitions else 0.0


def find_doubts(
    learned: LearnedOperators, recorded: Sequence[Demonstration], deadline: Deadline = NO_DEADLINE
) -> Doubts:
    """Find the doubts about learned operators.

    `recorded` are the demonstrations before atoms were repaired, without replays. Raises
    `LearningTimeoutError` if the deadline passes.
    """
    repaired = recorded if learned.repairs is None else learned.repairs.demonstrations
    steps = tuple(reached_steps(learned, repaired))
    items = [
        *doubt_uncovered(learned, repaired),
        *(doubt for data in learned.planning_data for doubt in doubt_data(data, repaired)),
        *doubt_wasted(steps, learned),
        *doubt_repaired(recorded, repaired),
    ]
    found = Doubts(
        transitions=learned.transitions,
        uncovered=learned.uncovered,
        purposeless_steps=sum(step.purposeless for step in steps),
        idle_steps=sum(step.skipped for step in steps),
        repaired_atoms=0 if learned.repairs is None else learned.repairs.total,
        items=tuple(items),
    )
    operators = tuple(one.operator for one in learned.planning_data)
    return with_false_claims(found, operators, learned, repaired, deadline)


def with_false_claims(
    doubts: Doubts,
    operators: Sequence[Operator],
    learned: LearnedOperators,
    demonstrations: Sequence[Demonstration],
    deadline: Deadline = NO_DEADLINE,
) -> Doubts:
    """Return the doubts with the false claims of `operators`, in place of earlier false claims.

    Experiments drop preconditions, so operators may claim more than they did when they were learned. The
    chains of `learned` show which operator explains a transition. `demonstrations` are the repaired ones;
    replays after them are ignored.
    """
    # Replays have no goal, so nothing is known to be necessary at their end.
    with_goal = [
        demonstration
        for index, demonstration in enumerate(demonstrations)
        if learned.necessary[index][-1] is not None
    ]
    report = report_false_claims(operators, encode_demonstrations(with_goal), Matcher(deadline))
    others = (one for one in doubts.items if one.kind is not DoubtKind.FALSE_CLAIM)
    items = [*others, *(doubt_claim(claim, learned) for claim in report.claims)]
    return replace(
        doubts,
        false_claims=report.count,
        false_transitions=report.transitions,
        items=tuple(sorted(items, key=lambda one: one.rank)),
    )


def validation_doubts(validation: Validation, training: Doubts) -> tuple[Doubt, ...]:
    """Return doubts about operators that were worse in cross-validation than on their training data."""
    found = []
    left_out = f"{validation.transitions} left-out transitions"
    if validation.uncovered > training.uncovered:
        found.append(
            Doubt(
                DoubtKind.VALIDATION,
                None,
                None,
                validation.uncovered,
                f"In cross-validation, operators did not explain {validation.uncovered} of {left_out} "
                f"({training.uncovered} in training)",
                example(validation.failing[0]),
                "Some preconditions may be accidental, or a case was demonstrated only once. Add "
                "demonstrations, or test the preconditions with `needful run --experiments`.",
            )
        )
    claim, falsely = validation.claim, validation.false_transitions
    enough = max(
        training.false_transitions + VALIDATION_EXCESS, VALIDATION_FACTOR * training.false_transitions
    )
    if claim is not None and falsely >= enough:
        found.append(
            Doubt(
                DoubtKind.VALIDATION,
                None,
                claim.operator.controller.name,
                falsely,
                f"In cross-validation, operators made false claims in {falsely} of {left_out} "
                f"({training.false_transitions} in training)",
                f"for example {claim.atom} of {claim.operator.name} in {location(claim.transitions[0])}",
                "The operators depend on single demonstrations. Add demonstrations with other objects.",
            )
        )
    return tuple(sorted(found, key=lambda one: one.rank))
