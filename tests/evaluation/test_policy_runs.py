"""Runs with policies: the same job as with operators, and the same results but for the operators."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fake_clock import FakeClock
from needful.core.deadline import Deadline
from needful.core.plans import Outcome
from needful.envs.catalogue import make_environment
from needful.errors import (
    DemonstrationError,
    InvalidInputError,
    LearningTimeoutError,
    ModelError,
    UnknownNameError,
)
from needful.evaluation.learned_files import open_policy_for, open_solver
from needful.evaluation.model_files import holds_policy, model_digest, open_model, open_model_for
from needful.evaluation.pipeline import RunConfig, RunResult, run
from needful.evaluation.policy_learning import LearnedPolicy, find_method, learn_policy
from needful.evaluation.run_folder import RunFolder
from needful.evaluation.solvers import policy_solver
from needful.operator_learning.catalogue import LEARNERS
from needful.operator_learning.experiments import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.policies.catalogue import POLICIES
from needful.policies.graph_policy import PolicyConfig
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
    assert result.learned.kind is POLICIES["gnn-shooting"]
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


def test_what_was_learned_solves_the_same_from_disk(result: RunResult, folder: RunFolder) -> None:
    assert sorted(path.name for path in folder.model.iterdir()) == ["policy.json", "policy.safetensors"]
    stored = open_policy_for(folder.path, TOY)
    assert isinstance(result.learned, LearnedPolicy)
    for name, weight in result.learned.policy.weights.items():
        np.testing.assert_array_equal(stored.policy.weights[name], weight)
    assert stored.provenance["domain"] == "toy"
    assert stored.provenance["policy_config"]["epochs"] == 400  # type: ignore[index, call-overload]
    solver = open_solver(folder.path, TOY, PlanningConfig())
    assert (solver.learner, solver.operators) == ("gnn-shooting", 0)
    assert result.evaluation.example is not None
    task, found = result.evaluation.example
    assert solver.solve(task, 0).solved
    assert found.expected_atoms(task.goal) == (task.goal,) * 4
    assert found.steps == found.actions


def test_a_policy_is_no_model(folder: RunFolder, result: RunResult, tmp_path: Path) -> None:
    assert holds_policy(folder.path)
    assert holds_policy(folder.model)
    assert not holds_policy(tmp_path)
    with pytest.raises(ModelError, match=r"holds a policy, which has no operators\. Learn a model"):
        open_model(folder.path)
    with pytest.raises(ModelError, match="holds a policy"):
        open_model_for(folder.model, TOY)
    assert len(model_digest(folder.path)) == 64


def test_policies_must_fit_the_environment(folder: RunFolder, result: RunResult) -> None:
    screws = make_environment("screws")
    with pytest.raises(ModelError, match=r"no policy of the domain 'screws'\. Unknown type of the policy"):
        open_solver(folder.path, screws, PlanningConfig())


def test_models_are_opened_like_policies(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    run(TOY, RunConfig(demos=4, tasks=1), folder)
    solver = open_solver(folder.path, TOY, PlanningConfig())
    assert (solver.learner, solver.operators) == ("necessary", 3)
    assert solver.solve(TOY.tasks("test", 1, 0)[0], 0).solved


def test_without_a_model_of_the_world_the_world_decides(result: RunResult) -> None:
    assert isinstance(result.learned, LearnedPolicy)
    policy, kind, task = result.learned.policy, POLICIES["gnn-model-free"], TOY.tasks("test", 1, 0)[0]
    # Nothing happens the first two times; the policy sees it and tries again.
    for idle, actions in (((), 3), ((1, 2), 5)):
        world = Unreliable(idle)
        found = policy_solver(kind, policy, world.execute, PlanningConfig())(task, 0)
        assert (found.solved, len(found.actions), world.executions) == (True, actions, actions)
        assert found.statistics.samples == 0


def test_the_same_weights_act_either_way() -> None:
    short = replace(CONFIG, tasks=0, policy=PolicyConfig(epochs=2))
    one, other = (run(TOY, replace(short, learner=learner)).learned for learner in sorted(POLICIES))
    assert isinstance(one, LearnedPolicy)
    assert isinstance(other, LearnedPolicy)
    assert all(
        np.array_equal(one.policy.weights[name], other.policy.weights[name]) for name in one.policy.weights
    )


def test_a_time_limit_leaves_records_of_what_was_not_learned() -> None:
    result = run(TOY, replace(CONFIG, learning_timeout=1e-6))
    assert result.learned is None
    assert {record.outcome for record in result.evaluation.records} == {Outcome.NOT_LEARNED.value}
    assert (result.summary["operators"], result.summary["solved"]) == (0, 0)
    assert {"operators", "samplers", "policy"} <= set(result.summary["seconds"])
    demonstrations = result.collected.demonstrations
    with pytest.raises(LearningTimeoutError) as caught:
        learn_policy(
            TOY.vocabulary,
            demonstrations,
            POLICIES["gnn-shooting"],
            deadline=Deadline.after(2.0, FakeClock(tick=1.0)),
        )
    assert caught.value.seconds["policy"] > 0.0


def test_demonstrations_are_checked() -> None:
    kind = POLICIES["gnn-shooting"]
    with pytest.raises(DemonstrationError, match="no demonstrations to learn from"):
        learn_policy(TOY.vocabulary, [], kind)
    demonstrations = run(TOY, replace(CONFIG, learner="necessary", tasks=0)).collected.demonstrations
    with pytest.raises(DemonstrationError, match="not in the vocabulary"):
        learn_policy(make_environment("screws").vocabulary, demonstrations, kind)


@pytest.mark.parametrize("options", [{"experiments": ExperimentConfig()}, {"oracle_samplers": True}])
def test_what_only_operators_have_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="'gnn-shooting' is a policy"):
        replace(CONFIG, **options)  # type: ignore[arg-type]


def test_one_finder_for_learners_and_policies() -> None:
    assert find_method("gnn-shooting") is POLICIES["gnn-shooting"]
    assert find_method("necessary") is LEARNERS["necessary"]
    assert not set(LEARNERS) & set(POLICIES)
    with pytest.raises(UnknownNameError, match="Did you mean 'gnn-model-free'") as caught:
        find_method("gnn-model-fre")
    assert {*LEARNERS, *POLICIES} == set(caught.value.known)
    with pytest.raises(UnknownNameError, match="Did you mean 'gnn-shooting'"):
        RunConfig(learner="gnn-shoting")
