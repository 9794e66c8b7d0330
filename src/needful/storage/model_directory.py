"""Model directories: `needful-model` version 1.

    model.json             vocabulary, operators, kinds of samplers, provenance
    samplers.safetensors   the arrays of the samplers, named "<operator's place>.<array>"
    domain.pddl            the operators for other planners; not read back
    evidence.json, climb.json, ...   further documents, if given

Loading a model executes no code that comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save as save_arrays

from needful.core.model import PlanningModel
from needful.core.operators import Operator
from needful.core.samplers import Sampler
from needful.errors import ModelError
from needful.sampler_learning.sampler_arrays import sampler_from_arrays, sampler_to_arrays
from needful.storage.atomic import staged_directory, write_bytes, write_text
from needful.storage.directory_parts import check_directory, digest_of, json_part, parse_arrays, read_part
from needful.storage.json_fields import Field, JsonValue, Source, parse_json
from needful.storage.operators_json import OPERATOR_FIELDS, operator_from_json, operator_to_json
from needful.storage.output_kinds import MODEL
from needful.storage.vocabulary_json import VOCABULARY_FIELDS, vocabulary_from_json, vocabulary_to_json

FORMAT = "needful-model"
VERSION = 1
MODEL_FILE = "model.json"
SAMPLERS_FILE = "samplers.safetensors"
PDDL_FILE = "domain.pddl"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model and the record of how it came to be.

    The model knows signatures only: bind it to a domain's vocabulary (`PlanningModel.bound_to`)
    before planning.
    """

    model: PlanningModel
    provenance: Mapping[str, JsonValue]


def save_model(
    path: str | Path,
    model: PlanningModel,
    provenance: Mapping[str, JsonValue],
    domain_pddl: str,
    documents: Mapping[str, JsonValue] | None = None,
    force: bool = False,
) -> None:
    """Write a model directory, whole or not at all; the same arguments give the same bytes.

    Args:
        path: the directory; it must not exist unless `force` is given.
        model: the model; its samplers must be learnt ones.
        provenance: how the model came to be, such as learner, its configuration, seed, data.
        domain_pddl: the content of domain.pddl.
        documents: further JSON documents by file name, such as "evidence.json".
        force: replace a model or policy directory at the path.
    """
    path = Path(path)
    texts = {PDDL_FILE: domain_pddl}
    for name, document in (documents or {}).items():
        texts[_document_name(name)] = json_part(name, document)
    kinds, arrays = _samplers_to_arrays(model)
    tensors = save_arrays(arrays)
    description: dict[str, JsonValue] = {
        "format": FORMAT,
        "version": VERSION,
        **vocabulary_to_json(model.vocabulary),
        "operators": [
            {**operator_to_json(operator), "sampler": kinds.get(operator.name)}
            for operator in model.operators
        ],
        "samplers_sha256": digest_of(tensors),
        "provenance": provenance,
    }
    texts[MODEL_FILE] = json_part(MODEL_FILE, description)
    # Read back what will be written, so that no directory comes about that cannot be loaded.
    _parse(texts[MODEL_FILE].encode(), tensors, path)
    with staged_directory(path, MODEL, force) as staging:
        write_bytes(staging / SAMPLERS_FILE, tensors)
        for name, text in sorted(texts.items()):
            write_text(staging / name, text)


def load_model(path: str | Path) -> StoredModel:
    """Load a model directory; whatever is wrong with it is a `ModelError` that says what to do."""
    path = Path(path)
    check_directory(path)
    return _parse(read_part(path / MODEL_FILE), read_part(path / SAMPLERS_FILE), path)


def load_document(path: str | Path, name: str) -> Field:
    """Load one of the further documents of a model directory."""
    file = Path(path) / _document_name(name)
    return parse_json(read_part(file), Source(str(file), ModelError))


def _document_name(name: str) -> str:
    stem = name.removesuffix(".json")
    if not stem.isidentifier() or name in (stem, MODEL_FILE):
        raise ModelError(f"A document cannot be named {name!r}. Use a name such as 'evidence.json'.")
    return name


def _samplers_to_arrays(
    model: PlanningModel,
) -> tuple[dict[str, dict[str, JsonValue]], dict[str, np.ndarray]]:
    """Return what model.json says about each operator's sampler, and all arrays."""
    kinds: dict[str, dict[str, JsonValue]] = {}
    arrays: dict[str, np.ndarray] = {}
    for place, operator in enumerate(model.operators):
        if operator.name in model.samplers:
            kind, own = sampler_to_arrays(model.samplers[operator.name])
            kinds[operator.name] = {"kind": kind}
            arrays |= {f"{place}.{name}": array for name, array in own.items()}
    return kinds, arrays


def _parse(description: bytes, tensors: bytes, path: Path) -> StoredModel:
    root = parse_json(description, Source(str(path / MODEL_FILE), ModelError))
    root.check_format(FORMAT, VERSION)
    record = root.record(
        "format", "version", *VOCABULARY_FIELDS, "operators", "samplers_sha256", "provenance"
    )
    names = vocabulary_from_json(record)
    arrays = parse_arrays(tensors, record["samplers_sha256"].text(), path / SAMPLERS_FILE, MODEL_FILE)
    operators: list[Operator] = []
    samplers: dict[str, Sampler] = {}
    for place, field in enumerate(record["operators"].items()):
        members = field.record(*OPERATOR_FIELDS, "sampler")
        operator = operator_from_json(field, members, names)
        operators.append(operator)
        if members["sampler"].value is not None:
            own = {name: arrays.pop(name) for name in list(arrays) if name.startswith(f"{place}.")}
            own = {name.removeprefix(f"{place}."): array for name, array in own.items()}
            with members["sampler"].located():
                kind = members["sampler"].record("kind")["kind"].text()
                samplers[operator.name] = sampler_from_arrays(kind, own, operator)
    if arrays:
        raise ModelError(
            f"{path / SAMPLERS_FILE}: the array {min(arrays)!r} belongs to no operator of {MODEL_FILE}. "
            "The two files are not of one model; learn it again."
        )
    with root.located():
        model = PlanningModel(names.vocabulary(), tuple(operators), samplers)
    return StoredModel(model, record["provenance"].plain())
