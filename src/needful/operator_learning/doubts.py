"""Doubts about a learned model: observations in the demonstrations that users should check, with advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from needful.core.objects import Abbreviated
from needful.core.operators import Operator
from needful.operator_learning.encoding import TransitionId

# The advice to invent missing predicates, as a whole sentence.
INVENTION_ADVICE = " If a predicate is missing, `--invent --keep all` may find it."
# The advice to find accidental preconditions by experiments, as the end of a sentence.
EXPERIMENT_ADVICE = ", or test the preconditions with `needful run --experiments`"
# The maximum number of doubts that `list_doubts` lists by default.
MAX_LISTED_DOUBTS = 10


class DoubtKind(Enum):
    """The kinds of doubts, in the order in which they are listed."""

    UNCOVERED = "uncovered"
    VALIDATION = "validation"
    FALSE_CLAIM = "false_claim"
    LIMITED_SEARCH = "limited_search"
    FEW_TRANSITIONS = "few_transitions"
    RARE_EFFECT = "rare_effect"
    PURPOSELESS = "purposeless"
    IDLE = "idle"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True, repr=False)
class Doubt(Abbreviated):
    """One doubt about a learned model.

    Attributes:
        kind: the kind of the doubt.
        operator: the name of the operator in doubt; None if the doubt concerns no single operator.
        controller: the name of the controller in doubt; None if the doubt concerns no single controller.
        count: the number of transitions, steps or atoms for which the doubt was observed.
        fact: the observation, as a sentence without a full stop.
        where: an example, such as `for example demonstration 0, step 2`; may be empty.
        advice: the possible cause and what to do, as sentences.
    """

    kind: DoubtKind
    operator: str | None
    controller: str | None
    count: int
    fact: str
    where: str
    advice: str

    @property
    def text(self) -> str:
        """The whole doubt as one paragraph."""
        return f"{self.fact}{', ' if self.where else ''}{self.where}. {self.advice}"

    @property
    def rank(self) -> tuple[int, int, str]:
        """The sort key of the doubt in lists: by kind, then by count (largest first), then by text."""
        return (list(DoubtKind).index(self.kind), -self.count, self.text)

    def concerns(self, operator: Operator) -> bool:
        """Return whether the doubt is about the operator, or about the operator's controller as a whole."""
        if self.operator is None:
            return self.controller == operator.controller.name
        return self.operator == operator.name


@dataclass(frozen=True, slots=True, repr=False)
class Doubts(Abbreviated):
    """The doubts about learned operators: signs in the demonstrations that an operator may be wrong.

    Attributes:
        transitions: the number of transitions in the demonstrations.
        uncovered: the number of transitions that backchaining does not explain.
        false_claims: the number of ground atoms that the operators predict but that do not hold after the
            transition, summed over the transitions; see the module `false_claims`.
        false_transitions: the number of transitions with at least one false claim.
        purposeless_steps: the number of steps that change atoms although neither a later step nor the goal
            needs these changes.
        idle_steps: the number of steps that learning skipped, because they add nothing necessary or are
            outliers.
        repaired_atoms: the number of atoms that looked like detection errors and were repaired.
        items: the doubts themselves, sorted by `Doubt.rank`.
    """

    transitions: int = 0
    uncovered: int = 0
    false_claims: int = 0
    false_transitions: int = 0
    purposeless_steps: int = 0
    idle_steps: int = 0
    repaired_atoms: int = 0
    items: tuple[Doubt, ...] = ()

    def without_advice(self, advice: str) -> Doubts:
        """Return the doubts without the text `advice`, for example because it was already followed."""
        items = (replace(one, advice=one.advice.replace(advice, "")) for one in self.items)
        return replace(self, items=tuple(items))

    @property
    def false_share(self) -> float:
        """The share of the transitions with at least one false claim."""
        return self.false_transitions / self.transitions if self.transitions else 0.0


def limited_search_doubt(transitions: int) -> Doubt:
    """Return the doubt that the search for preconditions on unnamed objects was stopped by its limit."""
    return Doubt(
        DoubtKind.LIMITED_SEARCH,
        None,
        None,
        transitions,
        "The search for preconditions on objects that are no arguments of a controller was stopped at its "
        "limit",
        "",
        "Preconditions may be missing. Let the controllers name these objects as arguments, or leave out "
        "objects and predicates that no task needs.",
    )


def location(transition: TransitionId) -> str:
    """Return a text such as `demonstration 0, step 2`; demonstrations are counted from 0, steps from 1."""
    demonstration, step = transition
    return f"demonstration {demonstration}, step {step + 1}"


def example(transition: TransitionId) -> str:
    """Return a text such as `for example demonstration 0, step 2`."""
    return f"for example {location(transition)}"


def list_doubts(doubts: Sequence[Doubt], most: int | None = MAX_LISTED_DOUBTS) -> list[str]:
    """Return one line per doubt, for at most `most` doubts; None lists all doubts.

    If doubts are left out, a last line contains their number.
    """
    lines = [f"- {doubt.text}" for doubt in doubts[:most]]
    return [*lines, f"and {len(doubts) - len(lines)} more"] if len(lines) < len(doubts) else lines
