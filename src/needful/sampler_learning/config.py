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
        folds: into how many parts the examples are divided for cross-validation. For each part a
            network is trained without it and judged by it; the network that is kept is trained on
            all examples, for as many steps as is best for the others. With 0 its training loss
            judges.
    """

    iterations: int
    patience: int
    tolerance: float = 1e-3
    folds: int = 5

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.patience < 1:
            raise InvalidInputError(
                f"Training needs at least one iteration and a patience of one, got {self.iterations} "
                f"and {self.patience}."
            )
        if self.folds < 0 or self.folds == 1:
            raise InvalidInputError(
                f"Cross-validation takes at least 2 folds, or 0 for none, got {self.folds}."
            )


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """The schedules of the two networks of a sampler."""

    generator: TrainingSchedule = TrainingSchedule(iterations=1_000, patience=500)
    classifier: TrainingSchedule = TrainingSchedule(iterations=10_000, patience=500, tolerance=1e-2)


# The paper's numbers: much longer, and judged by the training loss alone (deviation E26).
PAPER_SAMPLERS = SamplerConfig(
    generator=TrainingSchedule(iterations=50_000, patience=50_000, tolerance=0.0, folds=0),
    classifier=TrainingSchedule(iterations=10_000, patience=5_000, tolerance=0.0, folds=0),
)
