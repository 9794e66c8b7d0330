"""Which controllers an episode executes, and where each of them ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from needful.core.controllers import GroundController
from needful.core.state import State


@dataclass(frozen=True, slots=True)
class Segment:
    """One execution of a controller, from where the segment before it ends.

    Attributes:
        action: the controller with its objects and parameters; None if no controller explains the steps.
        end: how many steps of the episode are over when the controller has finished.
    """

    action: GroundController | None
    end: int


# What a recorded action means in the state that it was taken in; None if no controller explains it.
ControllerOf: TypeAlias = Callable[[Any, State], GroundController | None]
# From the n + 1 states and the n actions of an episode to its segments, in order and without gaps.
Segmenter: TypeAlias = Callable[[Sequence[State], Sequence[Any]], Iterable[Segment]]


def segment_by_step(controller_of: ControllerOf) -> Segmenter:
    """Return the segmenter for episodes in which every action is a whole controller."""

    def segment(states: Sequence[State], actions: Sequence[Any]) -> Iterator[Segment]:
        for step, action in enumerate(actions):
            yield Segment(controller_of(action, states[step]), step + 1)

    return segment


def segment_by_controller(controller_of: ControllerOf) -> Segmenter:
    """Return the segmenter for low-level actions of which one knows whose they are.

    Neighbouring steps with the same controller, objects and parameters are one execution of it.
    """

    def segment(states: Sequence[State], actions: Sequence[Any]) -> Iterator[Segment]:
        last: Segment | None = None
        for step in segment_by_step(controller_of)(states, actions):
            if last is not None and (step.action is None or step.action != last.action):
                yield last
            last = step
        if last is not None:
            yield last

    return segment
