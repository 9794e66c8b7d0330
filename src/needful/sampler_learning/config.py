"""How samplers are trained."""

from __future__ import annotations

from dataclasses import dataclass

from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """When to stop training a network, and which of its weights to keep.

    Attributes:
        iterations: full-batch steps at most.
        patience: steps without improvement after which an operator's network is done.
        tolerance: what the loss must fall by to count as an improvement.
        held_out: the share of the examples that judge the loss instead of training it. A share of
            fewer than ten examples would judge by chance, so then all train and the training loss
            judges; 0 does so always.
    """

    iterations: int
    patience: int
    tolerance: float = 1e-3
    held_out: float = 0.1

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.patience < 1:
            raise InvalidInputError(
                f"Training needs at least one iteration and a patience of one, got {self.iterations} "
                f"and {self.patience}."
            )
        if not 0.0 <= self.held_out <= 0.5:
            raise InvalidInputError(f"Hold out a share between 0 and 0.5, got {self.held_out}.")


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """The schedules of the two networks of a sampler."""

    generator: TrainingSchedule = TrainingSchedule(iterations=1_000, patience=500)
    classifier: TrainingSchedule = TrainingSchedule(iterations=10_000, patience=500, tolerance=1e-2)


# The paper's numbers: much longer, and judged by the training loss alone (deviation E26).
PAPER_SAMPLERS = SamplerConfig(
    generator=TrainingSchedule(iterations=50_000, patience=50_000, tolerance=0.0, held_out=0.0),
    classifier=TrainingSchedule(iterations=10_000, patience=5_000, tolerance=0.0, held_out=0.0),
)
