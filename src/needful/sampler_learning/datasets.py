"""The examples that samplers learn from: what was done, and what would not have come of it.

Positives of an operator ω are its own transitions D_ω. Negatives (deviation E27) are all other
groundings on the transitions of any operator with the same controller, unless ω came true there as well:
what it changes was added, what it keeps is there afterwards and what it deletes is not. Groundings are
injective, as they are everywhere (E37).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration, Transition
from needful.core.objects import InjectiveTuples, Object
from needful.core.operators import Operator, OperatorData
from needful.core.state import State
from needful.sampler_learning.sampling import (
    CONSTANT_RANGE,
    anchor_values,
    choose_anchors,
    input_vector,
    input_width,
)
from needful.seeding import rng_for

# Of more groundings than this, only so many are looked at. They are drawn at random: the first ones,
# which the authors' code takes, would all come from the first few transitions.
MAX_CANDIDATES = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class SamplerExamples:
    """The examples of one operator: a row of v and a row of θ each.

    There are at most as many negatives as positives. `anchors` are chosen by the positives.
    """

    operator: Operator
    inputs: np.ndarray
    parameters: np.ndarray
    negative_inputs: np.ndarray
    negative_parameters: np.ndarray
    anchors: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        """The parameters of the positives, relative to their anchors."""
        offsets: np.ndarray = self.parameters - anchor_values(self.inputs, self.anchors)
        return offsets

    @property
    def varying(self) -> np.ndarray:
        """Which offsets vary; about the others there is nothing to learn."""
        varying: np.ndarray = np.ptp(self.offsets, axis=0) >= CONSTANT_RANGE
        return varying


@dataclass(frozen=True, slots=True)
class _Use:
    """A transition in which an operator's controller was used, and the groundings to consider there.

    `positive` is the grounding that is no counter-example, if the transition is the operator's own.
    """

    state: State
    transition: Transition
    positive: tuple[Object, ...] | None
    groundings: InjectiveTuples

    def refutes(self, operator: Operator, objects: tuple[Object, ...]) -> bool:
        """Return whether the operator, so grounded, did not come true in this transition."""
        if objects == self.positive:
            return False
        ground = operator.ground(objects)
        after, kept = self.transition.after, ground.preconditions & ground.add_effects
        came_true = ground.add_effects - kept <= self.transition.added and kept <= after
        return not (came_true and ground.delete_effects.isdisjoint(after))


def sampler_examples(
    data: Sequence[OperatorData],
    demonstrations: Sequence[Demonstration],
    seed: int,
    idle: frozenset[str] = frozenset(),
    deadline: Deadline = NO_DEADLINE,
) -> tuple[SamplerExamples, ...]:
    """Return the examples of each operator that has continuous parameters and recorded states.

    Operators that are `idle` need no sampler. Their transitions are counter-examples like any others.
    """
    transitions = [tuple(demonstration.transitions()) for demonstration in demonstrations]
    found = []
    for own in data:
        operator = own.operator
        if not operator.controller.dimension or operator.name in idle:
            continue
        uses = _uses(own, data, transitions)
        positives = [(use, use.positive) for use in uses if use.positive is not None]
        if positives:
            rng = rng_for(seed, "samplers", operator.name, "negatives")
            negatives = _negatives(operator, uses, len(positives), rng, deadline)
            inputs, parameters = _rows(operator, positives)
            anchors = choose_anchors(inputs, parameters)
            found.append(
                SamplerExamples(operator, inputs, parameters, *_rows(operator, negatives), anchors)
            )
    return tuple(found)


def _uses(
    own: OperatorData, data: Sequence[OperatorData], transitions: Sequence[Sequence[Transition]]
) -> list[_Use]:
    """Return the transitions of all operators with the same controller, where states were recorded."""
    uses = []
    for other in data:
        if other.operator.controller != own.operator.controller:
            continue
        for grounded in other.groundings:
            transition = transitions[grounded.demonstration][grounded.step]
            state = transition.state
            if state is not None:
                domains = tuple(state.of_type(variable.type) for variable in own.operator.parameters)
                positive = grounded.objects if other is own else None
                uses.append(_Use(state, transition, positive, InjectiveTuples(domains)))
    return uses


def _negatives(
    operator: Operator, uses: Sequence[_Use], wanted: int, rng: np.random.Generator, deadline: Deadline
) -> list[tuple[_Use, tuple[Object, ...]]]:
    """Return so many counter-examples, drawn uniformly without repeats, or as many as there are."""
    ends = list(accumulate(use.groundings.count for use in uses))
    found: list[tuple[_Use, tuple[Object, ...]]] = []
    for index in _random_order(ends[-1], rng):
        if len(found) == wanted:
            break
        deadline.check()
        which = bisect_right(ends, index)
        use = uses[which]
        objects = use.groundings.at(ends[which] - index - 1)
        if use.refutes(operator, objects):
            found.append((use, objects))
    return found


def _random_order(count: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the numbers below `count` in random order; of many, a random choice without repeats."""
    if count <= MAX_CANDIDATES:
        yield from rng.permutation(count).tolist()
        return
    # The count may exceed 64 bits; eight spare bytes make the remainder as good as uniform.
    width = count.bit_length() // 8 + 9
    seen: set[int] = set()
    for _ in range(MAX_CANDIDATES):
        index = int.from_bytes(rng.bytes(width), "little") % count
        if index not in seen:
            seen.add(index)
            yield index


def _rows(
    operator: Operator, examples: Sequence[tuple[_Use, tuple[Object, ...]]]
) -> tuple[np.ndarray, np.ndarray]:
    inputs = [input_vector(operator, use.state, objects) for use, objects in examples]
    parameters = [use.transition.action.parameters for use, _ in examples]
    shape = (len(examples), operator.controller.dimension)
    return (
        np.array(inputs, dtype=np.float64).reshape(len(examples), input_width(operator)),
        np.array(parameters, dtype=np.float64).reshape(shape),
    )
