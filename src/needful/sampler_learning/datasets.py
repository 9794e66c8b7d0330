"""Examples for sampler learning.

A grounding of an operator binds its parameters to different objects. An example is a pair of a demonstrated
transition and a grounding of the operator. The positive examples of an operator are the transitions that
the operator explains, each with the grounding that explains it.

A candidate for a negative example is also a pair of a transition and a grounding of the operator. The
transition is explained by this operator or by another operator with the same controller. Pairs that are
positive examples are not candidates. A candidate is a negative example unless the transition achieved the
effects of the grounding. The effects are achieved if three conditions hold:

- the add effects that are not preconditions became true in the transition;
- the add effects that are also preconditions hold after the transition;
- the delete effects do not hold after the transition.

The paper differs: see E27 and E37 in docs/paper_to_code.md.
"""

from __future__ import annotations

import reprlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from needful.core.demonstrations import Demonstration, Transition
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.objects import InjectiveTuples, Object
from needful.core.operators import Operator, OperatorData
from needful.core.state import State
from needful.sampler_learning.sampling import (
    CONSTANT_RANGE,
    NO_ANCHOR,
    anchor_values,
    choose_anchors,
    input_vector,
    input_width,
)
from needful.seeding import rng_for

# To find the negative examples of an operator, at most this number of pairs (transition, grounding) is
# drawn at random and tested. (The code of the paper's authors instead tests the first pairs, which all come
# from the first few transitions.)
MAX_CANDIDATES = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class SamplerExamples:
    """The examples from which the sampler of one operator is learned.

    Attributes:
        operator: the operator of the sampler.
        inputs: the input vector v (see `input_vector`) of each positive example, one per row.
        parameters: the controller parameters θ of each positive example, one per row.
        negative_inputs, negative_parameters: the same for the negative examples. There are at most as many
            negative as positive examples.
        anchors: for each parameter, the index of its anchor in v, or `NO_ANCHOR`. The anchor is the input
            (an entry of v) for which the difference parameter − input varies least over the positive
            examples.
    """

    operator: Operator
    inputs: np.ndarray
    parameters: np.ndarray
    negative_inputs: np.ndarray
    negative_parameters: np.ndarray
    anchors: np.ndarray

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} positive, {len(self.negative_inputs)} negative"
        return f"SamplerExamples({reprlib.repr(self.operator.name)}, {counts})"

    @property
    def offsets(self) -> np.ndarray:
        """The offsets, one row per positive example: each parameter minus the value of its anchor."""
        offsets: np.ndarray = self.parameters - anchor_values(self.inputs, self.anchors)
        return offsets

    @property
    def varying(self) -> np.ndarray:
        """For each controller parameter, whether its offset (see `offsets`) differs between examples."""
        varying: np.ndarray = np.ptp(self.offsets, axis=0) >= CONSTANT_RANGE
        return varying


