"""Model directories and policy directories, which learning writes and planning loads.

A model directory, `needful-model` version 1:

    model.json             vocabulary, operators, kinds of samplers, provenance
    samplers.safetensors   the arrays of the samplers, named "<index of the operator>.<array>"
    domain.pddl            the operators for other planners; needful does not read this file
    evidence.json, climb.json, ...   further documents, optional

A policy directory, `needful-policy` version 1:

    policy.json            name of the approach, vocabulary, provenance
    policy.safetensors     the weights of the policy's network by name

The JSON file contains the SHA-256 digest of the safetensors file. Loading a directory executes no code from
it. Errors are `ModelError`s that name the file and the remedy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from needful.core.model import PlanningModel, Sampler
from needful.core.operators import Operator
from needful.errors import ModelError
from needful.policies.graph_policy import GraphPolicy
from needful.sampler_learning.sampling import sampler_from_arrays, sampler_to_arrays
from needful.storage.json_fields import Field, JsonValue, Source, dump_json, parse_json
from needful.storage.outputs import MODEL, staged_directory, write_bytes, write_text
from needful.storage.vocabulary_json import (
    NEGATIVE_PRECONDITIONS,
    OPERATOR_FIELDS,
    VOCABULARY_FIELDS,
    operator_from_json,
    operator_to_json,
    vocabulary_from_json,
    vocabulary_to_json,
)

MODEL_FORMAT = "needful-model"
MODEL_VERSION = 1
MODEL_FILE = "model.json"
SAMPLERS_FILE = "samplers.safetensors"
PDDL_FILE = "domain.pddl"
POLICY_FORMAT = "needful-policy"
POLICY_VERSION = 1
POLICY_FILE = "policy.json"
WEIGHTS_FILE = "policy.safetensors"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model from a model directory, and its provenance (learner, configuration, seed, data).

    The directory holds no code, so predicates have no classifiers and controllers no initiation tests.
    Before planning, bind the model to a domain's vocabulary with `PlanningModel.bound_to`.
    """

    model: PlanningModel
    provenance: Mapping[str, JsonValue] = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """The content of a policy directory: a policy, the name of its approach, and its provenance.

    A directory holds no code, so predicates have no classifiers and controllers no initiation tests. Before
    the policy acts, bind the policy to a domain's vocabulary with `GraphPolicy.bound_to`.
    """

    policy: GraphPolicy = field(repr=False)
    approach: str
    provenance: Mapping[str, JsonValue] = field(repr=False)


def save_model(
    path: str | Path,
    model: PlanningModel,
    provenance: Mapping[str, JsonValue],
    domain_pddl: str,
    documents: Mapping[str, JsonValue] | None = None,
    force: bool = False,
) -> None:
    """Write a model directory atomically; the same arguments give the same bytes.

    Args:
        path: the directory; an existing one is replaced only with `force`.
        model: the model; its samplers must be learned ones.
        provenance: where the model comes from: learner, configuration, seed, data.
        domain_pddl: the content of domain.pddl.
        documents: further JSON documents by file name, such as "evidence.json".
        force: replace an existing model or policy directory.
    """
    path = Path(path)
    texts = {PDDL_FILE: domain_pddl}
    for name, document in (documents or {}).items():
        texts[_document_name(name)] = _json_text(name, document)
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
        "samplers_sha256": _sha256(tensors),
        "provenance": provenance,
    }
    texts[MODEL_FILE] = _json_text(MODEL_FILE, description)
    # Parse the data before it is written, so that every directory on disk can be loaded.
    _parse_model(texts[MODEL_FILE].encode(), tensors, path)
    with staged_directory(path, MODEL, force) as staging:
        write_bytes(staging / SAMPLERS_FILE, tensors)
        for name, text in sorted(texts.items()):
            write_text(staging / name, text)


def load_model(path: str | Path) -> StoredModel:
    """Load a model directory; raise `ModelError` if it is incomplete or damaged."""
    path = Path(path)
    _check_directory(path)
    return _parse_model(_read_file(path / MODEL_FILE), _read_file(path / SAMPLERS_FILE), path)


def load_document(path: str | Path, name: str) -> Field:
    """Load an optional JSON document of a model directory, such as "evidence.json"."""
    file = Path(path) / _document_name(name)
    return parse_json(_read_file(file), Source(str(file), ModelError))


def save_policy(path: str | Path, stored: StoredPolicy, force: bool = False) -> None:
    """Write a policy directory atomically; the same policy gives the same bytes."""
    path, policy = Path(path), stored.policy
    weights = save_arrays({name: np.ascontiguousarray(array) for name, array in policy.weights.items()})
    description: dict[str, JsonValue] = {
        "format": POLICY_FORMAT,
        "version": POLICY_VERSION,
        "policy": stored.approach,
        **vocabulary_to_json(policy.vocabulary),
        "weights_sha256": _sha256(weights),
        "provenance": stored.provenance,
    }
    text = _json_text(POLICY_FILE, description)
    # Parse the data before it is written, so that every directory on disk can be loaded.
    _parse_policy(text.encode(), weights, path)
    with staged_directory(path, MODEL, force) as staging:
        write_bytes(staging / WEIGHTS_FILE, weights)
        write_text(staging / POLICY_FILE, text)


