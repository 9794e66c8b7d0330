"""An operator with the transitions it was induced from."""

from __future__ import annotations

from dataclasses import dataclass

from needful.core.objects import Object
from needful.core.operators import Operator


@dataclass(frozen=True, slots=True)
class GroundedTransition:
    """A transition that an operator explains: (τ, δ) ∈ D_ω.

    Attributes:
        demonstration: the index of the demonstration.
        step: the index of the transition in it, so that its action is `actions[step]`.
        objects: δ, the objects bound to the operator's parameters, in their order.
    """

    demonstration: int
    step: int
    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class OperatorData:
    """An operator ω and its dataset D_ω; a transition is in at most one operator's dataset."""

    operator: Operator
    groundings: tuple[GroundedTransition, ...]
