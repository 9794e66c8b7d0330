"""Learned operators with the oracle's samplers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import needful
from command_line import needful as command
from needful.approaches.learned_model import with_oracle_samplers
from needful.core.objects import Variable
from needful.errors import InvalidInputError

DOMAINS = ("cluttered-1d", "cluttered-painting", "cluttered-satellites", "painting", "satellites", "screws")


@pytest.mark.parametrize("domain", DOMAINS)
def test_oracle_gets_its_own_samplers(domain: str) -> None:
    """Each operator gets its own sampler, regardless of the order of its parameters."""
    oracle = needful.make_environment(domain).oracle_model()
    shuffled = replace(
        oracle, operators=tuple(replace(o, parameters=o.parameters[::-1]) for o in oracle.operators)
    )
    matched = with_oracle_samplers(replace(shuffled, samplers={}), oracle)
    assert set(matched.samplers) == {o.name for o in oracle.operators if o.controller.dimension}
    (task,) = needful.make_environment(domain).tasks("test", 1, 0)
    for operator in oracle.operators:
        objects = [next((o for o in task.objects if fits(o, v)), None) for v in operator.parameters]
        if operator.name not in matched.samplers or None in objects:
            continue
        expected = oracle.samplers[operator.name].sample(
            task.initial_state, objects, np.random.default_rng(3)
        )
        found = matched.samplers[operator.name].sample(
            task.initial_state, objects[::-1], np.random.default_rng(3)
        )
        assert tuple(found) == tuple(expected)


def fits(obj: needful.Object, variable: Variable) -> bool:
    return obj.type.is_subtype_of(variable.type)


def test_operator_without_the_needed_object_is_rejected() -> None:
    oracle = needful.make_environment("painting").oracle_model()
    (place,) = [o for o in oracle.operators if o.name == "PlaceShelf"]
    (robot,) = [v for v in place.parameters if v.type.name == "robot"]
    empty: frozenset[object] = frozenset()
    reduced = replace(
        place,
        name="Place",
        parameters=(robot,),
        preconditions=empty,
        add_effects=empty,
        delete_effects=empty,
        delete_patterns=empty,
    )
    with pytest.raises(InvalidInputError, match=r"no sampler that fits Place.*learned samplers"):
        with_oracle_samplers(replace(oracle, operators=(reduced,), samplers={}), oracle)


def test_run_with_hand_written_samplers(tmp_path: Path) -> None:
    result = command(
        *("run", "cluttered-1d", "--demos", 5, "--tasks", 2),
        *("--samplers", "oracle", "--out", tmp_path / "out"),
    )
    assert result.code == 0
    assert "Solved 2/2" in result.out
