"""The six controllers by name.

θ is measured from the origin of the target's body, in a frame that is turned with it about the vertical
only; for Open and Close it is measured from the handle. A floor cannot be a target: it is never reachable.
"""

from __future__ import annotations

from types import MappingProxyType

from needful.core.controllers import Parameters
from needful.envs.household import manipulate, navigate
from needful.envs.household.course import Course, Refusal
from needful.envs.household.physics import Physics
from needful.envs.household.view import View
from needful.errors import EnvironmentFailure, UnknownNameError

# To which share of its limit a hinge is driven: Close goes all the way to the stop.
SHARES = MappingProxyType({"Open": 1.0, "Close": 0.0})

CONTROLLER_NAMES = ("Close", "Grasp", "NavigateTo", "Open", "PlaceInside", "PlaceOnTop")


def refusal(view: View, name: str, thing: int, theta: Parameters) -> Refusal | None:
    """Return why a controller cannot start, or None; this is cheap, as no motion is planned."""
    match name:
        case "NavigateTo":
            return navigate.refuse_to_navigate(view, thing, theta)
        case "Grasp":
            return manipulate.refuse_to_grasp(view, thing)
        case "PlaceOnTop" | "PlaceInside":
            return manipulate.refuse_to_place(view, thing, theta, inside=name == "PlaceInside")
        case "Open" | "Close":
            return manipulate.refuse_to_turn(view, thing, theta, SHARES[name])
        case _:
            raise UnknownNameError("household controller", name, CONTROLLER_NAMES)


def perform(view: View, physics: Physics, name: str, thing: int, theta: Parameters) -> Course:
    """Run a controller; raise `EnvironmentFailure` with the reason if it cannot be done."""
    reason = refusal(view, name, thing, theta)
    if reason is not None:
        raise EnvironmentFailure(reason.value)
    match name:
        case "NavigateTo":
            return navigate.navigate(view, thing, theta)
        case "Grasp":
            return manipulate.grasp(view, physics, thing, theta)
        case "PlaceOnTop" | "PlaceInside":
            return manipulate.place(view, physics, thing, theta)
        case _:
            return manipulate.turn(view, physics, thing, theta, SHARES[name])
