"""The policies by name: what is trained is the same, how it acts is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from needful.core.controllers import Execute
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.policies.graph_policy import GraphPolicy
from needful.policies.rollout import RolloutLimits, follow, shoot

Solve: TypeAlias = Callable[
    [GraphPolicy, Task, Execute, RolloutLimits, np.random.Generator], PlanningResult
]


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """A way of acting by a policy, with one line about it."""

    name: str
    description: str
    solve: Solve


POLICIES: Mapping[str, PolicyKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            PolicyKind("gnn-shooting", "a graph network imitates, rolled out until a plan is found", shoot),
            PolicyKind("gnn-model-free", "the same network, executed without a look ahead", follow),
        )
    }
)
