"""Learned models on disk: the model, its PDDL, the evidence that explains it, and the way to it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from needful.core.model import PlanningModel
from needful.envs.contract import Environment
from needful.errors import InvalidInputError, ModelError
from needful.evaluation.learning import LearnedModel
from needful.planning.pddl.writer import write_pddl
from needful.storage.evidence import (
    CLIMB_FILE,
    EVIDENCE_FILE,
    RecordedClimb,
    climb_to_json,
    evidence_to_json,
)
from needful.storage.json_fields import Field, JsonValue, Source
from needful.storage.model_directory import MODEL_FILE, POLICY_FILE, StoredModel, load_model, save_model

DROPPED = "dropped_preconditions"


def save_learned_model(
    path: str | Path, learned: LearnedModel, provenance: Mapping[str, JsonValue], force: bool = False
) -> None:
    """Write a model directory; the same model and provenance give the same bytes."""
    model = learned.model
    save_model(
        path,
        model,
        {
            **provenance,
            "transitions": learned.operators.transitions,
            "coverage": learned.operators.coverage,
            DROPPED: _dropped_to_json(learned),
        },
        write_pddl(model.vocabulary, model.operators).domain,
        {
            EVIDENCE_FILE: evidence_to_json(learned.evidence, learned.demonstrations),
            CLIMB_FILE: climb_to_json(
                RecordedClimb(learned.operators.transitions, learned.operators.steps)
            ),
        },
        force,
    )


def _dropped_to_json(learned: LearnedModel) -> dict[str, JsonValue]:
    names = sorted({one.operator for one in learned.dropped})
    return {
        name: {str(one.atom): one.experiments for one in learned.dropped if one.operator == name}
        for name in names
    }


def dropped_preconditions(stored: StoredModel) -> dict[str, dict[str, int]]:
    """Return the preconditions that experiments did without, by operator, with how many there were."""
    field = Field(
        stored.provenance.get(DROPPED, {}), Source(MODEL_FILE, ModelError), f"provenance.{DROPPED}"
    )
    return {
        operator: {atom: count.integer() for atom, count in atoms.entries().items()}
        for operator, atoms in field.entries().items()
    }


def model_directory(path: str | Path) -> Path:
    """Return the model directory of a path, which may also be a run folder that holds one."""
    path = Path(path)
    inside = path / "model"
    own, nested = (
        any(os.path.exists(folder / file) for file in (MODEL_FILE, POLICY_FILE))
        for folder in (path, inside)
    )
    return inside if nested and not own else path


def holds_policy(path: str | Path) -> bool:
    """Return whether a directory, or a run folder, holds a policy and not a model."""
    directory = model_directory(path)
    return os.path.exists(directory / POLICY_FILE) and not os.path.exists(directory / MODEL_FILE)


def model_digest(path: str | Path) -> str:
    """Return what tells a model or a policy from any other: its JSON holds the digest of its arrays."""
    file = POLICY_FILE if holds_policy(path) else MODEL_FILE
    return hashlib.sha256((model_directory(path) / file).read_bytes()).hexdigest()


def open_model(path: str | Path) -> StoredModel:
    """Load a model from a model directory or a run folder; a policy is none."""
    if holds_policy(path):
        raise ModelError(
            f"{path} holds a policy, which has no operators. "
            "Learn a model with an operator learner, such as `--learner necessary`."
        )
    return load_model(model_directory(path))


def open_model_for(path: str | Path, environment: Environment) -> StoredModel:
    """Load a model that can plan in an environment: bound to it, and with all samplers it needs."""
    stored = open_model(path)
    bound = bind_model(stored.model, environment)
    missing = bound.missing_samplers()
    if missing:
        raise ModelError(
            f"{path} cannot solve tasks: there are no samplers for {', '.join(missing)}. "
            "Learn it again from demonstrations with states."
        )
    return replace(stored, model=bound)


def bind_model(model: PlanningModel, environment: Environment) -> PlanningModel:
    """Return a model over an environment's own vocabulary; raise if it is a model of another one."""
    try:
        return model.bound_to(environment.vocabulary)
    except InvalidInputError as error:
        raise ModelError(f"This is no model of the domain {environment.name!r}. {error}") from error
