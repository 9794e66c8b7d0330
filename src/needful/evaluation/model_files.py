"""Learned models on disk: the model, its PDDL, and the evidence that explains it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from needful.evaluation.learning import LearnedModel
from needful.planning.pddl import write_pddl
from needful.storage.evidence import EVIDENCE_FILE, evidence_to_json
from needful.storage.json_fields import JsonValue
from needful.storage.model_directory import MODEL_FILE, StoredModel, load_model, save_model


def save_learned_model(
    path: Path, learned: LearnedModel, provenance: Mapping[str, JsonValue], force: bool = False
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
        },
        write_pddl(model.vocabulary, model.operators).domain,
        {EVIDENCE_FILE: evidence_to_json(learned.evidence, learned.demonstrations)},
        force,
    )


def model_directory(path: Path) -> Path:
    """Return the model directory of a path, which may also be a run folder that holds one."""
    inside = path / "model"
    return inside if not (path / MODEL_FILE).exists() and (inside / MODEL_FILE).exists() else path


def open_model(path: Path) -> StoredModel:
    """Load a model from a model directory or a run folder."""
    return load_model(model_directory(path))
