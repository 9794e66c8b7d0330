"""Load solvers and models from model directories, policy directories and run folders."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from needful.approaches.base import Solver
from needful.approaches.catalogue import GNN_APPROACHES
from needful.approaches.gnn import PolicySolver
from needful.approaches.learned_model import DROPPED, INVENTED, BilevelSolver
from needful.core.model import PlanningModel
from needful.envs.contract import Environment
from needful.errors import InvalidInputError, ModelError, UnknownNameError
from needful.planning.bilevel import PlanningConfig
from needful.storage.json_fields import Field, Source
from needful.storage.model_directory import MODEL_FILE, POLICY_FILE, StoredModel, load_model, load_policy


def load_solver(path: str | Path, environment: Environment, config: PlanningConfig) -> Solver:
    """Load a learned model or policy and return its solver for the tasks of an environment."""
    config = config.with_horizon(environment.horizon)
    if holds_policy(path):
        return _load_policy_solver(path, environment, config)
    stored = open_model(path)
    model = bind_model(stored.model, environment)
    missing = model.missing_samplers()
    if missing:
        raise ModelError(
            f"{path} cannot solve tasks: there are no samplers for {', '.join(missing)}. "
            "Learn it again from demonstrations with states."
        )
    return BilevelSolver(
        model, environment.execute, config, str(stored.provenance.get("learner", "unknown"))
    )


def _load_policy_solver(path: str | Path, environment: Environment, config: PlanningConfig) -> PolicySolver:
    directory = model_directory(path)
    stored = load_policy(directory)
    if stored.approach not in GNN_APPROACHES:
        raise ModelError(f"{directory}: {UnknownNameError('policy', stored.approach, GNN_APPROACHES)}")
    try:
        policy = stored.policy.bound_to(environment.vocabulary)
    except InvalidInputError as error:
        raise ModelError(f"{path} is not a policy for the domain {environment.name!r}. {error}") from error
    return PolicySolver(policy, GNN_APPROACHES[stored.approach], environment.execute, config)


def open_model(path: str | Path) -> StoredModel:
    """Load a model from a model directory or a run folder; raise if this folder holds a policy."""
    if holds_policy(path):
        raise ModelError(
            f"{path} holds a policy, which has no operators. "
            "Learn a model with an operator learner, such as `--learner necessary`."
        )
    return load_model(model_directory(path))


def bind_model(model: PlanningModel, environment: Environment) -> PlanningModel:
    """Return the model with its predicates and controllers replaced by those of the environment.

    Raises if a type, predicate or controller of the model is missing in the environment or differs there.
    """
    try:
        return model.bound_to(environment.vocabulary)
    except InvalidInputError as error:
        raise ModelError(f"The model does not fit the domain {environment.name!r}. {error}") from error


def dropped_preconditions(stored: StoredModel) -> dict[str, dict[str, int]]:
    """Return the preconditions that were dropped because experiments showed them to be unnecessary.

    The result maps the name of each operator to its dropped preconditions, and each of these to the number
    of experiments in which the operator succeeded without it.
    """
    field = Field(
        stored.provenance.get(DROPPED, {}), Source(MODEL_FILE, ModelError), f"provenance.{DROPPED}"
    )
    return {
        operator: {atom: count.integer() for atom, count in atoms.entries().items()}
        for operator, atoms in field.entries().items()
    }


def invention_reasons(stored: StoredModel) -> dict[str, str]:
    """Map the name of each invented predicate to the reason for its invention.

    The reason is a text such as "; invented because ...", which callers append to a description.
    """
    source = Source(MODEL_FILE, ModelError)
    field = Field(stored.provenance.get(INVENTED, {}), source, f"provenance.{INVENTED}")
    predicates = field.entries().get("predicates")
    if predicates is None:
        return {}
    return {
        name: f"; invented because {one.entries()['reason'].text()}"
        for name, one in predicates.entries().items()
        if "reason" in one.entries()
    }


def model_directory(path: str | Path) -> Path:
    """Return the model directory at `path`: the folder `model` of a run folder, otherwise `path` itself."""
    path = Path(path)
    inside = path / "model"
    own, nested = (
        any(os.path.exists(folder / file) for file in (MODEL_FILE, POLICY_FILE))
        for folder in (path, inside)
    )
    return inside if nested and not own else path


def holds_policy(path: str | Path) -> bool:
    """Return whether a directory or a run folder holds a policy instead of a model."""
    directory = model_directory(path)
    return os.path.exists(directory / POLICY_FILE) and not os.path.exists(directory / MODEL_FILE)


def model_digest(path: str | Path) -> str:
    """Return the SHA-256 digest of a learned model or policy: that of its model.json or policy.json.

    The arrays of samplers and policies are stored in another file, but model.json and policy.json contain
    the digest of these arrays. So a change of the arrays changes the result, too.
    """
    file = POLICY_FILE if holds_policy(path) else MODEL_FILE
    return hashlib.sha256((model_directory(path) / file).read_bytes()).hexdigest()
