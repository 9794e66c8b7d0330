"""Invalid model directories: every verb that reads one names the damage."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import needful

VERBS = {
    "eval": ["eval", "{model}", "cluttered-1d", "--tasks", "1", "--out", "{out}"],
    "plan": ["plan", "{model}", "cluttered-1d"],
    "export": ["export", "{model}", "--pddl", "{out}"],
    "explain": ["explain", "{model}"],
}


def remove(name: str) -> Callable[[Path], None]:
    return lambda model: (model / name).unlink()


def cut_in_half(name: str) -> Callable[[Path], None]:
    def damage(model: Path) -> None:
        whole = (model / name).read_bytes()
        (model / name).write_bytes(whole[: len(whole) // 2])

    return damage


def replace(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def damage(model: Path) -> None:
        whole = (model / name).read_bytes()
        assert old in whole
        (model / name).write_bytes(whole.replace(old, new, 1))

    return damage


def flip_last_byte(name: str) -> Callable[[Path], None]:
    def damage(model: Path) -> None:
        data = bytearray((model / name).read_bytes())
        data[-1] ^= 1
        (model / name).write_bytes(bytes(data))

    return damage


def replace_by_a_file(model: Path) -> None:
    shutil.rmtree(model)
    model.write_text("")


DAMAGE = {
    "no model.json": (remove("model.json"), "model.json cannot be read: No such file"),
    "no samplers": (remove("samplers.safetensors"), "samplers.safetensors cannot be read: No such file"),
    "half of model.json": (cut_in_half("model.json"), "model.json: not JSON: "),
    "another version": (replace("model.json", b'"version": 1', b'"version": 9'), "version 9 of 'needful-m"),
    "unknown controller": (
        replace("model.json", b'"controller": "MoveGrasp"', b'"controller": "MoveGrsp"'),
        "operators[0].controller: Unknown controller 'MoveGrsp'. Did you mean 'MoveGrasp'?",
    ),
    "half of the samplers": (cut_in_half("samplers.safetensors"), "samplers.safetensors: "),
    "changed samplers": (
        flip_last_byte("samplers.safetensors"),
        "samplers.safetensors: the SHA-256 of the content differs from the one in model.json",
    ),
    "a file": (replace_by_a_file, "is a file. Give a model directory"),
    "absent": (shutil.rmtree, "does not exist. Give a model directory"),
}


def error_about(model: Path, out: Path, verb: str) -> str:
    result = needful(*(part.format(model=model, out=out) for part in VERBS[verb]))
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"error: {model}")
    assert result.err.count("\n") == 1
    assert not out.exists()
    return result.err


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", DAMAGE)
def test_error_names_the_damage(kind: str, verb: str, cluttered: Path, tmp_path: Path) -> None:
    damage, fact = DAMAGE[kind]
    shutil.copytree(cluttered / "model", tmp_path / "model")
    damage(tmp_path / "model")
    assert fact in error_about(tmp_path / "model", tmp_path / "out", verb)


@pytest.mark.parametrize("verb", VERBS)
def test_path_that_is_too_long(verb: str, tmp_path: Path) -> None:
    assert "Give a model directory" in error_about(tmp_path / ("x" * 300), tmp_path / "out", verb)


EVIDENCE = {
    "absent": (remove("evidence.json"), "evidence.json cannot be read: No such file"),
    "cut off": (cut_in_half("evidence.json"), "evidence.json: not JSON: "),
    "of another model": (
        replace("evidence.json", b'"MoveGrasp-2"', b'"MoveGrasp-3"'),
        "evidence.json, operators: unknown field 'MoveGrasp-3'. Did you mean 'MoveGrasp-",
    ),
    "of other objects": (
        replace("evidence.json", b'"objects": [\n     "robby"', b'"objects": [\n     "dot3"'),
        'evidence.json, operators."MoveGrasp-1"[0].objects: Operator ',
    ),
}


@pytest.mark.parametrize("kind", EVIDENCE)
def test_only_explain_needs_evidence(kind: str, cluttered: Path, tmp_path: Path) -> None:
    damage, fact = EVIDENCE[kind]
    model = tmp_path / "model"
    shutil.copytree(cluttered / "model", model)
    damage(model)
    assert fact in error_about(model, tmp_path / "out", "explain")
    assert needful("plan", model, "cluttered-1d").code == 0