def sampler_examples(
    data: Sequence[OperatorData],
    demonstrations: Sequence[Demonstration],
    seed: int,
    noop_names: frozenset[str] = frozenset(),
    deadline: Deadline = NO_DEADLINE,
    find_anchors: bool = True,
) -> tuple[SamplerExamples, ...]:
    """Return the examples of each operator with continuous parameters and at least one recorded state.

    `noop_names` are the names of operators that change nothing. They get no examples, but their transitions
    can be negative examples for other operators. If `find_anchors` is False, no parameter has an anchor (a
    feature with about the same value, see `SamplerExamples`). Raises `LearningTimeoutError` if the deadline
    passes.
    """
    transitions = [tuple(demonstration.transitions()) for demonstration in demonstrations]
    found = []
    for own in data:
        operator = own.operator
        if not operator.controller.dimension or operator.name in noop_names:
            continue
        uses = _controller_uses(own, data, transitions)
        positives = [(use, use.positive) for use in uses if use.positive is not None]
        if positives:
            rng = rng_for(seed, "samplers", operator.name, "negatives")
            negatives = _draw_negatives(operator, uses, len(positives), rng, deadline)
            inputs, parameters = _matrices(operator, positives)
            anchors = np.full(parameters.shape[1], NO_ANCHOR)
            if find_anchors:
                anchors = choose_anchors(inputs, parameters)
            found.append(
                SamplerExamples(operator, inputs, parameters, *_matrices(operator, negatives), anchors)
            )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _ControllerUse:
    """A transition that executed the controller of an operator, and all groundings of this operator.

    If the operator explains the transition, `positive` is the grounding that explains it. If another
    operator with the same controller explains the transition, `positive` is None.
    """

    state: State
    transition: Transition
    positive: tuple[Object, ...] | None
    groundings: InjectiveTuples

    def is_negative(self, operator: Operator, objects: tuple[Object, ...]) -> bool:
        """Return whether this transition, paired with a grounding of the operator, is a negative example.

        The pair is a negative example if the transition did not achieve the effects of the grounding.
        `objects` are the objects that the grounding binds the operator's parameters to.
        """
        if objects == self.positive:
            return False
        ground = operator.ground(objects)
        after, kept = self.transition.after, ground.preconditions & ground.add_effects
        achieved = ground.add_effects - kept <= self.transition.added and kept <= after
        return not (achieved and ground.delete_effects.isdisjoint(after))


def _controller_uses(
    own: OperatorData, data: Sequence[OperatorData], transitions: Sequence[Sequence[Transition]]
) -> list[_ControllerUse]:
    """Return the transitions that executed the controller of the operator `own.operator`.

    `data` holds the transitions that each operator explains. Transitions without a recorded state are
    omitted.
    """
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
                uses.append(_ControllerUse(state, transition, positive, InjectiveTuples(domains)))
    return uses


def _draw_negatives(
    operator: Operator,
    uses: Sequence[_ControllerUse],
    count: int,
    rng: np.random.Generator,
    deadline: Deadline,
) -> list[tuple[_ControllerUse, tuple[Object, ...]]]:
    """Return `count` negative examples of the operator, drawn uniformly without replacement.

    At most `MAX_CANDIDATES` pairs of a transition and a grounding are tested, in random order. If these
    pairs contain fewer than `count` negative examples, fewer are returned.
    """
    ends = list(accumulate(use.groundings.count for use in uses))
    found: list[tuple[_ControllerUse, tuple[Object, ...]]] = []
    for index in _random_order(ends[-1], rng):
        if len(found) == count:
            break
        deadline.check()
        use_index = bisect_right(ends, index)
        use = uses[use_index]
        objects = use.groundings.at(ends[use_index] - index - 1)
        if use.is_negative(operator, objects):
            found.append((use, objects))
    return found


def _random_order(count: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the integers below `count` in random order, at most `MAX_CANDIDATES` of them."""
    if count <= MAX_CANDIDATES:
        yield from rng.permutation(count).tolist()
        return
    # Draw random bytes, because `count` may exceed 64 bits. With eight bytes more than needed, the
    # remainder modulo `count` is almost uniform.
    width = count.bit_length() // 8 + 9
    seen: set[int] = set()
    for _ in range(MAX_CANDIDATES):
        index = int.from_bytes(rng.bytes(width), "little") % count
        if index not in seen:
            seen.add(index)
            yield index


def _matrices(
    operator: Operator, examples: Sequence[tuple[_ControllerUse, tuple[Object, ...]]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return two matrices with one row per example: the input vectors v and the controller parameters θ."""
    inputs = [input_vector(operator, use.state, objects) for use, objects in examples]
    parameters = [use.transition.action.parameters for use, _ in examples]
    shape = (len(examples), operator.controller.dimension)
    return (
        np.array(inputs, dtype=np.float64).reshape(len(examples), input_width(operator)),
        np.array(parameters, dtype=np.float64).reshape(shape),
    )
