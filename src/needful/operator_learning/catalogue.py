"""The operator learners by name. A new one is a file of its own and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from needful.core.demonstrations import Demonstration
from needful.errors import UnknownNameError
from needful.operator_learning.delete_patterns import whole_predicate
from needful.operator_learning.learn import LearnedOperators, OperatorLearningConfig, learn_operators
from needful.operator_learning.reduce_complexity import keep_all_operators


@dataclass(frozen=True, slots=True)
class Learner:
    """An operator learner with one line about it and its configuration in words."""

    name: str
    description: str
    learn: Callable[[Sequence[Demonstration]], LearnedOperators]
    config: Mapping[str, str]


def _necessary(name: str, description: str, config: OperatorLearningConfig) -> Learner:
    return Learner(
        name, description, lambda demos: learn_operators(demos, config), MappingProxyType(config.describe())
    )


LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        learner.name: learner
        for learner in (
            _necessary(
                "necessary",
                "operators that predict only what is necessary",
                OperatorLearningConfig(),
            ),
            _necessary(
                "necessary-paper",
                "the same, with quantified deletes of whole predicates as in the paper",
                OperatorLearningConfig(generalise=whole_predicate),
            ),
            _necessary(
                "necessary-no-complexity",
                "the same as `necessary`, without deleting superfluous operators",
                OperatorLearningConfig(reduce=keep_all_operators),
            ),
        )
    }
)


def find_learner(name: str) -> Learner:
    """Return the learner of that name; raise with the nearest match if there is none."""
    if name not in LEARNERS:
        raise UnknownNameError("learner", name, LEARNERS)
    return LEARNERS[name]
