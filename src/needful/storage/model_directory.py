"""Model directories: `needful-model` version 1.

    model.json             vocabulary, operators, kinds of samplers, provenance
    samplers.safetensors   the arrays of the samplers, named "<operator's place>.<array>"
    domain.pddl            the operators for other planners; not read back
    evidence.json, climb.json, ...   further documents, if given

Loading a model executes no code that comes with it.

The parts of a directory that holds something learned: JSON, and arrays with their digest beside it.

Whatever is wrong with a part is a `ModelError` that says what to do.

Policy directories: `needful-policy` version 1.

    policy.json          which policy it is, vocabulary, provenance
    policy.safetensors   the weights of its network by name

Loading a policy executes no code that comes with it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from needful.core.model import PlanningModel, Sampler
from needful.core.operators import Operator
from needful.errors import ModelError
from needful.policies.catalogue import POLICIES, PolicyKind
from needful.policies.graph_policy import GraphPolicy
from needful.sampler_learning.sampling import sampler_from_arrays, sampler_to_arrays
from needful.storage.atomic import staged_directory, write_bytes, write_text
from needful.storage.json_fields import Field, JsonValue, Source, dump_json, parse_json
from needful.storage.output_kinds import MODEL
from needful.storage.vocabulary_json import (
    OPERATOR_FIELDS,
    VOCABULARY_FIELDS,
    operator_from_json,
    operator_to_json,
    vocabulary_from_json,
    vocabulary_to_json,
)


def check_directory(path: Path) -> None:
    """Raise unless there is a directory at a path."""
    if not os.path.isdir(path):
        what = "is a file" if os.path.exists(path) else "does not exist"
        raise ModelError(f"{path} {what}. Give a model directory, as written by `needful learn --out`.")


def read_model_file(file: Path) -> bytes:
    """Return the content of a file."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{file} cannot be read: {error.strerror}. The model is incomplete; learn it again."
        ) from None


def json_text(name: str, value: JsonValue) -> str:
    """Return the text of a JSON file."""
    try:
        return dump_json(value, indent=1) + "\n"
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{name} cannot be written as JSON: {error}. Use only numbers, strings, lists and mappings."
        ) from None


def digest_of(data: bytes) -> str:
    """Return what tells a content from any other: its SHA-256."""
    return hashlib.sha256(data).hexdigest()


def parse_arrays(data: bytes, digest: str, file: Path, described_in: str) -> dict[str, np.ndarray]:
    """Return arrays by name; raise unless the data have the digest that the description says."""
    if digest_of(data) != digest:
        raise ModelError(
            f"{file}: the content is not what {described_in} says (SHA-256). The file is damaged or "
            "belongs to another model; copy the whole directory again, or learn the model again."
        )
    try:
        return load_arrays(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{file}: not a safetensors file: {error}. Learn the model again.") from None


MODEL_FORMAT = "needful-model"
MODEL_VERSION = 1
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
        texts[_document_name(name)] = json_text(name, document)
    kinds, arrays = _samplers_to_arrays(model)
    tensors = save_arrays(arrays)
    description: dict[str, JsonValue] = {
        "format": MODEL_FORMAT,
        "version": MODEL_VERSION,
        **vocabulary_to_json(model.vocabulary),
        "operators": [
            {**operator_to_json(operator), "sampler": kinds.get(operator.name)}
            for operator in model.operators
        ],
        "samplers_sha256": digest_of(tensors),
        "provenance": provenance,
    }
    texts[MODEL_FILE] = json_text(MODEL_FILE, description)
    # Read back what will be written, so that no directory comes about that cannot be loaded.
    _parse_model(texts[MODEL_FILE].encode(), tensors, path)
    with staged_directory(path, MODEL, force) as staging:
        write_bytes(staging / SAMPLERS_FILE, tensors)
        for name, text in sorted(texts.items()):
            write_text(staging / name, text)


def load_model(path: str | Path) -> StoredModel:
    """Load a model directory; whatever is wrong with it is a `ModelError` that says what to do."""
    path = Path(path)
    check_directory(path)
    return _parse_model(read_model_file(path / MODEL_FILE), read_model_file(path / SAMPLERS_FILE), path)


def load_document(path: str | Path, name: str) -> Field:
    """Load one of the further documents of a model directory."""
    file = Path(path) / _document_name(name)
    return parse_json(read_model_file(file), Source(str(file), ModelError))


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


def _parse_model(description: bytes, tensors: bytes, path: Path) -> StoredModel:
    root = parse_json(description, Source(str(path / MODEL_FILE), ModelError))
    root.check_format(MODEL_FORMAT, MODEL_VERSION)
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
            with members["sampler"].locate_errors():
                kind = members["sampler"].record("kind")["kind"].text()
                samplers[operator.name] = sampler_from_arrays(kind, own, operator)
    if arrays:
        raise ModelError(
            f"{path / SAMPLERS_FILE}: the array {min(arrays)!r} belongs to no operator of {MODEL_FILE}. "
            "The two files are not of one model; learn it again."
        )
    with root.locate_errors():
        model = PlanningModel(names.vocabulary(), tuple(operators), samplers)
    return StoredModel(model, record["provenance"].as_dict())


POLICY_FORMAT = "needful-policy"
POLICY_VERSION = 1
POLICY_FILE = "policy.json"
WEIGHTS_FILE = "policy.safetensors"


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy, how it acts, and the record of how it came to be.

    The policy knows signatures only: bind it to a domain's vocabulary (`GraphPolicy.bound_to`)
    before it acts.
    """

    policy: GraphPolicy
    kind: PolicyKind
    provenance: Mapping[str, JsonValue]


def save_policy(path: str | Path, stored: StoredPolicy, force: bool = False) -> None:
    """Write a policy directory, whole or not at all; the same policy gives the same bytes."""
    path, policy = Path(path), stored.policy
    weights = save_arrays({name: np.ascontiguousarray(array) for name, array in policy.weights.items()})
    description: dict[str, JsonValue] = {
        "format": POLICY_FORMAT,
        "version": POLICY_VERSION,
        "policy": stored.kind.name,
        **vocabulary_to_json(policy.vocabulary),
        "weights_sha256": digest_of(weights),
        "provenance": stored.provenance,
    }
    text = json_text(POLICY_FILE, description)
    # Read back what will be written, so that no directory comes about that cannot be loaded.
    _parse_policy(text.encode(), weights, path)
    with staged_directory(path, MODEL, force) as staging:
        write_bytes(staging / WEIGHTS_FILE, weights)
        write_text(staging / POLICY_FILE, text)


def load_policy(path: str | Path) -> StoredPolicy:
    """Load a policy directory; whatever is wrong with it is a `ModelError` that says what to do."""
    path = Path(path)
    check_directory(path)
    return _parse_policy(read_model_file(path / POLICY_FILE), read_model_file(path / WEIGHTS_FILE), path)


def _parse_policy(description: bytes, weights: bytes, path: Path) -> StoredPolicy:
    root = parse_json(description, Source(str(path / POLICY_FILE), ModelError))
    root.check_format(POLICY_FORMAT, POLICY_VERSION)
    record = root.record("format", "version", "policy", *VOCABULARY_FIELDS, "weights_sha256", "provenance")
    kind = record["policy"].look_up("policy", POLICIES)
    vocabulary = vocabulary_from_json(record).vocabulary()
    arrays = parse_arrays(weights, record["weights_sha256"].text(), path / WEIGHTS_FILE, POLICY_FILE)
    with record["weights_sha256"].locate_errors():
        policy = GraphPolicy(vocabulary, arrays)
    return StoredPolicy(policy, kind, record["provenance"].as_dict())
