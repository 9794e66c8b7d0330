"""What was learned on disk, whether it is a model or a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from needful.envs.contract import Environment
from needful.errors import InvalidInputError, ModelError
from needful.evaluation.learning import LearnedModel
from needful.evaluation.model_files import holds_policy, model_directory, open_model_for, save_learned_model
from needful.evaluation.policy_learning import LearnedPolicy
from needful.evaluation.solvers import Solver, bilevel_solver, policy_solver
from needful.planning.bilevel import PlanningConfig
from needful.storage.json_fields import JsonValue
from needful.storage.model_directory import StoredPolicy, load_policy, save_policy


def save_learned(
    path: str | Path,
    learned: LearnedModel | LearnedPolicy,
    provenance: Mapping[str, JsonValue],
    force: bool = False,
) -> None:
    """Write a model directory or a policy directory."""
    if isinstance(learned, LearnedPolicy):
        origin = {**provenance, "transitions": learned.transitions}
        save_policy(path, StoredPolicy(learned.policy, learned.kind, origin), force)
    else:
        save_learned_model(path, learned, provenance, force)


def open_policy_for(path: str | Path, environment: Environment) -> StoredPolicy:
    """Load a policy that can act in an environment: bound to it."""
    stored = load_policy(model_directory(path))
    try:
        policy = stored.policy.bound_to(environment.vocabulary)
    except InvalidInputError as error:
        raise ModelError(f"{path} is no policy of the domain {environment.name!r}. {error}") from error
    return replace(stored, policy=policy)


@dataclass(frozen=True, slots=True)
class StoredSolver:
    """What was learned, ready to solve tasks; `learner` and `operators` are for summaries."""

    solve: Solver
    learner: str
    operators: int


def open_solver(path: str | Path, environment: Environment, config: PlanningConfig) -> StoredSolver:
    """Load a model or a policy that can solve an environment's tasks."""
    if holds_policy(path):
        policy = open_policy_for(path, environment)
        solve = policy_solver(policy.kind, policy.policy, environment.execute, config)
        return StoredSolver(solve, policy.kind.name, 0)
    model = open_model_for(path, environment)
    return StoredSolver(
        bilevel_solver(model.model, environment.execute, config),
        str(model.provenance.get("learner", "unknown")),
        len(model.model.operators),
    )
