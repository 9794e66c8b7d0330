"""Worlds with failing skills and noise, simulated by any environment.

`Disturbances` holds the probability of failures and the amounts of noise. A `SimulatedWorld` holds the true
state of one task; an agent acts in it. The disturbances are:

    failing skills      A controller fails with a given probability: one low-level action passes, and the
                        state does not change.
    observation noise   Each reading of a feature has Gaussian noise. Its standard deviation is a fraction
                        of the range of this feature over sampled states.
    parameter noise     Each parameter of an executed controller has Gaussian noise. Its standard deviation
                        is a fraction of the distance between its bounds. Noisy parameters are clipped
                        to the bounds.

Features with few different values in the sampled states, or with integer values only, count as discrete;
examples are flags, classes and identifiers. They are read without noise, because a small error in the
number of a class has no meaning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

import numpy as np

from needful.core.controllers import Execution, GroundController
from needful.core.objects import Type, short_repr
from needful.core.state import State
from needful.envs.contract import Environment
from needful.errors import InvalidInputError
from needful.seeding import rng_for

# The range of each feature. A key has the name of the feature's root type (the topmost supertype), and the
# name of the feature.
FeatureRanges: TypeAlias = Mapping[tuple[str, str], float]

# A feature with at most this number of different values in the sampled states is discrete.
MAX_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Disturbances:
    """The failures and the noise in a simulated world; by default there are none.

    Attributes:
        skill_failures: the probability that a controller fails.
        observation_noise: the standard deviation of readings, as a fraction of each feature's range.
        parameter_noise: the standard deviation of executed parameters, as a fraction of the distance
            between their bounds.
    """

    skill_failures: float = 0.0
    observation_noise: float = 0.0
    parameter_noise: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not (isinstance(value, int | float) and 0.0 <= value <= 1.0):
                raise InvalidInputError(f"{one.name} must be a number between 0 and 1, got {value!r}.")

    def __bool__(self) -> bool:
        return self != Disturbances()


def feature_ranges(states: Iterable[State]) -> dict[tuple[str, str], float]:
    """Return the range (maximum minus minimum) of each feature over states; 0 for discrete features.

    If two types have the same root, their features with the same name share one range. A feature is
    discrete if it has at most `MAX_LEVELS` different values, or if all its values are integers.
    """
    values: dict[tuple[str, str], set[float]] = {}
    for state in states:
        for obj in state:
            root = _root(obj.type)
            for feature, value in zip(obj.type.features, state[obj], strict=True):
                values.setdefault((root, feature), set()).add(value)
    return {key: 0.0 if _is_discrete(found) else max(found) - min(found) for key, found in values.items()}


def _is_discrete(values: Collection[float]) -> bool:
    return len(values) <= MAX_LEVELS or all(map(float.is_integer, values))


def _root(kind: Type) -> str:
    *_, root = kind.ancestry()
    return root.name


@dataclass(slots=True, repr=False)
class SimulatedWorld:
    """The world of one task, simulated by an environment; a `World` in which an agent acts.

    Attributes:
        environment: simulates the controllers.
        state: the true state, which changes with each action.
        disturbances: failing skills and noise.
        ranges: the range of each feature; needed for observation noise. See `feature_ranges`.
        seed: determines which skills fail, and all noise.
        actions: the actions as commanded, without parameter noise.
        states: the true states, from the first one to the current one.
        steps: the number of low-level actions so far.
    """

    environment: Environment
    state: State
    disturbances: Disturbances = field(default_factory=Disturbances)
    ranges: FeatureRanges = field(default_factory=dict)
    seed: int = 0
    actions: list[GroundController] = field(default_factory=list, init=False)
    states: list[State] = field(init=False)
    steps: int = field(default=0, init=False)
    _deviations: np.ndarray = field(init=False)
    _failing: np.random.Generator = field(init=False)
    _reading: np.random.Generator = field(init=False)
    _moving: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        share = self.disturbances.observation_noise
        if share and not self.ranges:
            raise InvalidInputError("Observation noise needs the ranges of features. Use feature_ranges.")
        self.states = [self.state]
        widths = [
            self.ranges.get((_root(obj.type), feature), 0.0)
            for obj in self.state
            for feature in obj.type.features
        ]
        self._deviations = share * np.array(widths)
        # The generators are separate, so that the number of readings does not influence which skills fail.
        self._failing, self._reading, self._moving = (
            rng_for(self.seed, label)
            for label in ("skill failures", "observation noise", "parameter noise")
        )

    def __repr__(self) -> str:
        return short_repr(self, self.environment.name, f"{len(self.actions)} actions")

    def observe(self) -> State:
        """Return a reading of the current state."""
        if not self._deviations.any():
            return self.state
        noise = iter(self._reading.normal(0.0, self._deviations).tolist())
        return State({obj: [value + next(noise) for value in self.state[obj]] for obj in self.state})

    def act(self, action: GroundController) -> Execution:
        """Execute an action; a controller that cannot start in the true state changes nothing."""
        execution = self._execute(action)
        self.state = execution.state
        self.steps += execution.steps
        self.actions.append(action)
        self.states.append(self.state)
        return replace(execution, state=self.observe())

    def _execute(self, action: GroundController) -> Execution:
        if self._failing.random() < self.disturbances.skill_failures:
            return Execution(self.state, steps=1)
        share = self.disturbances.parameter_noise
        if share:
            controller = action.controller
            deviations = share * np.subtract(controller.high, controller.low)
            noisy = controller.clip(self._moving.normal(action.parameters, deviations).tolist())
            action = replace(action, parameters=noisy)
        if not action.initiable(self.state):
            return Execution(self.state, steps=0, failure=f"{action} cannot start in this state.")
        return self.environment.execute(self.state, action)
