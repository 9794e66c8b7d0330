"""Policy directories: round trips, and errors that locate damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.errors import ModelError, OutputExistsError
from needful.policies.graph_network import weight_shapes
from needful.policies.graph_policy import GraphPolicy, network_size
from needful.storage.model_directory import (
    POLICY_FILE,
    WEIGHTS_FILE,
    StoredPolicy,
    load_policy,
    save_policy,
)

CUP = Type("cup", ("x",))
VOCABULARY = Vocabulary(
    (CUP,), (Predicate("On", (CUP, CUP)),), (Controller("Push", (CUP,), low=(0.0,), high=(1.0,)),)
)


def stored() -> StoredPolicy:
    rng = np.random.default_rng(0)
    shapes = weight_shapes(network_size(VOCABULARY))
    # A transposed array has the same content in another memory layout.
    weights = {name: rng.normal(size=shape[::-1]).astype(np.float32).T for name, shape in shapes.items()}
    return StoredPolicy(GraphPolicy(VOCABULARY, weights), "gnn-shooting", {"seed": 3})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_policy(tmp_path / "policy", stored())
    return tmp_path / "policy"


def test_policies_survive_the_round_trip(folder: Path, tmp_path: Path) -> None:
    loaded, original = load_policy(folder), stored()
    assert loaded.policy.vocabulary == VOCABULARY
    assert (loaded.approach, loaded.provenance) == (original.approach, {"seed": 3})
    assert loaded.policy.weights.keys() == original.policy.weights.keys()
    for name, weight in original.policy.weights.items():
        np.testing.assert_array_equal(loaded.policy.weights[name], weight)
    save_policy(tmp_path / "again", loaded)
    for file in (POLICY_FILE, WEIGHTS_FILE):
        assert (tmp_path / "again" / file).read_bytes() == (folder / file).read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == [POLICY_FILE, WEIGHTS_FILE]


def test_existing_policies_are_only_replaced_with_force(folder: Path) -> None:
    with pytest.raises(OutputExistsError):
        save_policy(folder, stored())
    save_policy(folder, stored(), force=True)


def test_invalid_policies_are_not_written(tmp_path: Path) -> None:
    odd = StoredPolicy(stored().policy, stored().approach, {"seed": {1, 2}})  # type: ignore[dict-item]
    with pytest.raises(ModelError, match="cannot be written as JSON"):
        save_policy(tmp_path / "policy", odd)
    assert list(tmp_path.iterdir()) == []


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    file = folder / POLICY_FILE
    description = json.loads(file.read_text())
    edit(description)
    file.write_text(json.dumps(description))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d.update(format="needful-model"), 'the field "format" is not "needful-policy"'),
        (lambda d: d.update(version=2), "version 2 of 'needful-policy' is not known"),
        (lambda d: d.update(policy=3), "policy"),
        (lambda d: d.pop("controllers"), "the field 'controllers' is missing"),
        (lambda d: d.update(extra=1), "unknown field 'extra'"),
        (lambda d: d.update(weights_sha256="0" * 64), r"SHA-256 .* differs .* policy\.json"),
        (lambda d: d["types"][0]["features"].append("y"), r"from_node' has shape \[2, 16\], not \[3, 16\]"),
        (lambda d: d.update(controllers=[]), "at least one controller"),
        (lambda d: d["predicates"][0]["types"].append("cup"), "cannot encode On"),
    ],
)
def test_bad_descriptions(folder: Path, edit: Callable[[dict[str, Any]], object], message: str) -> None:
    change(folder, edit)
    with pytest.raises(ModelError, match=message):
        load_policy(folder)


def write_weights(folder: Path, data: bytes) -> None:
    (folder / WEIGHTS_FILE).write_bytes(data)
    change(folder, lambda d: d.update(weights_sha256=hashlib.sha256(data).hexdigest()))


def test_bad_weights(folder: Path) -> None:
    arrays = load((folder / WEIGHTS_FILE).read_bytes())
    name = min(arrays)
    write_weights(folder, save({other: array for other, array in arrays.items() if other != name}))
    with pytest.raises(ModelError, match=f"The weight '{name}' is missing"):
        load_policy(folder)
    write_weights(folder, save(arrays | {name: np.full_like(arrays[name], np.inf)}))
    with pytest.raises(ModelError, match="finite 32-bit floats"):
        load_policy(folder)
    write_weights(folder, b"nonsense")
    with pytest.raises(ModelError, match="not a safetensors file"):
        load_policy(folder)


def test_incomplete_directories(folder: Path, tmp_path: Path) -> None:
    (folder / WEIGHTS_FILE).unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        load_policy(folder)
    with pytest.raises(ModelError, match="does not exist"):
        load_policy(tmp_path / "absent")
