"""Replays: what comes of doing something at random in a state of a demonstration.

They show what demonstrations never do: controllers used where they are of no use. A replay is written
as a demonstration of one action without a goal. It shows a transition, but nothing that was wanted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from needful.abstraction.abstract import abstract
from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.objects import InjectiveTuples
from needful.core.operators import GroundOperator
from needful.core.state import State
from needful.envs.contract import Environment
from needful.errors import DemonstrationError
from needful.seeding import rng_for

# Draws that come to nothing are repeated, but not for ever: so many times the number that is wanted.
MAX_DRAWS_PER_REPLAY = 20


def collect_replays(
    environment: Environment,
    demonstrations: Sequence[Demonstration],
    count: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda done: None,
) -> tuple[Demonstration, ...]:
    """Replay states of demonstrations with random ground operators of the oracle.

    A demonstration is chosen by its number of states, then a state that is not its last and one of
    all groundings of all operators, whether its preconditions hold or not. What a simulator refuses
    is drawn anew.
    """
    if any(demonstration.states is None for demonstration in demonstrations):
        raise DemonstrationError("Replays start from states, and a demonstration has none.")
    usable = [demonstration for demonstration in demonstrations if len(demonstration)]
    oracle, rng = environment.oracle_model(), rng_for(seed, "replays", environment.name)
    found: list[Demonstration] = []
    for _ in range(MAX_DRAWS_PER_REPLAY * count if usable else 0):
        if len(found) == count:
            break
        replay = _replay(environment, oracle, _choose(usable, rng), rng)
        if replay is not None:
            found.append(replay)
            on_progress(len(found))
    if not found:
        raise DemonstrationError(
            f"No replay came of {len(usable)} demonstrations of {environment.name!r}. "
            "Use a learner that needs none."
        )
    return tuple(found)


def _choose(demonstrations: Sequence[Demonstration], rng: np.random.Generator) -> Demonstration:
    ends = list(accumulate(len(demonstration.abstract_states) for demonstration in demonstrations))
    return demonstrations[bisect_right(ends, rng.integers(ends[-1]))]


def _replay(
    environment: Environment, oracle: PlanningModel, demonstration: Demonstration, rng: np.random.Generator
) -> Demonstration | None:
    """Do one random thing in a random state; return None if nothing could be done."""
    step = int(rng.integers(len(demonstration)))
    assert demonstration.states is not None
    state = demonstration.states[step]
    ground = random_ground_operator(oracle, state, rng)
    if ground is None:
        return None
    action = _action(oracle, ground, state, rng)
    if not action.initiable(state):
        return None
    execution = environment.execute(state, action)
    if not execution.steps:
        return None
    return Demonstration(
        objects=demonstration.objects,
        goal=frozenset(),
        abstract_states=(
            demonstration.abstract_states[step],
            abstract(execution.state, environment.vocabulary.predicates),
        ),
        actions=(action,),
        states=(state, execution.state),
    )


def random_ground_operator(
    model: PlanningModel, state: State, rng: np.random.Generator
) -> GroundOperator | None:
    """Draw one of all groundings of all operators of a model, each as likely; None if there are none."""
    choices = [
        InjectiveTuples(tuple(state.of_type(variable.type) for variable in operator.parameters))
        for operator in model.operators
    ]
    ends = list(accumulate(tuples.count for tuples in choices))
    if not ends or not ends[-1]:
        return None
    index = int(rng.integers(ends[-1]))
    which = bisect_right(ends, index)
    return model.operators[which].ground(choices[which].at(ends[which] - index - 1))


def _action(
    model: PlanningModel, ground: GroundOperator, state: State, rng: np.random.Generator
) -> GroundController:
    operator = ground.operator
    parameters: Sequence[float] = ()
    if operator.controller.dimension:
        drawn = model.samplers[operator.name].sample(state, ground.objects, rng)
        parameters = operator.controller.clip(drawn)
    return operator.controller(*ground.controller_objects, parameters=parameters)
