"""Parameterised controllers (skills), ground controllers (actions) and their executions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from needful.core.objects import Object, Type, counted, short_repr
from needful.core.state import State
from needful.errors import InvalidInputError

Parameters: TypeAlias = tuple[float, ...]
InitiationTest: TypeAlias = Callable[[State, Sequence[Object], Parameters], bool]

# Parameters may exceed their bounds low and high by this fraction of max(1, |low|, |high|): programs that
# record demonstrations may round parameters or bounds to 32 bits.
BOUNDS_TOLERANCE = 1e-6


@runtime_checkable
class ExplainableInitiationTest(Protocol):
    """An initiation test that also gives the reason why a controller may not start."""

    def rejection_reason(
        self, state: State, objects: Sequence[Object], parameters: Parameters
    ) -> str | None:
        """Return in a few words why the controller may not start, or None if it may start."""
        ...


def always_initiable(state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
    """Return True: the default initiation test, which lets a controller start in any state."""
    return True


class ControllerPolicy(Protocol):
    """The closed-loop policy of a multi-step controller.

    Each execution gets a new dictionary `memory`, in which the policy may store values between steps.
    """

    def act(self, state: State, action: GroundController, memory: dict[str, object]) -> np.ndarray:
        """Return the next low-level action; `action` is the ground controller that is being executed."""
        ...

    def terminal(self, state: State, action: GroundController, memory: dict[str, object]) -> bool:
        """Return whether `action`, the ground controller that is being executed, has finished."""
        ...


@dataclass(frozen=True, slots=True)
class Controller:
    """A skill with typed arguments, bounded continuous parameters and a fast initiation test.

    A controller without a policy is single-step: one call of the environment's `simulate` executes it.
    """

    name: str
    types: tuple[Type, ...]
    low: Parameters = ()
    high: Parameters = ()
    initiable: InitiationTest = field(default=always_initiable, compare=False, repr=False)
    policy: ControllerPolicy | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, bounds in (("low", self.low), ("high", self.high)):
            if not hasattr(bounds, "__len__"):
                raise InvalidInputError(
                    f"Controller {self.name!r} has {name}={bounds!r}. Give a tuple with one number per "
                    "parameter, such as (0.5,)."
                )
        if len(self.low) != len(self.high):
            raise InvalidInputError(
                f"Controller {self.name!r} has {len(self.low)} lower and {len(self.high)} upper bounds. "
                "Give one of each per parameter."
            )
        for low, high in zip(self.low, self.high, strict=True):
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise InvalidInputError(
                    f"Controller {self.name!r} has the invalid bounds [{low}, {high}]. "
                    "Give two finite numbers, the lower one first."
                )

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: Controller) -> bool:
        return self.name < other.name

    def __repr__(self) -> str:
        signature = f"{self.name}({', '.join(kind.name for kind in self.types)})"
        return short_repr(self, signature, counted(self.low, "parameter"))

    def __call__(self, *objects: Object, parameters: Sequence[float] = ()) -> GroundController:
        """Return the action that executes this controller with the given objects and parameters."""
        return GroundController(self, objects, tuple(float(p) for p in parameters))

    @property
    def dimension(self) -> int:
        """The number of continuous parameters."""
        return len(self.low)

    def clip(self, parameters: Sequence[float]) -> Parameters:
        """Return the given parameters, clipped to the controller's bounds."""
        self.check_parameter_count(parameters)
        bounds = zip(parameters, self.low, self.high, strict=True)
        return tuple(min(max(float(value), low), high) for value, low, high in bounds)

    def first_out_of_bounds(self, parameters: Sequence[float]) -> int | None:
        """Return the index of the first parameter outside its bounds, or None if all are inside.

        A parameter outside its bounds, but within the tolerance `BOUNDS_TOLERANCE`, counts as inside.
        """
        bounds = zip(parameters, self.low, self.high, strict=True)
        for index, (value, low, high) in enumerate(bounds):
            tolerance = BOUNDS_TOLERANCE * max(1.0, abs(low), abs(high))
            if not low - tolerance <= value <= high + tolerance:
                return index
        return None

    def check_parameter_count(self, parameters: Sequence[float]) -> None:
        """Raise `InvalidInputError` unless `parameters` has as many numbers as the controller takes."""
        if len(parameters) != self.dimension:
            raise InvalidInputError(
                f"Controller {self.name!r} takes {self.dimension} parameters, got {len(parameters)}."
            )


@dataclass(frozen=True, slots=True)
class GroundController:
    """An action: a controller with the objects and the continuous parameters to execute it with."""

    controller: Controller
    objects: tuple[Object, ...]
    parameters: Parameters = ()

    def __post_init__(self) -> None:
        name, types = self.controller.name, self.controller.types
        if len(self.objects) != len(types):
            raise InvalidInputError(
                f"Controller {name!r} takes {len(types)} objects, got {len(self.objects)}."
            )
        for obj, kind in zip(self.objects, types, strict=True):
            if not obj.type.is_subtype_of(kind):
                raise InvalidInputError(f"Controller {name!r} asks for a {kind.name}, got {obj}.")
        self.controller.check_parameter_count(self.parameters)
        if not all(map(math.isfinite, self.parameters)):
            raise InvalidInputError(
                f"Controller {name!r} got parameters that are not finite: {self.parameters}."
            )

    def __str__(self) -> str:
        objects = ", ".join(obj.name for obj in self.objects)
        if not self.parameters:
            return f"{self.controller.name}({objects})"
        return f"{self.controller.name}({objects}; {', '.join(f'{p:.4g}' for p in self.parameters)})"

    def __repr__(self) -> str:
        return short_repr(self, str(self))

    def initiable(self, state: State) -> bool:
        """Return whether the controller may start in this state."""
        return self.controller.initiable(state, self.objects, self.parameters)

    def rejection_reason(self, state: State) -> str | None:
        """Return why the controller may not start in this state.

        Returns None if the controller may start, or if its initiation test gives no reasons.
        """
        test: object = self.controller.initiable
        if not isinstance(test, ExplainableInitiationTest):
            return None
        return test.rejection_reason(state, self.objects, self.parameters)


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of executing one ground controller.

    Attributes:
        state: the state after the execution, or the state before it if the execution failed.
        steps: the number of low-level actions; 0 means that the controller failed.
        failure: the reason for the failure, or None.
        offending: the objects that caused the failure, as reported by the simulator. The planner looks
            for a plan that moves these objects first.
    """

    state: State
    steps: int = 1
    failure: str | None = None
    offending: tuple[Object, ...] = ()


Execute: TypeAlias = Callable[[State, GroundController], Execution]


class World(Protocol):
    """The world in which an agent acts: a robot, or a simulation of one."""

    def observe(self) -> State:
        """Return a reading of the current state; readings may be noisy."""
        ...

    def act(self, action: GroundController) -> Execution:
        """Execute a controller; the result contains a reading of the state after it.

        A controller that fails may raise `EnvironmentFailure`.
        """
        ...
