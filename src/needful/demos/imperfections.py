"""Turn flawless demonstrations into imperfect ones, to measure how well learners tolerate imperfections.

Oracles demonstrate without mistakes. People and robots repeat steps, fail and retry, and make detours, and
perception reports wrong atoms. The functions here add these imperfections at given rates:

    insert_repeated_steps   a step is executed twice
    insert_failed_steps     a step is first tried with parameters that change no atom
    insert_detours          a random action that the task does not need is executed
    flip_atoms              atoms are wrong in single abstract states

The first three execute the inserted step and all later steps in the simulator, and insert the step only if
the goal still holds at the end. Such a demonstration is a real execution: its states are those of the
simulator, and its abstract states are the atoms of these states. `flip_atoms` changes abstract states only.

Results depend only on the arguments. The imperfections of demonstration k depend on the seed, on k and on
the demonstration itself, not on the other demonstrations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Controller, Execute, GroundController, Parameters
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.objects import InjectiveTuples
from needful.core.state import State
from needful.envs.contract import Environment
from needful.errors import DemonstrationError, InvalidInputError
from needful.seeding import rng_for

# The maximum number of random actions to try for one failed step or one detour. If none is suitable,
# no step is inserted.
MAX_DRAWS = 200


@dataclass(frozen=True, slots=True)
class ImperfectionRates:
    """How often each imperfection occurs; all rates are probabilities.

    Attributes:
        repeated: the probability that a step is repeated.
        failed: the probability that a failed attempt precedes a step.
        detours: the probability that a detour precedes a step.
        flipped: the probability that an atom is wrong in an abstract state.
    """

    repeated: float = 0.0
    failed: float = 0.0
    detours: float = 0.0
    flipped: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            _check_probability(one.name, getattr(self, one.name))


def make_imperfect(
    demonstrations: Demonstrations, environment: Environment, rates: ImperfectionRates, seed: int
) -> tuple[Demonstration, ...]:
    """Add all imperfections at the given rates.

    Detours are inserted first, then repeated steps, then failed steps. Atoms are flipped last. Detours can
    therefore be repeated and can fail, like other steps. Each failed attempt directly precedes its step.
    """
    demonstrations = insert_detours(demonstrations, environment, rates.detours, seed)
    demonstrations = insert_repeated_steps(demonstrations, environment, rates.repeated, seed)
    demonstrations = insert_failed_steps(demonstrations, environment, rates.failed, seed)
    return flip_atoms(demonstrations, rates.flipped, seed)


def insert_repeated_steps(
    demonstrations: Demonstrations, environment: Environment, probability: float, seed: int
) -> tuple[Demonstration, ...]:
    """Repeat each step with the given probability; its objects and parameters stay the same.

    A step is not repeated if the later steps would then miss the goal. The second execution may fail or
    change nothing.
    """

    def propose(trajectory: _Trajectory, index: int, rng: np.random.Generator) -> Iterator[_Step]:
        action = trajectory.actions[index - 1]
        yield _Step(action, environment.execute(trajectory.states[index], action).state)

    return _insert_steps(demonstrations, environment, probability, seed, "repeated", propose, offset=1)


def insert_failed_steps(
    demonstrations: Demonstrations, environment: Environment, probability: float, seed: int
) -> tuple[Demonstration, ...]:
    """Insert a failed attempt before each step, with the given probability.

    The attempt executes the controller of the step on the same objects, with parameters drawn uniformly
    within its bounds. The attempt counts as failed if no atom changes: either the simulator reports a
    failure, or the parameters have no relevant effect. If an atom changes, or if the later steps would then
    miss the goal, other parameters are drawn; at most `MAX_DRAWS` are tried. Steps of controllers without
    parameters get no failed attempts.
    """
    predicates = environment.vocabulary.predicates

    def propose(trajectory: _Trajectory, index: int, rng: np.random.Generator) -> Iterator[_Step]:
        intended, before = trajectory.actions[index], trajectory.states[index]
        atoms: AbstractState | None = None
        for _ in range(MAX_DRAWS if intended.controller.dimension else 0):
            action = replace(intended, parameters=_random_parameters(intended.controller, rng))
            after = environment.execute(before, action).state
            if after != before:
                atoms = abstract(before, predicates) if atoms is None else atoms
                if abstract(after, predicates) != atoms:
                    continue
            yield _Step(action, after)

    return _insert_steps(demonstrations, environment, probability, seed, "failed", propose)


def insert_detours(
    demonstrations: Demonstrations, environment: Environment, probability: float, seed: int
) -> tuple[Demonstration, ...]:
    """Insert a random action before each step, with the given probability.

    The controller is drawn uniformly, then its objects, then its parameters. The action must change the
    state, and the later steps must still reach the goal. Otherwise, another action is drawn; at most
    `MAX_DRAWS` are tried.
    """
    controllers = sorted(environment.vocabulary.controllers)

    def propose(trajectory: _Trajectory, index: int, rng: np.random.Generator) -> Iterator[_Step]:
        before = trajectory.states[index]
        for _ in range(MAX_DRAWS):
            action = _random_action(controllers[rng.integers(len(controllers))], before, rng)
            if action is not None:
                after = environment.execute(before, action).state
                if after != before:
                    yield _Step(action, after)

    return _insert_steps(demonstrations, environment, probability, seed, "detours", propose)


def flip_atoms(demonstrations: Demonstrations, probability: float, seed: int) -> tuple[Demonstration, ...]:
    """Flip each atom in each abstract state with the given probability.

    Only atoms that hold in at least one state of the demonstration are flipped. In the last state, goal
    atoms are never made false. Continuous states do not change. Flip atoms after adding other
    imperfections, because these compute the abstract states from the continuous states.
    """
    _check_probability("probability", probability)
    if not probability:
        return tuple(demonstrations)
    return tuple(
        _flip(demonstration, probability, rng_for(seed, "imperfections", "flipped", index))
        for index, demonstration in enumerate(demonstrations)
    )


def _flip(demonstration: Demonstration, probability: float, rng: np.random.Generator) -> Demonstration:
    states = demonstration.abstract_states
    atoms = sorted(frozenset[GroundAtom]().union(*states))
    flips = rng.random((len(states), len(atoms))) < probability
    flipped = [
        state ^ {atoms[index] for index in np.flatnonzero(row)}
        for state, row in zip(states, flips, strict=True)
    ]
    flipped[-1] |= demonstration.goal
    return replace(demonstration, abstract_states=tuple(flipped))


@dataclass(frozen=True, slots=True)
class _Step:
    """An action, and the state after its execution."""

    action: GroundController
    after: State


@dataclass(frozen=True, slots=True)
class _Trajectory:
    """n actions and the n + 1 states that they visit."""

    actions: tuple[GroundController, ...]
    states: tuple[State, ...]


# A function that yields candidates for the step to insert at an index of a trajectory. Each candidate has
# been executed in the state with this index. The first one after which the later actions still reach the
# goal is inserted.
_Propose: TypeAlias = Callable[[_Trajectory, int, np.random.Generator], Iterator[_Step]]


def _insert_steps(
    demonstrations: Demonstrations,
    environment: Environment,
    probability: float,
    seed: int,
    kind: str,
    propose: _Propose,
    offset: int = 0,
) -> tuple[Demonstration, ...]:
    """Insert steps into demonstrations; `offset` is 0 to insert before a step and 1 to insert after it."""
    _check_probability("probability", probability)
    if not probability:
        return tuple(demonstrations)
    found = []
    for number, demonstration in enumerate(demonstrations):
        rng = rng_for(seed, "imperfections", kind, environment.name, number)
        trajectory = _trajectory(demonstration)
        index = 0
        for remaining in reversed(range(len(demonstration))):
            if rng.random() < probability:
                proposed = propose(trajectory, index + offset, rng)
                longer = (_insert(trajectory, index + offset, one, environment.execute) for one in proposed)
                trajectory = next((one for one in longer if _ends_at_goal(one, demonstration)), trajectory)
            index = len(trajectory.actions) - remaining
        found.append(_with_trajectory(demonstration, trajectory, environment))
    return tuple(found)


def _ends_at_goal(trajectory: _Trajectory, demonstration: Demonstration) -> bool:
    return all(atom.holds(trajectory.states[-1]) for atom in demonstration.goal)


def _insert(trajectory: _Trajectory, index: int, step: _Step, execute: Execute) -> _Trajectory:
    """Return the trajectory with a step inserted; all later actions are executed again."""
    earlier, later = trajectory.actions[:index], trajectory.actions[index:]
    states = [*trajectory.states[: index + 1], step.after]
    if step.after == trajectory.states[index]:
        states += trajectory.states[index + 1 :]
    else:
        for action in later:
            states.append(execute(states[-1], action).state)
    return _Trajectory((*earlier, step.action, *later), tuple(states))


def _trajectory(demonstration: Demonstration) -> _Trajectory:
    if demonstration.states is None:
        raise DemonstrationError(
            "Imperfect steps need states, but a demonstration has none. Record demonstrations with states."
        )
    return _Trajectory(demonstration.actions, demonstration.states)


def _with_trajectory(
    demonstration: Demonstration, trajectory: _Trajectory, environment: Environment
) -> Demonstration:
    if len(trajectory.actions) == len(demonstration):
        return demonstration
    predicates = environment.vocabulary.predicates
    return replace(
        demonstration,
        abstract_states=tuple(abstract(state, predicates) for state in trajectory.states),
        actions=trajectory.actions,
        states=trajectory.states,
    )


def _random_action(
    controller: Controller, state: State, rng: np.random.Generator
) -> GroundController | None:
    """Draw objects and parameters of a controller; return None if the state has too few objects."""
    tuples = InjectiveTuples(tuple(map(state.of_type, controller.types)))
    if not tuples.count:
        return None
    objects = tuples.at(int(rng.integers(tuples.count)))
    return GroundController(controller, objects, _random_parameters(controller, rng))


def _random_parameters(controller: Controller, rng: np.random.Generator) -> Parameters:
    return tuple(rng.uniform(controller.low, controller.high).tolist())


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"{name} must be a probability from 0 to 1, got {value}.")
