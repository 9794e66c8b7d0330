"""Learn a sampler for each operator that has continuous parameters.

A sampler has two networks. The generator maps an input vector v (features of objects) to a Gaussian
distribution of the parameters θ; it is trained on the positive examples. The classifier maps v, θ and the
offsets of θ from their anchors to a logit; its targets are 1 for positive and 0 for negative examples.

The anchor of a parameter is a feature of an object that usually has about the same value. The offset is the
parameter minus its anchor. Inputs are normalised: the minimum of an input is subtracted, and the result is
divided by max(range, 1). The generator predicts offsets that are normalised to mean 0 and variance 1 over
the positive examples. An untrained generator returns mean 0 and variance 1, so training starts with the
mean and the variance of the examples.

The samplers of the paper (`SamplerConfig.anchors` is False) differ in four points: there are no anchors;
the parameters are normalised like the inputs; constant parameters are learned like all others; and all
initial weights are random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.model import Sampler
from needful.core.operators import OperatorData
from needful.sampler_learning.datasets import SamplerExamples, sampler_examples
from needful.sampler_learning.sampling import AnchoredSampler, Network, NeuralSampler, classifier_inputs
from needful.sampler_learning.training import (
    GAUSSIAN,
    LOGISTIC,
    Head,
    TrainingProblem,
    TrainingSchedule,
    train_network,
)
from needful.seeding import rng_for, seed_for


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """How samplers are trained.

    Attributes:
        generator, classifier: the training schedules of a sampler's two networks.
        anchors: whether networks learn, for example, the difference between a target position and the
            position of a cup (the anchor; see `learn_samplers`). If not, they learn the target position
            itself, as in the paper.
    """

    generator: TrainingSchedule = field(default=TrainingSchedule(iterations=1_000, patience=500))
    classifier: TrainingSchedule = field(
        default=TrainingSchedule(iterations=10_000, patience=500, tolerance=1e-2, learning_rate=3e-3)
    )
    anchors: bool = True


# The samplers of the paper: networks predict the parameters themselves (no anchors), and there is no
# cross-validation. The generator's 1,000 steps are those of the authors' code (see E26 in
# docs/paper_to_code.md).
PAPER_SAMPLERS = SamplerConfig(
    generator=TrainingSchedule(iterations=1_000, patience=1_000, tolerance=0.0, folds=0),
    classifier=TrainingSchedule(iterations=10_000, patience=5_000, tolerance=0.0, folds=0),
    anchors=False,
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
    constant, the operator gets an `AnchoredSampler`, otherwise a `NeuralSampler`. The samplers of the paper
    have no anchors, and all of them are `NeuralSampler`s.
    """
    examples = sampler_examples(data, demonstrations, seed, noop_names, deadline, config.anchors)
    learn = _learn_sampler if config.anchors else _learn_paper_sampler
    return {each.operator.name: learn(each, config, seed, deadline) for each in examples}


def _learn_sampler(
    examples: SamplerExamples, config: SamplerConfig, seed: int, deadline: Deadline
) -> AnchoredSampler | NeuralSampler:
    if not examples.varying.any():
        return AnchoredSampler(examples.operator, examples.anchors, examples.offsets[0])
    targets = _Normalisation.to_unit_variance(examples.offsets, examples.varying)
    generator = generator_data(examples).train(config.generator, seed, deadline)
    classifier = None
    if len(examples.negative_inputs):
        classifier = classifier_data(examples).train(config.classifier, seed, deadline)
    # An offset is shift + scale * prediction. With scale 0, a constant offset is exact in all draws.
    scale = np.where(examples.varying, targets.scale, 0.0)
    return NeuralSampler(examples.operator, examples.anchors, generator, targets.shift, scale, classifier)


