"""Policies in household domains: many objects, a type hierarchy, hundreds of atoms."""

from __future__ import annotations

import numpy as np
import pytest

from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.planning.bilevel import PlanningConfig
from needful.policies.graph_policy import PolicyConfig
from needful.policies.training import make_examples, train_policy

pytest.importorskip("mujoco", reason="household domains need the extra `household`")


@pytest.mark.parametrize("domain", ["opening-presents", "sorting-books"])
def test_a_policy_learns_and_acts_in_a_house(domain: str) -> None:
    environment = make_environment(domain)
    # Without the C++ engine, planning in a house can take longer than 10 seconds on a loaded machine.
    oracle = OracleDemonstrator(environment, PlanningConfig(timeout=120))
    demonstrations = collect_demonstrations(environment, oracle, 1, 0).demonstrations
    (first, *_) = make_examples(environment.vocabulary, demonstrations)
    columns = {kind.name: index for index, kind in enumerate(environment.vocabulary.types)}
    for obj, row in zip(demonstrations[0].objects, first.graph.nodes, strict=True):
        types = {name for name, column in columns.items() if row[column] == 1.0}
        assert types == {kind.name for kind in obj.type.ancestry()}
    policy = train_policy(environment.vocabulary, demonstrations, PolicyConfig(epochs=3), 0)
    assert all(np.all(np.isfinite(weight)) for weight in policy.weights.values())
    task = environment.task(Split.TEST, 0, 0)
    action = policy.act(task.initial_state, task.goal)
    assert action is not None
    assert action.controller in environment.vocabulary.controllers
    assert set(action.objects) <= set(task.objects)
