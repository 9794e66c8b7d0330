"""Learn a sampler for each operator that has continuous parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.model import Sampler
from needful.core.operators import OperatorData
from needful.errors import InvalidInputError, check_at_least_one
from needful.sampler_learning.datasets import sampler_examples
from needful.sampler_learning.sampling import AnchoredSampler, NeuralSampler


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """When to stop training a network, and which of its weights to keep.

    Attributes:
        iterations: the maximum number of full-batch steps.
        patience: stop after this many steps in which the validation loss has not improved.
        tolerance: the validation loss must decrease by more than this to count as an improvement.
        folds: the number of folds of cross-validation. For each fold, one network is trained on all other
            folds and validated on this fold. These networks only determine when to stop: at the step with
            the lowest sum of their validation losses. The sampler uses another network, which is trained
            on all examples up to this step. If `folds` is 0, there is no cross-validation, and the loss on
            the training examples is used as the validation loss.
    """

    iterations: int
    patience: int
    tolerance: float = 1e-3
    folds: int = 5

    def __post_init__(self) -> None:
        check_at_least_one(iterations=self.iterations, patience=self.patience)
        if self.folds < 0 or self.folds == 1:
            raise InvalidInputError(
                f"folds must be at least 2, or 0 for no cross-validation, got {self.folds}."
            )


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """The training schedules of a sampler's two networks, the generator and the classifier."""

    generator: TrainingSchedule = TrainingSchedule(iterations=1_000, patience=500)
    classifier: TrainingSchedule = TrainingSchedule(iterations=10_000, patience=500, tolerance=1e-2)


# The paper's values: many more steps, and no cross-validation (see E26 in docs/paper_to_code.md).
PAPER_SAMPLERS = SamplerConfig(
    generator=TrainingSchedule(iterations=50_000, patience=50_000, tolerance=0.0, folds=0),
    classifier=TrainingSchedule(iterations=10_000, patience=5_000, tolerance=0.0, folds=0),
)


def learn_samplers(
    data: Sequence[OperatorData],
    demonstrations: Sequence[Demonstration],
    config: SamplerConfig,
    seed: int,
    noop_names: frozenset[str] = frozenset(),
    deadline: Deadline = NO_DEADLINE,
) -> dict[str, Sampler]:
    """Learn samplers from demonstrations; return them by operator name, in the order of the operators.

    Three kinds of operators get no sampler:

    - operators without continuous parameters;
    - operators that change nothing, named in `noop_names`; their transitions can only be negative examples
      for other operators;
    - operators without a recorded state in any transition; `PlanningModel.missing_samplers` lists them.

    A sampler does not predict a controller parameter itself, but its offset from an anchor. The anchor is a
    feature of one of the operator's objects, such as a position, that is usually close to the parameter.
    For a parameter without an anchor, the offset is the parameter itself. If all offsets of an operator are
    constant, the operator gets an `AnchoredSampler`. Otherwise it gets a `NeuralSampler`, whose networks
    are trained with torch.
    """
    examples = sampler_examples(data, demonstrations, seed, noop_names, deadline)
    varied = [each for each in examples if each.varying.any()]
    neural: dict[str, NeuralSampler] = {}
    if varied:
        from needful.sampler_learning.training import train_samplers  # imports torch, which takes seconds

        neural = train_samplers(varied, config, seed, deadline)
    return {
        each.operator.name: neural.get(each.operator.name)
        or AnchoredSampler(each.operator, each.anchors, each.offsets[0])
        for each in examples
    }
