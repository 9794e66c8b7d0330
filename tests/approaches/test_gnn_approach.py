"""Runs with graph network policies, which have results like other runs but no operators."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from needful.approaches.base import LearningConfig
from needful.approaches.catalogue import APPROACHES, BILEVEL_APPROACHES, GNN_APPROACHES, find_approach
from needful.approaches.files import holds_policy, load_solver, model_digest, open_model
from needful.approaches.gnn import LearnedPolicy, PolicySolver
from needful.core.plans import Outcome
from needful.envs.catalogue import make_environment
from needful.errors import (
    DemonstrationError,
    InvalidInputError,
    LearningTimeoutError,
    ModelError,
    UnknownNameError,
)
from needful.evaluation.execution import Disturbances, ExecutionConfig, SimulatedWorld
from needful.evaluation.pipeline import RunConfig, RunResult, run
from needful.evaluation.run_folder import RunFolder
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.policies.graph_policy import PolicyConfig
from needful.storage.model_directory import load_policy, save_policy
from toy_environment import ToyEnvironment, Unreliable

TOY = ToyEnvironment()
CONFIG = RunConfig(learner="gnn-shooting", demos=5, tasks=4, policy=PolicyConfig(epochs=400))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder.create(tmp_path_factory.mktemp("policies") / "run")


@pytest.fixture(scope="module")
def result(folder: RunFolder) -> RunResult:
    return run(TOY, CONFIG, folder)


def test_a_policy_is_trained_and_solves_tasks(result: RunResult) -> None:
    assert isinstance(result.learned, LearnedPolicy)
    assert result.learned.approach is APPROACHES["gnn-shooting"]
    assert [record.outcome for record in result.evaluation.records] == ["solved"] * 4
    for record in result.evaluation.records:
        assert (record.learner, record.plan_length, record.samples) == ("gnn-shooting", 3, 1)
        assert (record.nodes_created, record.nodes_expanded, record.abstract_plans) == (0, 0, 0)
    assert result.evaluation.example is not None


def test_the_summary_has_no_operators(result: RunResult, folder: RunFolder) -> None:
    summary = result.summary
    assert (summary["operators"], summary["coverage"], summary["transitions"]) == (0, 0.0, 15)
    assert (summary["solved"], summary["demos"]) == (4, 5)
    assert (summary["seconds"]["operators"], summary["seconds"]["samplers"]) == (0.0, 0.0)
    assert summary["seconds"]["policy"] > 0.0
    assert json.loads((folder.path / "summary.json").read_text()) == summary


def test_stored_policy_solves_the_same_task(result: RunResult, folder: RunFolder) -> None:
    assert sorted(path.name for path in folder.model.iterdir()) == ["policy.json", "policy.safetensors"]
    stored = load_policy(folder.model)
    assert isinstance(result.learned, LearnedPolicy)
    for name, weight in result.learned.policy.weights.items():
        np.testing.assert_array_equal(stored.policy.weights[name], weight)
    assert stored.provenance["domain"] == "toy"
    assert stored.provenance["policy_config"]["epochs"] == 400  # type: ignore[index, call-overload]
    solver = load_solver(folder.path, TOY, PlanningConfig())
    assert (solver.approach, solver.operator_count) == ("gnn-shooting", 0)
    assert result.evaluation.example is not None
    task, found = result.evaluation.example
    assert solver.solve(task, 0).solved
    assert found.expected_atoms(task.goal) == (task.goal,) * 4
    assert found.steps == found.actions


def test_policy_is_not_opened_as_a_model(folder: RunFolder, result: RunResult, tmp_path: Path) -> None:
    assert holds_policy(folder.path)
    assert holds_policy(folder.model)
    assert not holds_policy(tmp_path)
    with pytest.raises(ModelError, match="holds a policy, which has no operators"):
        open_model(folder.path)
    with pytest.raises(ModelError, match="holds a policy"):
        open_model(folder.model)
    assert len(model_digest(folder.path)) == 64


def test_policies_must_fit_the_environment(folder: RunFolder, result: RunResult) -> None:
    screws = make_environment("screws")
    with pytest.raises(ModelError, match=r"not a policy for the domain 'screws'\. Unknown type"):
        load_solver(folder.path, screws, PlanningConfig())


def test_models_are_opened_like_policies(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    run(TOY, RunConfig(demos=4, tasks=1), folder)
    solver = load_solver(folder.path, TOY, PlanningConfig())
    assert (solver.approach, solver.operator_count) == ("necessary", 3)
    assert solver.solve(TOY.tasks("test", 1, 0)[0], 0).solved


def test_model_free_policy_observes_the_real_environment(result: RunResult) -> None:
    assert isinstance(result.learned, LearnedPolicy)
    policy, kind, task = result.learned.policy, GNN_APPROACHES["gnn-model-free"], TOY.tasks("test", 1, 0)[0]
    # The first two executions have no effect; the policy observes that and acts again.
    for idle, actions in (((), 3), ((1, 2), 5)):
        world = Unreliable(idle)
        found = PolicySolver(policy, kind, world.execute, PlanningConfig()).solve(task, 0)
        assert (found.solved, len(found.actions), world.executions) == (True, actions, actions)
        assert found.statistics.samples == 0


def test_model_free_policy_acts_in_a_world(result: RunResult) -> None:
    assert isinstance(result.learned, LearnedPolicy)
    task = TOY.tasks("test", 1, 0)[0]
    solver = PolicySolver(result.learned.policy, GNN_APPROACHES["gnn-model-free"], TOY.execute)
    world = SimulatedWorld(TOY, task.initial_state, Disturbances(skill_failures=0.5), seed=1)
    found = solver.act(task, world, 0)
    assert found.solved
    assert task.achieved_in(world.state)
    assert len(found.actions) == len(world.actions) > 3
    assert found.to_planning_result().actions == found.actions


def test_shooting_only_plans(result: RunResult) -> None:
    assert isinstance(result.learned, LearnedPolicy)
    task = TOY.tasks("test", 1, 0)[0]
    solver = result.learned.solver(TOY, PlanningConfig())
    with pytest.raises(InvalidInputError, match="'gnn-shooting' only plans"):
        solver.act(task, SimulatedWorld(TOY, task.initial_state), 0)
    with pytest.raises(InvalidInputError, match="cannot act closed loop"):
        RunConfig(learner="gnn-shooting", execution=ExecutionConfig(closed_loop=True))


def test_both_approaches_train_the_same_weights() -> None:
    short = replace(CONFIG, tasks=0, policy=PolicyConfig(epochs=2))
    one, other = (run(TOY, replace(short, learner=learner)).learned for learner in sorted(GNN_APPROACHES))
    assert isinstance(one, LearnedPolicy)
    assert isinstance(other, LearnedPolicy)
    assert all(
        np.array_equal(one.policy.weights[name], other.policy.weights[name]) for name in one.policy.weights
    )


def test_learning_timeout_is_recorded() -> None:
    result = run(TOY, replace(CONFIG, learning_timeout=1e-6))
    assert result.learned is None
    assert {record.outcome for record in result.evaluation.records} == {Outcome.NOT_LEARNED.value}
    assert (result.summary["operators"], result.summary["solved"]) == (0, 0)
    assert {"operators", "samplers", "policy"} <= set(result.summary["seconds"])
    demonstrations = result.collected.demonstrations
    with pytest.raises(LearningTimeoutError) as caught:
        find_approach("gnn-shooting").learn(TOY.vocabulary, demonstrations, LearningConfig(timeout=1e-6))
    assert caught.value.seconds["policy"] > 0.0


def test_demonstrations_are_checked() -> None:
    approach = find_approach("gnn-shooting")
    with pytest.raises(DemonstrationError, match="no demonstrations to learn from"):
        approach.learn(TOY.vocabulary, [])
    demonstrations = run(TOY, replace(CONFIG, learner="necessary", tasks=0)).collected.demonstrations
    with pytest.raises(DemonstrationError, match="not in the vocabulary"):
        approach.learn(make_environment("screws").vocabulary, demonstrations)


@pytest.mark.parametrize("options", [{"experiments": ExperimentConfig()}, {"oracle_samplers": True}])
def test_options_of_operator_learners_are_rejected(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="'gnn-shooting' is a policy"):
        replace(CONFIG, **options)  # type: ignore[arg-type]


def test_the_catalogue_has_all_approaches() -> None:
    assert find_approach("gnn-shooting") is GNN_APPROACHES["gnn-shooting"]
    assert find_approach("necessary") is BILEVEL_APPROACHES["necessary"]
    assert not set(BILEVEL_APPROACHES) & set(GNN_APPROACHES)
    with pytest.raises(UnknownNameError, match="Did you mean 'gnn-model-free'") as caught:
        find_approach("gnn-model-fre")
    assert set(APPROACHES) == set(caught.value.known)
    with pytest.raises(UnknownNameError, match="Did you mean 'gnn-shooting'"):
        RunConfig(learner="gnn-shoting")


def test_a_policy_of_an_unknown_approach(folder: RunFolder, result: RunResult, tmp_path: Path) -> None:
    stored = load_policy(folder.model)
    save_policy(tmp_path / "policy", replace(stored, approach="gnn-shoting"))
    with pytest.raises(ModelError, match="Did you mean 'gnn-shooting'"):
        load_solver(tmp_path / "policy", TOY, PlanningConfig())


def test_the_repr_is_short(result: RunResult) -> None:
    assert len(repr(result.learned)) < 120
