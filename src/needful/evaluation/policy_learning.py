"""From demonstrations to a policy, with what is known about how it came to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.errors import UnknownNameError
from needful.evaluation.learning import check_demonstrations, timed
from needful.operator_learning.catalogue import LEARNERS, Learner
from needful.policies.catalogue import POLICIES, PolicyKind
from needful.policies.graph_policy import GraphPolicy, PolicyConfig
from needful.policies.training import train_policy
from needful.storage.json_fields import JsonValue


@dataclass(frozen=True, slots=True)
class LearnedPolicy:
    """A policy and how it acts; `seconds` are those of learning it, and 0 of what it does without."""

    policy: GraphPolicy
    kind: PolicyKind
    demonstrations: tuple[Demonstration, ...]
    seconds: Mapping[str, float]

    @property
    def transitions(self) -> int:
        """The number of steps that it learned from."""
        return sum(map(len, self.demonstrations))


def find_method(name: str) -> Learner | PolicyKind:
    """Return the operator learner or the policy of that name; raise with the nearest match."""
    methods: dict[str, Learner | PolicyKind] = {**LEARNERS, **POLICIES}
    if name not in methods:
        raise UnknownNameError("learner", name, methods)
    return methods[name]


def learn_policy(
    vocabulary: Vocabulary,
    demonstrations: Iterable[Demonstration],
    kind: PolicyKind,
    config: PolicyConfig | None = None,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    watch: Callable[[int], None] = lambda epochs: None,
) -> LearnedPolicy:
    """Learn to do what was done in demonstrations, which must have states.

    Raises `LearningTimeoutError` with the seconds spent if the deadline passes. `watch` is told how
    many epochs are done.
    """

    def on_epoch(done: int) -> None:
        deadline.check()
        watch(done)

    demonstrations = tuple(demonstrations)
    check_demonstrations(vocabulary, demonstrations)
    seconds = {"operators": 0.0, "samplers": 0.0}
    with timed("policy", seconds):
        policy = train_policy(vocabulary, demonstrations, config or PolicyConfig(), seed, on_epoch)
    return LearnedPolicy(policy, kind, demonstrations, seconds)


def policy_provenance(kind: PolicyKind, config: PolicyConfig, seed: int) -> dict[str, JsonValue]:
    """Return how a policy comes to be, for its file: everything that can change its bytes."""
    return {"learner": kind.name, "policy_config": asdict(config), "seed": seed}
