"""Learn a sampler for each operator that has continuous parameters."""

from __future__ import annotations

from collections.abc import Sequence

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.model import Sampler
from needful.core.operators import OperatorData
from needful.sampler_learning.config import SamplerConfig
from needful.sampler_learning.datasets import sampler_examples
from needful.sampler_learning.sampling import AnchoredSampler, NeuralSampler


def learn_samplers(
    data: Sequence[OperatorData],
    demonstrations: Sequence[Demonstration],
    config: SamplerConfig,
    seed: int,
    idle: frozenset[str] = frozenset(),
    deadline: Deadline = NO_DEADLINE,
) -> dict[str, Sampler]:
    """Return samplers by operator name, in the order of the operators.

    Operators without continuous parameters need none, and `idle` ones are not planned with: theirs are
    only counter-examples for the others. Operators of whose transitions no state was
    recorded get none; `PlanningModel.missing_samplers` tells which. Where all parameters follow their
    anchors or are constant, that is the sampler; networks, and torch, come in where something varies.
    """
    examples = sampler_examples(data, demonstrations, seed, idle, deadline)
    varied = [each for each in examples if each.varying.any()]
    neural: dict[str, NeuralSampler] = {}
    if varied:
        from needful.sampler_learning.training import train_samplers  # imports torch

        neural = train_samplers(varied, config, seed, deadline)
    return {
        each.operator.name: neural.get(each.operator.name)
        or AnchoredSampler(each.operator, each.anchors, each.offsets[0])
        for each in examples
    }
