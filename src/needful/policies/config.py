"""How policies are trained."""

from __future__ import annotations

from dataclasses import dataclass

from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """How long to train, and which weights to keep.

    Attributes:
        epochs: passes over the examples. The learning rate falls to 0 until then.
        batch: how many examples make one step.
        held_out: which share of the examples, the first ones, only judges. The weights with the
            lowest loss on them are kept; with 0 all examples train, and the last weights are kept.
        check_every: after so many epochs those that were held out judge the weights.
        patience: training ends when so many epochs brought nothing better for those held out.
    """

    epochs: int = 3_000
    batch: int = 128
    held_out: float = 0.0
    check_every: int = 100
    patience: int = 1_000

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "check_every", "patience"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0.0 <= self.held_out < 1.0:
            raise InvalidInputError(f"held_out must be a share from 0 to below 1, got {self.held_out}.")
