"""Model directories: round trips, reproducible bytes, and errors that locate damage."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from handmade_samplers import random_sampler
from json_damage import container_of, positions
from needful.core.model import PlanningModel, Vocabulary
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.errors import InvalidInputError, ModelError, OutputError
from needful.sampler_learning.sampling import NO_ANCHOR, AnchoredSampler
from needful.storage.model_directory import load_document, load_model, save_model
from toy_world import BALL, GRASP, HAND_FREE, HOLDING, MOVE_TO, NEAR, ROBOT, VOCABULARY

R, B = Variable("?r", ROBOT), Variable("?b", BALL)
MOVE = Operator(
    "Move",
    (R, B),
    frozenset({HAND_FREE.lifted(R)}),
    frozenset({NEAR.lifted(R, B), HAND_FREE.lifted(R)}),
    frozenset(),
    frozenset({DeletePattern(NEAR, (R, Wildcard(BALL))), DeletePattern(HOLDING, (Wildcard(ROBOT), B))}),
    MOVE_TO,
    (R, B),
)
AGAIN = Operator(
    "Again", (R, B), frozenset(), frozenset({NEAR.lifted(R, B)}), frozenset(), frozenset(), MOVE_TO, (R, B)
)
TAKE = Operator(
    "Take",
    (R, B),
    frozenset({NEAR.lifted(R, B)}),
    frozenset({HOLDING.lifted(R, B)}),
    frozenset({HAND_FREE.lifted(R)}),
    frozenset(),
    GRASP,
    (R, B),
    negative_preconditions=frozenset({HOLDING.lifted(R, B)}),
)
PROVENANCE = {"learner": {"name": "necessary", "lambda": 0.5}, "seed": 3}
ROBBY, BALL_0 = ROBOT("robby"), BALL("ball0")
STATE = State({ROBBY: (0.5,), BALL_0: (1.0, 0.0, 0.0)})


def toy_model() -> PlanningModel:
    samplers = {
        "Move": random_sampler(MOVE, seed=1),
        "Again": AnchoredSampler(AGAIN, np.array([NO_ANCHOR]), np.array([0.1])),
    }
    return PlanningModel(VOCABULARY, (MOVE, AGAIN, TAKE), samplers)


def save_toy(path: Path, force: bool = False) -> None:
    save_model(path, toy_model(), PROVENANCE, "(define)", {"evidence.json": {"Move": [1, 2]}}, force)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_toy(tmp_path / "model")
    return tmp_path / "model"


def test_models_survive_the_round_trip(saved: Path) -> None:
    stored = load_model(saved)
    model = toy_model()
    assert stored.model.vocabulary == model.vocabulary
    assert stored.model.operators == model.operators
    assert stored.provenance == PROVENANCE
    assert list(stored.model.samplers) == ["Move", "Again"]
    for name, sampler in model.samplers.items():
        one, other = np.random.default_rng(0), np.random.default_rng(0)
        again = stored.model.samplers[name]
        assert again.sample(STATE, (ROBBY, BALL_0), one) == sampler.sample(STATE, (ROBBY, BALL_0), other)


def test_a_loaded_model_can_be_bound_to_its_domain(saved: Path) -> None:
    bound = load_model(saved).model.bound_to(VOCABULARY)
    assert bound.operators == toy_model().operators
    assert all(atom.predicate.classifier for atom in bound.operators[0].add_effects)
    assert all(atom.predicate.classifier for atom in bound.operators[2].negative_preconditions)


def test_the_files_of_a_directory(saved: Path) -> None:
    assert sorted(os.listdir(saved)) == [
        "domain.pddl",
        "evidence.json",
        "model.json",
        "samplers.safetensors",
    ]
    assert (saved / "domain.pddl").read_text() == "(define)"
    assert load_document(saved, "evidence.json").entries()["Move"].numbers() == (1.0, 2.0)
    described = json.loads((saved / "model.json").read_text())
    assert described["operators"][0]["delete_patterns"] == [
        ["Holding", {"any": "robot"}, "?b"],
        ["Near", "?r", {"any": "ball"}],
    ]
    assert [operator.get("negative_preconditions") for operator in described["operators"]] == [
        None,
        None,
        [["Holding", "?r", "?b"]],
    ]
    assert [operator["sampler"] for operator in described["operators"]] == [
        {"kind": "neural"},
        {"kind": "anchored"},
        None,
    ]


def test_a_model_without_samplers_is_stored_too(tmp_path: Path) -> None:
    model = PlanningModel(VOCABULARY, (TAKE,))
    path = str(tmp_path / "model")
    save_model(path, model, {}, "")
    assert load_model(path).model == model


def contents(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in os.listdir(path)}


def test_the_same_model_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from test_model_directory import save_toy\n"
        "save_toy(Path(sys.argv[1]))"
    )
    here = Path(__file__)
    for hash_seed in ("0", "1"):
        other = tmp_path / hash_seed
        path = os.pathsep.join([str(here.parent), *sys.path])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        subprocess.run([sys.executable, "-c", program, str(other)], check=True, env=environment)
        assert contents(other) == contents(saved)


def test_existing_directories_are_only_replaced_with_force(saved: Path) -> None:
    before = contents(saved)
    with pytest.raises(OutputError, match="--force"):
        save_toy(saved)
    assert contents(saved) == before
    (saved / "climb.json").write_text("")
    save_toy(saved, force=True)
    assert contents(saved) == before
    (saved / "notes.txt").write_text("")
    with pytest.raises(OutputError, match=r"holds 'notes.txt', which is not part of a model directory"):
        save_toy(saved, force=True)


def test_invalid_models_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "model"
    model = toy_model()

    class Handwritten:
        def sample(self, *_: object) -> tuple[float, ...]:
            return (0.0,)

    by_hand = PlanningModel(VOCABULARY, (MOVE,), {"Move": Handwritten()})
    with pytest.raises(InvalidInputError, match="Handwritten cannot be stored"):
        save_model(path, by_hand, {}, "")
    poor = PlanningModel(Vocabulary((ROBOT, BALL), (NEAR,), (MOVE_TO, GRASP)), (MOVE,))
    with pytest.raises(ModelError, match="Unknown predicate 'HandFree'"):
        save_model(path, poor, {}, "")
    with pytest.raises(ModelError, match="cannot be written as JSON"):
        save_model(path, model, {"path": tmp_path}, "")  # type: ignore[dict-item]
    with pytest.raises(ModelError, match="cannot be written as JSON"):
        save_model(path, model, {"loss": float("nan")}, "")
    for name in ("model.json", "../evidence.json", "evidence", ".json", "domain.pddl"):
        with pytest.raises(ModelError, match="A document cannot be named"):
            save_model(path, model, {}, "", {name: {}})
    assert os.listdir(tmp_path) == []


def test_paths_without_a_model_are_rejected(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent does not exist. Give a model directory"):
        load_model(tmp_path / "absent")
    with pytest.raises(ModelError, match=r"model.json is a file. Give a model directory"):
        load_model(saved / "model.json")
    with pytest.raises(ModelError, match=r"model.json cannot be read: No such file"):
        load_model(tmp_path)
    with pytest.raises(ModelError, match=r"other.json cannot be read: No such file"):
        load_document(saved, "other.json")


@pytest.mark.parametrize("name", ["model.json", "samplers.safetensors"])
def test_incomplete_models_are_rejected(saved: Path, name: str) -> None:
    whole = (saved / name).read_bytes()
    for part in (b"", whole[: len(whole) // 2], whole[:-1] if name != "model.json" else whole[:-3]):
        (saved / name).write_bytes(part)
        with pytest.raises(ModelError, match=name):
            load_model(saved)
    (saved / name).unlink()
    with pytest.raises(ModelError, match=f"{name} cannot be read"):
        load_model(saved)


def test_a_changed_sampler_file_is_detected(saved: Path) -> None:
    data = bytearray((saved / "samplers.safetensors").read_bytes())
    data[-1] ^= 1
    (saved / "samplers.safetensors").write_bytes(bytes(data))
    with pytest.raises(ModelError, match=r"samplers.safetensors: the SHA-256 .* differs .* model.json"):
        load_model(saved)


def put_samplers(path: Path, data: bytes) -> None:
    """Replace the sampler file of a model, and its digest."""
    described = json.loads((path / "model.json").read_text())
    described["samplers_sha256"] = hashlib.sha256(data).hexdigest()
    (path / "model.json").write_text(json.dumps(described))
    (path / "samplers.safetensors").write_bytes(data)


class Bomb:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return (pytest.fail, ("loading a model must not execute code",))


def test_sampler_files_of_another_format_are_rejected(saved: Path) -> None:
    for foreign in (pickle.dumps(Bomb()), b"", b"\xff" * 100, b'\x02\0\0\0\0\0\0\0{"'):
        put_samplers(saved, foreign)
        with pytest.raises(ModelError, match=r"samplers.safetensors: not a safetensors file"):
            load_model(saved)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("0.shift", np.zeros(2), r"operators\[0\].sampler: The array 'shift' has shape \[2\], not \[1\]"),
        ("0.shift", None, r"operators\[0\].sampler: The array 'shift' is missing"),
        (
            "1.offsets",
            np.array([np.nan]),
            r"operators\[1\].sampler: The array 'offsets' must hold finite",
        ),
        ("0.foreign", np.zeros(1), r"operators\[0\].sampler: The array 'foreign' does not belong"),
        ("7.shift", np.zeros(1), r"samplers.safetensors: the array '7.shift' belongs to no operator"),
    ],
)
def test_arrays_are_checked(saved: Path, name: str, array: np.ndarray | None, message: str) -> None:
    arrays = load((saved / "samplers.safetensors").read_bytes())
    arrays.pop(name, None)
    put_samplers(saved, save(arrays if array is None else {**arrays, name: array}))
    with pytest.raises(ModelError, match=message):
        load_model(saved)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "needful-demos", r'"format" is not "needful-model"'),
        (["version"], 2, r"version: version 2 of 'needful-model' is not known"),
        (["operators", 0, "name"], "", r"operators\[0\].name: a name must not be empty"),
        (["operators", 0, "name"], "Take", r"distinct names"),
        (["operators", 0, "controller"], "Moveto", r"operators\[0\].controller: .* mean 'MoveTo'"),
        (["operators", 0, "controller"], "TakeLidOff", r"operators\[0\]: .* which asks for a jar"),
        (["operators", 0, "controller_arguments"], ["?r"], r"operators\[0\]: .* passes 1 arguments"),
        (["operators", 0, "parameters", 1, "name"], "?r", r"parameters\[1\]: .* is listed twice"),
        (["operators", 0, "parameters", 1, "name"], "b", r"parameters\[1\]: .* must start with '\?'"),
        (["operators", 0, "preconditions", 0, 1], "?q", r"preconditions\[0\]\[1\]: Unknown parameter"),
        (["operators", 0, "preconditions", 0], [], r"preconditions\[0\]: an atom needs a predicate"),
        (
            ["operators", 0, "negative_preconditions"],
            [["HandFree", "?r"]],
            r"operators\[0\]: .* requires that HandFree\(\?r\) holds and that it does not hold",
        ),
        (
            ["operators", 2, "negative_preconditions", 0, 1],
            "?q",
            r"negative_preconditions\[0\]\[1\]: Unknown parameter",
        ),
        (
            ["operators", 2, "negative_preconditions", 0, 0],
            "Holdin",
            r"negative_preconditions\[0\]\[0\]: .* mean 'Holding'",
        ),
        (
            ["operators", 2, "negative_preconditions", 0],
            ["Near", "?r"],
            r"negative_preconditions\[0\]: .* takes 2 arguments",
        ),
        (
            ["operators", 2, "negative_preconditions", 0, 1],
            {"any": "robot"},
            r"negative_preconditions\[0\]\[1\]: expected a string",
        ),
        (
            ["operators", 2, "negative_preconditions"],
            None,
            r"operators\[2\].negative_preconditions: expected an array",
        ),
        (["operators", 0, "negative_precondition"], [], r"mean 'negative_preconditions'"),
        (["operators", 0, "add_effects", 0], ["Near", "?r"], r"add_effects\[0\]: .* takes 2 arguments"),
        (["operators", 0, "delete_patterns", 0], ["Near"], r"delete_patterns\[0\]: .* takes 2 arguments"),
        (
            ["operators", 0, "delete_patterns", 0, 1],
            {"any": "jar"},
            r"delete_patterns\[0\]: .* does not take",
        ),
        (
            ["operators", 0, "delete_patterns", 0, 1],
            {"any": "jr"},
            r"delete_patterns\[0\]\[1\].any: .* 'jar'",
        ),
        (["operators", 0, "sampler"], {"kind": "neurall"}, r"operators\[0\].sampler: .* mean 'neural'"),
        (["operators", 0, "sampler"], None, r"'0.anchors' belongs to no operator"),
        (["operators", 2, "sampler"], {"kind": "anchored"}, r"operators\[2\].sampler: .* is missing"),
        (["provenance"], [], r"provenance: expected an object"),
        (["samplers_sha256"], 1, r"samplers_sha256: expected a string"),
    ],
)
def test_descriptions_are_checked(saved: Path, path: list[Any], value: Any, message: str) -> None:
    described = json.loads((saved / "model.json").read_text())
    container_of(described, path)[path[-1]] = value
    (saved / "model.json").write_text(json.dumps(described))
    with pytest.raises(ModelError, match=message):
        load_model(saved)


odd_values = st.sampled_from(
    [None, True, -1, 1.5, 10**400, "", "?r", "Near", "ball", [], [[]], {}, {"any": "jar"}]
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damage_raises_no_other_error_when_loading(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("fuzz") / "model"
    save_toy(folder)
    described = json.loads((folder / "model.json").read_text())
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        container, key = data.draw(st.sampled_from(positions(described)), label="position")
        if data.draw(st.booleans(), label="remove") and container is not described:
            del container[key]
        else:
            container[key] = copy.deepcopy(data.draw(odd_values, label="value"))
    (folder / "model.json").write_text(json.dumps(described))
    stored, message = None, ""
    try:
        stored = load_model(folder)
    except ModelError as error:
        message = str(error)
    if stored is None:
        assert message.startswith(str(folder))
    else:
        save_model(folder, stored.model, stored.provenance, "", force=True)
        again = load_model(folder)
        assert again.model.operators == stored.model.operators
        assert again.provenance == stored.provenance
