"""The operator learners by name. A new one is a file of its own and a line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.errors import UnknownNameError
from needful.operator_learning.baselines.cluster_intersect import cluster_and_intersect
from needful.operator_learning.baselines.loft import loft, loft_with_replays
from needful.operator_learning.baselines.quantified_search import cluster_and_quantify
from needful.operator_learning.delete_patterns import whole_predicate
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.merge_types import keep_types
from needful.operator_learning.reduce_complexity import keep_all_operators


class Learn(Protocol):
    """Learns operators from demonstrations and, if it asked for them, replays."""

    def __call__(
        self,
        demonstrations: Sequence[Demonstration],
        replays: Sequence[Demonstration] = (),
        deadline: Deadline = NO_DEADLINE,
    ) -> LearnedOperators:
        """Return what was learned; raise `LearningTimeoutError` if the deadline passes before."""
        ...


@dataclass(frozen=True, slots=True)
class Learner:
    """An operator learner.

    Attributes:
        name: what it is called by.
        description: one line about it.
        learn: the learner itself.
        config: its configuration in words.
        replays: how many replays it asks for, transitions that take a simulator to collect.
    """

    name: str
    description: str
    learn: Learn
    config: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    replays: int = 0


def necessary_learner(name: str, description: str, config: OperatorLearningConfig) -> Learner:
    """Return the paper's learner with a configuration."""

    def learn(
        demonstrations: Sequence[Demonstration],
        replays: Sequence[Demonstration] = (),
        deadline: Deadline = NO_DEADLINE,
    ) -> LearnedOperators:
        # A replay has no goal, so nothing in it is necessary.
        return learn_operators(demonstrations, config, deadline)

    return Learner(name, description, learn, MappingProxyType(config.describe()))


LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        learner.name: learner
        for learner in (
            necessary_learner(
                "necessary",
                "operators that predict only what is necessary",
                OperatorLearningConfig(),
            ),
            necessary_learner(
                "necessary-paper",
                "the same, with types as seen and quantified deletes of whole predicates, as in the paper",
                OperatorLearningConfig(generalise=whole_predicate, types=keep_types),
            ),
            necessary_learner(
                "necessary-no-complexity",
                "the same as `necessary`, without deleting or merging operators",
                OperatorLearningConfig(reduce=keep_all_operators, types=keep_types),
            ),
            Learner(
                "ci", "cluster and intersect: an operator for every set of effects", cluster_and_intersect
            ),
            Learner(
                "ci-qe",
                "cluster and intersect, then quantified deletes by prediction error",
                cluster_and_quantify,
            ),
            Learner("loft", "clusters of effects with preconditions found by search", loft),
            Learner(
                "loft-replay",
                "the same with 2,500 transitions more, tried out in the simulator",
                loft_with_replays,
                replays=2_500,
            ),
        )
    }
)


def find_learner(name: str) -> Learner:
    """Return the learner of that name; raise with the nearest match if there is none."""
    if name not in LEARNERS:
        raise UnknownNameError("learner", name, LEARNERS)
    return LEARNERS[name]
