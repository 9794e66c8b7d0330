"""Set aside demonstrations with superfluous steps, which are found in the simulator.

The search compares the length of plans with that of demonstrations, so a superfluous step makes a correct
plan look too short. A step is superfluous if the later actions still reach the goal without it. The whole
demonstration is then set aside. The step is not just removed, because several steps may be superfluous, and
it is unknown which of them the demonstrator did not need.
"""

from __future__ import annotations

from collections.abc import Sequence

from needful.core.atoms import AbstractState
from needful.core.controllers import Execute, GroundController
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.state import State

# If fewer demonstrations than this have no superfluous step, all demonstrations are used.
LEAST_REMAINING = 20


def without_detours(
    demonstrations: Sequence[Demonstration], execute: Execute, deadline: Deadline = NO_DEADLINE
) -> tuple[Demonstration, ...]:
    """Return the demonstrations that have no superfluous step, or all if fewer than 20 would remain."""
    if len(demonstrations) <= LEAST_REMAINING:
        return tuple(demonstrations)
    remaining = []
    for one in demonstrations:
        deadline.check()
        if not has_superfluous_step(one, execute):
            remaining.append(one)
    return tuple(remaining if len(remaining) >= LEAST_REMAINING else demonstrations)


def has_superfluous_step(demonstration: Demonstration, execute: Execute) -> bool:
    """Return whether the goal is reached even if some step is left out; False if there are no states."""
    return demonstration.states is not None and any(
        _reaches(state, demonstration.actions[index + 1 :], demonstration.goal, execute)
        for index, state in enumerate(demonstration.states[:-1])
    )


def _reaches(
    state: State, actions: Sequence[GroundController], goal: AbstractState, execute: Execute
) -> bool:
    for action in actions:
        if not action.initiable(state):
            return False
        execution = execute(state, action)
        if execution.steps == 0:
            return False
        state = execution.state
    return all(atom.holds(state) for atom in goal)
