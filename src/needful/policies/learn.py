"""From demonstrations to a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.policies.config import PolicyConfig
from needful.policies.examples import examples_of
from needful.policies.graph_encoding import GraphEncoding
from needful.policies.graph_policy import GraphPolicy, network_size
from needful.policies.network import weight_shapes
from needful.policies.standard_units import StandardUnits
from needful.seeding import seed_for


def train_policy(
    vocabulary: Vocabulary,
    demonstrations: Sequence[Demonstration],
    config: PolicyConfig,
    seed: int,
    on_epoch: Callable[[int], None] = lambda done: None,
) -> GraphPolicy:
    """Return a policy that imitates the demonstrations, which must have states.

    `on_epoch` hears before each epoch how many are done, and may end it all with an error.
    """
    from needful.policies.training import train_network  # imports torch

    examples = examples_of(vocabulary, demonstrations)
    units = StandardUnits.of(examples, GraphEncoding.of(vocabulary).first_feature)
    shapes = weight_shapes(network_size(vocabulary))
    lessons = [units.applied(example) for example in examples]
    weights = train_network(shapes, lessons, config, seed_for(seed, "policy", "weights"), on_epoch)
    return GraphPolicy(vocabulary, units.undone(weights))
