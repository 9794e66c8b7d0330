"""Parameterised controllers (skills) and what came of executing one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from needful.core.objects import Object, Type
from needful.core.state import State
from needful.errors import InvalidInputError

Parameters: TypeAlias = tuple[float, ...]
InitiationTest: TypeAlias = Callable[[State, Sequence[Object], Parameters], bool]

# Forgives the rounding of recorders that keep parameters or bounds in 32 bits; a share of the larger
# bound, or of one if both are smaller.
BOUNDS_TOLERANCE = 1e-6


@runtime_checkable
class ExplainableInitiationTest(Protocol):
    """An initiation test that can also say why a controller may not start."""

    def rejection_reason(
        self, state: State, objects: Sequence[Object], parameters: Parameters
    ) -> str | None:
        """Return the reason in a few words, or None if the controller may start."""
        ...


def always_initiable(state: State, objects: Sequence[Object], parameters: Parameters) -> bool:
    """Accept any state: the initiation test of most controllers."""
    return True


class ControllerPolicy(Protocol):
    """The closed loop of a multi-step controller.

    `memory` is a fresh dictionary for each execution; a policy may keep there what it needs.
    """

    def act(self, state: State, action: GroundController, memory: dict[str, object]) -> np.ndarray:
        """Return the next low-level action."""
        ...

    def terminal(self, state: State, action: GroundController, memory: dict[str, object]) -> bool:
        """Return whether the controller has finished in this state."""
        ...


@dataclass(frozen=True, slots=True)
class Controller:
    """A skill: typed arguments, a box of continuous parameters, a cheap initiation test.

    A controller without a policy is single-step: the environment's `simulate` does all of it.
    """

    name: str
    types: tuple[Type, ...]
    low: Parameters = ()
    high: Parameters = ()
    initiable: InitiationTest = field(default=always_initiable, compare=False, repr=False)
    policy: ControllerPolicy | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high):
            raise InvalidInputError(f"Controller {self.name!r} has bounds of different lengths.")
        for low, high in zip(self.low, self.high, strict=True):
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise InvalidInputError(f"Controller {self.name!r} has an empty bound [{low}, {high}].")

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: Controller) -> bool:
        return self.name < other.name

    def __call__(self, *objects: Object, parameters: Sequence[float] = ()) -> GroundController:
        """Return the ground action of this controller."""
        return GroundController(self, objects, tuple(float(p) for p in parameters))

    @property
    def dimension(self) -> int:
        """The number of continuous parameters."""
        return len(self.low)

    def clip(self, parameters: Sequence[float]) -> Parameters:
        """Return the parameters pulled into the box."""
        self.check_parameter_count(parameters)
        bounds = zip(parameters, self.low, self.high, strict=True)
        return tuple(min(max(float(value), low), high) for value, low, high in bounds)

    def first_out_of_bounds(self, parameters: Sequence[float]) -> int | None:
        """Return the place of the first parameter that is outside of the box by more than rounding."""
        bounds = zip(parameters, self.low, self.high, strict=True)
        for place, (value, low, high) in enumerate(bounds):
            slack = BOUNDS_TOLERANCE * max(1.0, abs(low), abs(high))
            if not low - slack <= value <= high + slack:
                return place
        return None

    def check_parameter_count(self, parameters: Sequence[float]) -> None:
        """Raise unless there are as many parameters as the box has dimensions."""
        if len(parameters) != self.dimension:
            raise InvalidInputError(
                f"Controller {self.name!r} takes {self.dimension} parameters, got {len(parameters)}."
            )


@dataclass(frozen=True, slots=True)
class GroundController:
    """An action: a controller with its objects and parameters."""

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
            raise InvalidInputError(f"Controller {name!r} got parameters that are not finite.")

    def __str__(self) -> str:
        objects = ", ".join(obj.name for obj in self.objects)
        if not self.parameters:
            return f"{self.controller.name}({objects})"
        return f"{self.controller.name}({objects}; {', '.join(f'{p:.4g}' for p in self.parameters)})"

    def initiable(self, state: State) -> bool:
        """Return whether the controller may start in this state."""
        return self.controller.initiable(state, self.objects, self.parameters)

    def rejection_reason(self, state: State) -> str | None:
        """Return why the controller may not start in this state, if its test can tell."""
        test: object = self.controller.initiable
        if not isinstance(test, ExplainableInitiationTest):
            return None
        return test.rejection_reason(state, self.objects, self.parameters)


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of executing one ground controller.

    Attributes:
        state: the state afterwards; the state before, unchanged, if the execution failed.
        steps: how many low-level actions were taken; 0 means that the controller failed.
        failure: why it failed, if it did.
        offending: the objects that the simulator blames. If there are any, the planner remembers
            them and looks for a plan that deals with them first.
    """

    state: State
    steps: int = 1
    failure: str | None = None
    offending: tuple[Object, ...] = ()


Execute: TypeAlias = Callable[[State, GroundController], Execution]
