"""Hashes of configurations are equal if and only if the configurations are equal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, fields, replace

import pytest

from needful.errors import InvalidInputError
from needful.evaluation.execution import ExecutionConfig
from needful.evaluation.pipeline import RunConfig
from needful.evaluation.records import config_hash
from needful.invention.invent import InventionConfig
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.planning.bilevel import PlanningConfig, predicted_subgoals
from needful.planning.planners import default_planner
from needful.policies.graph_policy import PolicyConfig
from needful.sampler_learning.learn_samplers import PAPER_SAMPLERS, SamplerConfig

OTHER_PLANNING = {
    "timeout": 11.0,
    "max_abstract_plans": 9,
    "samples_per_step": 11,
    "horizon": 101,
    "max_nodes": None,
    "max_ground_operators": None,
    "allow_noops": False,
    "subgoals": predicted_subgoals,
    "adaptive": False,
    "clock": time.thread_time,
}
OTHER_RUN = {
    "experiments": ExperimentConfig(),
    "learner": "necessary-paper",
    "demos": 51,
    "seed": 1,
    "planning": PlanningConfig(timeout=11.0),
    "samplers": PAPER_SAMPLERS,
    "oracle_samplers": True,
    "learning_timeout": 60.0,
    "policy": PolicyConfig(epochs=5),
    "execution": ExecutionConfig(closed_loop=True),
    "invention": InventionConfig(),
    "preset": "paper",
}


@dataclass(frozen=True)
class Eager:
    """A planner configuration."""

    weight: float = 1.0


@dataclass(frozen=True)
class Lazy:
    """Another class with the same fields."""

    weight: float = 1.0


def test_every_field_of_planning_matters() -> None:
    base = PlanningConfig()
    others = {name: replace(base, **{name: value}) for name, value in OTHER_PLANNING.items()}
    others["planner"] = replace(base, planner=Eager())  # type: ignore[arg-type]
    assert set(others) == {field.name for field in fields(PlanningConfig)}
    hashes = {config_hash(one) for one in [base, *others.values()]}
    assert len(hashes) == len(others) + 1


def test_every_field_of_a_run_matters_except_tasks_and_validation() -> None:
    base = RunConfig()
    others = {name: replace(base, **{name: value}) for name, value in OTHER_RUN.items()}  # type: ignore[arg-type]
    assert {*others, "tasks", "validation_folds"} == {field.name for field in fields(RunConfig)}
    hashes = {one.identity("screws").config_hash for one in [base, *others.values()]}
    assert len(hashes | {base.identity("painting").config_hash}) == len(others) + 2
    # A task does not depend on the number of tasks.
    assert replace(base, tasks=7).identity("screws") == base.identity("screws")
    # Cross-validation does not affect what is learned.
    assert replace(base, validation_folds=5).identity("screws") == base.identity("screws")


@dataclass(frozen=True)
class Earlier:
    weight: float = 1.0


@dataclass(frozen=True)
class Later:
    weight: float = 1.0
    anchors: bool = True


Later.__qualname__ = "Earlier"


def test_settings_that_were_added_later_do_not_change_the_hashes_of_earlier_runs() -> None:
    assert config_hash(Later()) == config_hash(Earlier())
    assert config_hash(Later(anchors=False)) != config_hash(Earlier())
    assert config_hash(SamplerConfig(anchors=False)) != config_hash(SamplerConfig())


def test_nested_fields_matter() -> None:
    longer = replace(SamplerConfig().generator, patience=501)
    assert config_hash(SamplerConfig()) != config_hash(SamplerConfig(generator=longer))
    assert config_hash(PlanningConfig(planner=Eager(2.0))) != config_hash(
        PlanningConfig(planner=Eager(3.0))
    )  # type: ignore[arg-type]


def test_equal_configurations_have_equal_hashes() -> None:
    assert config_hash(PlanningConfig(), 3) == config_hash(PlanningConfig(planner=default_planner()), 3)
    assert re.fullmatch(r"[0-9a-f]{16}", config_hash())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), (2, 1)),
        ((1,), ("1",)),
        ((1,), (1, None)),
        (((1, 2), 3), (1, (2, 3))),
        (("a", "b"), ("ab",)),
        ((True,), (1,)),
        ((Eager(),), (Lazy(),)),
        ((Eager,), (Eager(),)),
    ],
)
def test_different_values_have_different_hashes(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert config_hash(*one) != config_hash(*other)


def test_hash_is_the_same_in_every_process() -> None:
    program = (
        "from needful.evaluation.pipeline import RunConfig\n"
        "print(RunConfig().identity('screws').config_hash)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        ).stdout.strip()
        for environment in ({**os.environ, "PYTHONHASHSEED": seed} for seed in ("0", "1"))
    }
    assert found == {RunConfig().identity("screws").config_hash}


@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, b"", (1, object())])
def test_unsupported_values_are_rejected(value: object) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot contain .* dataclasses"):
        config_hash(value)


def test_lambdas_are_rejected() -> None:
    with pytest.raises(InvalidInputError, match=r"<lambda>.*module level"):
        config_hash(PlanningConfig(subgoals=lambda plan, initial, goal: (goal,)))
