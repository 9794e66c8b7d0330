"""Configuration of sampler training."""

from __future__ import annotations

from dataclasses import dataclass

from needful.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """When to stop training a network, and which of its weights to keep.

    Attributes:
        iterations: the maximum number of full-batch steps.
        patience: stop training an operator's network after this many steps without improvement.
        tolerance: the loss must decrease by more than this to count as an improvement.
        folds: the number of folds of cross-validation. For each fold, one network is trained without it
            and validated on it. The network that is kept is trained on all examples, for the number of
            steps with the lowest total validation loss. With 0, the training loss replaces the
            validation loss.
    """

    iterations: int
    patience: int
    tolerance: float = 1e-3
    folds: int = 5

    def __post_init__(self) -> None:
        for name in ("iterations", "patience"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.folds < 0 or self.folds == 1:
            raise InvalidInputError(
                f"folds must be at least 2, or 0 for no cross-validation, got {self.folds}."
            )


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """The training schedules of a sampler's two networks."""

    generator: TrainingSchedule = TrainingSchedule(iterations=1_000, patience=500)
    classifier: TrainingSchedule = TrainingSchedule(iterations=10_000, patience=500, tolerance=1e-2)


# The paper's values: many more steps, and no validation loss (deviation E26).
PAPER_SAMPLERS = SamplerConfig(
    generator=TrainingSchedule(iterations=50_000, patience=50_000, tolerance=0.0, folds=0),
    classifier=TrainingSchedule(iterations=10_000, patience=5_000, tolerance=0.0, folds=0),
)
