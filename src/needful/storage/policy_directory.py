"""Policy directories: `needful-policy` version 1.

    policy.json          which policy it is, vocabulary, provenance
    policy.safetensors   the weights of its network by name

Loading a policy executes no code that comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save as save_arrays

from needful.errors import ModelError
from needful.policies.catalogue import POLICIES, PolicyKind
from needful.policies.graph_policy import GraphPolicy
from needful.storage.atomic import staged_directory, write_bytes, write_text
from needful.storage.directory_parts import check_directory, digest_of, json_part, parse_arrays, read_part
from needful.storage.json_fields import JsonValue, Source, parse_json
from needful.storage.output_kinds import MODEL
from needful.storage.vocabulary_json import VOCABULARY_FIELDS, vocabulary_from_json, vocabulary_to_json

FORMAT = "needful-policy"
VERSION = 1
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
        "format": FORMAT,
        "version": VERSION,
        "policy": stored.kind.name,
        **vocabulary_to_json(policy.vocabulary),
        "weights_sha256": digest_of(weights),
        "provenance": stored.provenance,
    }
    text = json_part(POLICY_FILE, description)
    # Read back what will be written, so that no directory comes about that cannot be loaded.
    _parse(text.encode(), weights, path)
    with staged_directory(path, MODEL, force) as staging:
        write_bytes(staging / WEIGHTS_FILE, weights)
        write_text(staging / POLICY_FILE, text)


def load_policy(path: str | Path) -> StoredPolicy:
    """Load a policy directory; whatever is wrong with it is a `ModelError` that says what to do."""
    path = Path(path)
    check_directory(path)
    return _parse(read_part(path / POLICY_FILE), read_part(path / WEIGHTS_FILE), path)


def _parse(description: bytes, weights: bytes, path: Path) -> StoredPolicy:
    root = parse_json(description, Source(str(path / POLICY_FILE), ModelError))
    root.check_format(FORMAT, VERSION)
    record = root.record("format", "version", "policy", *VOCABULARY_FIELDS, "weights_sha256", "provenance")
    kind = record["policy"].one_of("policy", POLICIES)
    vocabulary = vocabulary_from_json(record).vocabulary()
    arrays = parse_arrays(weights, record["weights_sha256"].text(), path / WEIGHTS_FILE, POLICY_FILE)
    with record["weights_sha256"].located():
        policy = GraphPolicy(vocabulary, arrays)
    return StoredPolicy(policy, kind, record["provenance"].plain())
