"""Samplers propose continuous parameters for controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from needful.core.controllers import Parameters
from needful.core.objects import Object
from needful.core.state import State


class Sampler(Protocol):
    """Proposes continuous parameters for the controller of an operator."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Sequence[float]:
        """Draw parameters; `objects` are those bound to all of the operator's parameters, in order."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantSampler:
    """The sampler of an operator whose controller always wants the same parameters."""

    parameters: Parameters

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> Parameters:
        """Return the parameters."""
        return self.parameters