def _learn_paper_sampler(
    examples: SamplerExamples, config: SamplerConfig, seed: int, deadline: Deadline
) -> NeuralSampler:
    operator, inputs, parameters = examples.operator, examples.inputs, examples.parameters
    targets = _Normalisation.to_unit_range(parameters)
    every = np.ones(parameters.shape[1], dtype=bool)
    data = NetworkData(
        "generator", operator.name, GAUSSIAN, inputs, targets(parameters), every, zero_outputs=False
    )
    generator = data.train(config.generator, seed, deadline)
    classifier = None
    if len(examples.negative_inputs):
        negative = np.hstack([examples.negative_inputs, examples.negative_parameters])
        rows = np.vstack([np.hstack([inputs, parameters]), negative])
        labels = np.repeat([1.0, 0.0], [len(inputs), len(negative)])[:, None]
        data = NetworkData(
            "classifier", operator.name, LOGISTIC, rows, labels, np.array([True]), zero_outputs=False
        )
        # As in the paper, the classifier is trained on features of objects and parameters. `NeuralSampler`
        # also passes the parameters minus their anchors to it, so add inputs that have no effect.
        classifier = data.train(config.classifier, seed, deadline).with_ignored_inputs(parameters.shape[1])
    return NeuralSampler(operator, examples.anchors, generator, targets.shift, targets.scale, classifier)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NetworkData:
    """The training data of the generator or the classifier of one operator.

    Attributes:
        kind: "generator" or "classifier".
        operator_name: the name of the operator.
        head: the loss of the network.
        inputs: the inputs of the network, one example per row.
        targets: the values to predict, one example per row.
        learned: for each column of `targets`, whether it counts in the loss. Offsets that are the same
            in all examples do not count (see `SamplerExamples.varying`).
        zero_outputs: whether the network returns zero before training; see `initial_weights`.
    """

    kind: str
    operator_name: str
    head: Head
    inputs: np.ndarray
    targets: np.ndarray
    learned: np.ndarray
    zero_outputs: bool = True

    def train(self, schedule: TrainingSchedule, seed: int, deadline: Deadline = NO_DEADLINE) -> Network:
        """Train the network; `seed` is the root seed of all random numbers."""
        layers = train_network(self.problem(schedule.folds, seed), self.head, schedule, deadline)
        normalise = _Normalisation.to_unit_range(self.inputs)
        weights, biases = zip(*layers, strict=True)
        return Network(
            normalise.shift,
            normalise.scale,
            tuple(weight.astype(np.float64) for weight in weights),
            tuple(bias.astype(np.float64) for bias in biases),
        )

    def problem(self, folds: int, seed: int) -> TrainingProblem:
        """Return the training problem with the given number of folds of cross-validation."""
        labels = ("samplers", self.operator_name, self.kind)
        assigned = assign_folds(len(self.inputs), folds, rng_for(seed, *labels, "folds"))
        inputs = _Normalisation.to_unit_range(self.inputs)(self.inputs)
        problem = TrainingProblem.with_folds(
            inputs, self.targets, self.learned, assigned, seed_for(seed, *labels, "weights")
        )
        return replace(problem, zero_outputs=self.zero_outputs)


def generator_data(examples: SamplerExamples) -> NetworkData:
    """Return the training data of an operator's generator."""
    name, offsets = examples.operator.name, examples.offsets
    targets = _Normalisation.to_unit_variance(offsets, examples.varying)(offsets)
    return NetworkData("generator", name, GAUSSIAN, examples.inputs, targets, examples.varying)


def classifier_data(examples: SamplerExamples) -> NetworkData:
    """Return the training data of an operator's classifier."""
    name, anchors = examples.operator.name, examples.anchors
    positive = classifier_inputs(examples.inputs, examples.parameters, anchors)
    negative = classifier_inputs(examples.negative_inputs, examples.negative_parameters, anchors)
    targets = np.repeat([1.0, 0.0], [len(positive), len(negative)])[:, None]
    rows = np.vstack([positive, negative])
    return NetworkData("classifier", name, LOGISTIC, rows, targets, np.array([True]))


def assign_folds(count: int, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Assign `count` examples at random to folds of cross-validation; return each example's fold number.

    The sizes of the folds differ by at most one. If there are fewer examples than folds, each example is
    its own fold. Without cross-validation (`folds` is 0, or there is only one example), all numbers are -1.
    """
    folds = min(folds, count) if count > 1 else 0
    assigned: np.ndarray = rng.permutation(count) % folds if folds else np.full(count, -1)
    return assigned


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Normalisation:
    """A normalisation of rows: subtract the vector `shift`, then divide by the vector `scale`."""

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def to_unit_range(cls, rows: np.ndarray) -> _Normalisation:
        return cls(rows.min(axis=0), np.maximum(np.ptp(rows, axis=0), 1.0))

    @classmethod
    def to_unit_variance(cls, rows: np.ndarray, varying: np.ndarray) -> _Normalisation:
        return cls(rows.mean(axis=0), np.where(varying, rows.std(axis=0), 1.0))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        result: np.ndarray = (rows - self.shift) / self.scale
        return result
