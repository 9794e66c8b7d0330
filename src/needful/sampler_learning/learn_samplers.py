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
