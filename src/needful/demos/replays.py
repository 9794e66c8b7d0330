"""Replays: records of one random action, executed in a state of a demonstration.

Demonstrations execute a controller only where it helps to reach the goal. Replays also execute it in other
states. A replay is a `Demonstration` with one action and an empty goal.
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

# Per requested replay, try at most this number of random actions; some actions cannot be executed.
MAX_DRAWS_PER_REPLAY = 20


def collect_replays(
    environment: Environment,
    demonstrations: Sequence[Demonstration],
    count: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda done: None,
) -> tuple[Demonstration, ...]:
    """Execute random ground operators of the oracle model in random states of demonstrations.

    For each replay, a demonstration is drawn first, with probability proportional to its number of states.
    Then one of its states (not the last) and a ground operator are drawn. The operator's preconditions need
    not hold in the state. If the operator's controller cannot start or fails, all draws are repeated. After
    each replay, `on_progress` is called with the number of replays so far.

    Returns `count` replays, or fewer if too many draws fail; raises if all draws fail.
    """
    if any(demonstration.states is None for demonstration in demonstrations):
        raise DemonstrationError(
            "Replays need states, but a demonstration has none. Record demonstrations with states."
        )
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
            f"No action could be replayed in {len(usable)} demonstrations of {environment.name!r}. "
            "Use a learner that needs no replays."
        )
    return tuple(found)


def _choose(demonstrations: Sequence[Demonstration], rng: np.random.Generator) -> Demonstration:
    ends = list(accumulate(len(demonstration.abstract_states) for demonstration in demonstrations))
    return demonstrations[bisect_right(ends, rng.integers(ends[-1]))]


def _replay(
    environment: Environment, oracle: PlanningModel, demonstration: Demonstration, rng: np.random.Generator
) -> Demonstration | None:
    """Execute a random action in a random state of the demonstration, and return the replay.

    Returns None if the action cannot be executed.
    """
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
    """Draw a ground operator uniformly from all groundings of all operators of the model.

    The groundings are over the objects of the state. Returns None if there is no grounding.
    """
    choices = [
        InjectiveTuples(tuple(state.of_type(variable.type) for variable in operator.parameters))
        for operator in model.operators
    ]
    ends = list(accumulate(tuples.count for tuples in choices))
    if not ends or not ends[-1]:
        return None
    index = int(rng.integers(ends[-1]))
    chosen = bisect_right(ends, index)
    return model.operators[chosen].ground(choices[chosen].at(ends[chosen] - index - 1))


def _action(
    model: PlanningModel, ground: GroundOperator, state: State, rng: np.random.Generator
) -> GroundController:
    operator = ground.operator
    parameters: Sequence[float] = ()
    if operator.controller.dimension:
        drawn = model.samplers[operator.name].sample(state, ground.objects, rng)
        parameters = operator.controller.clip(drawn)
    return operator.controller(*ground.controller_objects, parameters=parameters)