def load_policy(path: str | Path) -> StoredPolicy:
    """Load a policy directory; raise `ModelError` if it is incomplete or damaged."""
    path = Path(path)
    _check_directory(path)
    return _parse_policy(_read_file(path / POLICY_FILE), _read_file(path / WEIGHTS_FILE), path)


def _samplers_to_arrays(
    model: PlanningModel,
) -> tuple[dict[str, dict[str, JsonValue]], dict[str, np.ndarray]]:
    """Return what model.json and samplers.safetensors store about the samplers of a model.

    The first result maps the names of operators to their `sampler` fields in model.json, such as
    `{"kind": "neural"}`. The second result maps the names of arrays in samplers.safetensors to the arrays.
    """
    kinds: dict[str, dict[str, JsonValue]] = {}
    arrays: dict[str, np.ndarray] = {}
    for index, operator in enumerate(model.operators):
        if operator.name in model.samplers:
            kind, sampler_arrays = sampler_to_arrays(model.samplers[operator.name])
            kinds[operator.name] = {"kind": kind}
            arrays |= {f"{index}.{name}": array for name, array in sampler_arrays.items()}
    return kinds, arrays


def _parse_model(description: bytes, tensors: bytes, path: Path) -> StoredModel:
    root = parse_json(description, Source(str(path / MODEL_FILE), ModelError))
    root.check_format(MODEL_FORMAT, MODEL_VERSION)
    record = root.record(
        "format", "version", *VOCABULARY_FIELDS, "operators", "samplers_sha256", "provenance"
    )
    index = vocabulary_from_json(record)
    arrays = _parse_arrays(tensors, record["samplers_sha256"].text(), path / SAMPLERS_FILE, MODEL_FILE)
    operators: list[Operator] = []
    samplers: dict[str, Sampler] = {}
    for number, item in enumerate(record["operators"].items()):
        members = item.record(*OPERATOR_FIELDS, "sampler", optional=[NEGATIVE_PRECONDITIONS])
        operator = operator_from_json(item, members, index)
        operators.append(operator)
        if members["sampler"].value is not None:
            prefix = f"{number}."
            names = [name for name in arrays if name.startswith(prefix)]
            sampler_arrays = {name.removeprefix(prefix): arrays.pop(name) for name in names}
            with members["sampler"].locate_errors():
                kind = members["sampler"].record("kind")["kind"].text()
                samplers[operator.name] = sampler_from_arrays(kind, sampler_arrays, operator)
    if arrays:
        raise ModelError(
            f"{path / SAMPLERS_FILE}: the array {min(arrays)!r} belongs to no operator of {MODEL_FILE}. "
            "The two files belong to different models; learn the model again."
        )
    with root.locate_errors():
        model = PlanningModel(index.to_vocabulary(), tuple(operators), samplers)
    return StoredModel(model, record["provenance"].as_dict())


def _parse_policy(description: bytes, weights: bytes, path: Path) -> StoredPolicy:
    root = parse_json(description, Source(str(path / POLICY_FILE), ModelError))
    root.check_format(POLICY_FORMAT, POLICY_VERSION)
    record = root.record("format", "version", "policy", *VOCABULARY_FIELDS, "weights_sha256", "provenance")
    vocabulary = vocabulary_from_json(record).to_vocabulary()
    arrays = _parse_arrays(weights, record["weights_sha256"].text(), path / WEIGHTS_FILE, POLICY_FILE)
    with record["weights_sha256"].locate_errors():
        policy = GraphPolicy(vocabulary, arrays)
    return StoredPolicy(policy, record["policy"].text(), record["provenance"].as_dict())


def _document_name(name: str) -> str:
    stem = name.removesuffix(".json")
    if not stem.isidentifier() or name in (stem, MODEL_FILE):
        raise ModelError(f"A document cannot be named {name!r}. Use a name such as 'evidence.json'.")
    return name


def _check_directory(path: Path) -> None:
    """Raise `ModelError` unless the path is a directory."""
    if not os.path.isdir(path):
        problem = "is a file" if os.path.exists(path) else "does not exist"
        raise ModelError(f"{path} {problem}. Give a model directory, as written by `needful learn --out`.")


def _read_file(file: Path) -> bytes:
    """Return the content of a file; raise `ModelError` if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{file} cannot be read: {error.strerror}. The model is incomplete; learn it again."
        ) from None


def _json_text(name: str, value: JsonValue) -> str:
    """Return a JSON value as the text of the file `name`; raise `ModelError` if it has no JSON form."""
    try:
        return dump_json(value, indent=1) + "\n"
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{name} cannot be written as JSON: {error}. Use only numbers, strings, lists and mappings."
        ) from None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _parse_arrays(data: bytes, digest: str, file: Path, described_in: str) -> dict[str, np.ndarray]:
    """Return the arrays in the data of a safetensors file, by name.

    Raises unless the data has the given SHA-256 digest. `described_in` is the name of the JSON file that
    contains the digest, for error messages.
    """
    if _sha256(data) != digest:
        raise ModelError(
            f"{file}: the SHA-256 of the content differs from the one in {described_in}. The file is "
            "damaged or belongs to another model; copy the whole directory again, or learn the model again."
        )
    try:
        return load_arrays(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{file}: not a safetensors file: {error}. Learn the model again.") from None
