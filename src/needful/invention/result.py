"""The result of predicate invention: the vocabulary, and a report about each invented predicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from needful.core.atoms import Predicate
from needful.core.definitions import Definition
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import counted

# The maximum number of values of a comparison that are recorded from uses whose effects came true, and also
# the maximum number that are recorded from the other uses.
MAX_EXAMPLES = 40
# The key of the examples in the entry of an invented predicate in model.json.
EXAMPLES = "examples"


@dataclass(frozen=True, slots=True)
class Examples:
    """The values of a comparison in uses of the operator for which it was invented.

    Attributes:
        definition: the comparison; it is the invented predicate, or a part of it.
        true: values in uses whose effects came true, in increasing order.
        false: values in uses whose effects did not come true. The predicate need not exclude all of them.
    """

    definition: Definition
    true: tuple[float, ...]
    false: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison and its values."""
        definition = self.definition
        comparison = {
            "sentence": definition.sentence,
            "compare": definition.compare,
            "bound": definition.bound,
        }
        return {**comparison, "true": list(self.true), "false": list(self.false)}


@dataclass(frozen=True, slots=True)
class InventedPredicate:
    """An invented predicate and the reason for it.

    Attributes:
        predicate: the predicate; `predicate.definition` is its definition.
        controller: the name of a controller that plans used in states in which its action fails. These uses
            are called false steps. The predicate was invented to exclude them from plans.
        excluded: the number of false steps that the predicate excluded when it was added.
        in_simulator: whether `repair` found the false steps by experiments. Otherwise, they are steps of
            plans that are not longer than demonstrations.
        alternatives: other definitions that hold in the same demonstrated states. The demonstrations do
            not show which definition is the right one.
        examples: values of each comparison of the definition, at most `MAX_EXAMPLES` of each kind.
    """

    predicate: Predicate
    controller: str
    excluded: int
    in_simulator: bool
    alternatives: tuple[Definition, ...] = ()
    examples: tuple[Examples, ...] = ()

    @property
    def reason(self) -> str:
        """Why the predicate was invented, in words."""
        uses = counted(range(self.excluded), "use")
        where = "that failed in the simulator" if self.in_simulator else "in plans that are too short"
        return f"it excludes {uses} of {self.controller} {where}"

    @property
    def sentence(self) -> str:
        """The definition in words."""
        assert self.predicate.definition is not None
        return self.predicate.definition.sentence

    def __str__(self) -> str:
        return f"{self.predicate}: {self.sentence}; invented because {self.reason}"

    def to_json(self, with_examples: bool) -> dict[str, Any]:
        """Return the definition in words and the reasons for it, with or without examples."""
        alternatives = [other.sentence for other in self.alternatives]
        found = {"sentence": self.sentence, "reason": self.reason, "alternatives": alternatives}
        return found | ({EXAMPLES: [one.to_json() for one in self.examples]} if with_examples else {})


@dataclass(frozen=True, slots=True)
class Invention:
    """A vocabulary with invented predicates.

    Attributes:
        vocabulary: the types, the given predicates that were not withheld, the invented ones, and the
            controllers.
        demonstrations: the demonstrations with the atoms of this vocabulary.
        predicates: the invented predicates, with reasons.
        costs: for each search, the cost of plans at its start and after each accepted proposal. 0 means
            that plans agree with the demonstrations.
        solved: the number of practice tasks that were solved by the planner's first plan, at the start and
            after each change that experiments led to. Empty without a simulator.
        practice_tasks: the number of practice tasks.
        tried: the number of vocabularies that were tried.
    """

    vocabulary: Vocabulary
    demonstrations: tuple[Demonstration, ...]
    predicates: tuple[InventedPredicate, ...]
    costs: tuple[float, ...]
    solved: tuple[int, ...]
    practice_tasks: int
    tried: int

    def to_json(self, with_examples: bool) -> dict[str, Any]:
        """Return the report as an entry of summary.json or, with examples, of model.json."""
        return {
            "costs": list(self.costs),
            "solved": list(self.solved),
            "practice_tasks": self.practice_tasks,
            "tried": self.tried,
            "predicates": {one.predicate.name: one.to_json(with_examples) for one in self.predicates},
        }

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        found = [
            f"Invented {counted(self.predicates, 'predicate')} in {self.tried} tries. "
            f"Cost of plans: {' → '.join(f'{cost:g}' for cost in self.costs)}."
        ]
        if self.solved:
            found.append(
                f"First plans that work in the simulator: {' → '.join(map(str, self.solved))} "
                f"of {self.practice_tasks}."
            )
        for one in self.predicates:
            found.append(f"  {one}")
            found += [f"    or: {other.sentence}" for other in one.alternatives]
        solved_all = bool(self.solved) and self.solved[-1] == self.practice_tasks
        if self.costs[-1] > 0 and not solved_all:
            found.append(
                "No further predicate of the grammar separates false steps from true ones, but plans still "
                "differ from demonstrations. An expression may be missing in the grammar."
            )
        return found
