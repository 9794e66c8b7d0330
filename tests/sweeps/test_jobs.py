"""Jobs: equal jobs have equal keys, different jobs have different keys, and files name their faults."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.errors import InvalidInputError, ResultsError
from needful.storage.json_fields import Field, Source, dump_json, parse_json
from needful.sweeps.jobs import Job

SOURCE = Source("results", ResultsError)
JOB = Job("screws", "necessary", 3, 50, 40, 10.0, 8, 600.0, "anytime")
NAMES = st.sampled_from(["screws", "ci-qe", "loft", "a b", "ü"])
JOBS = st.builds(
    Job,
    domain=NAMES,
    learner=NAMES,
    seed=st.integers(0, 3),
    demos=st.integers(1, 3),
    tasks=st.integers(0, 3),
    timeout=st.sampled_from([1, 1.0, 2.5]),
    abstract_plans=st.integers(1, 2),
    learning_timeout=st.sampled_from([None, 1, 1.0]),
    planner=NAMES,
    samples_per_step=st.sampled_from([10, 11]),
    horizon=st.sampled_from([None, 5]),
    samplers=st.sampled_from(["default", "paper"]),
    oracle_samplers=st.booleans(),
    adaptive=st.booleans(),
    cpu_time=st.booleans(),
    preset=st.sampled_from(["", "paper", "paper, except demos"]),
)


@given(JOBS, JOBS)
def test_keys_are_equal_only_for_equal_jobs(one: Job, other: Job) -> None:
    assert (one.key == other.key) == (one == other)
    assert (one.file_stem == other.file_stem) == (one.file_stem.endswith(other.key))


@given(JOBS)
def test_a_job_survives_its_file(job: Job) -> None:
    text = dump_json(job.to_json())
    assert Job.from_json(parse_json(text.encode(), SOURCE)) == job


def test_every_field_changes_the_key() -> None:
    others: dict[str, Any] = {
        "domain": "painting",
        "learner": "ci",
        "seed": 4,
        "demos": 51,
        "tasks": 41,
        "timeout": 10.5,
        "abstract_plans": 1,
        "learning_timeout": None,
        "planner": "paper",
        "samples_per_step": 11,
        "horizon": 5,
        "samplers": "paper",
        "oracle_samplers": True,
        "adaptive": False,
        "cpu_time": True,
        "preset": "paper",
    }
    assert set(others) == {field.name for field in fields(Job)}
    keys = {replace(JOB, **{name: value}).key for name, value in others.items()}
    assert len(keys | {JOB.key}) == len(others) + 1


def test_the_file_name_is_readable() -> None:
    assert JOB.file_stem == f"necessary-seed3-demos50-{JOB.key}"


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_a_key_is_the_same_in_every_process(hash_seed: str) -> None:
    """The key is part of the names of stored results, so it must never change."""
    program = "from needful.sweeps.jobs import Job; print(Job('screws', 'necessary').key)"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert output.stdout.strip() == "160d6d3057e5988c"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("domain", ""),
        ("domain", "../elsewhere"),
        ("domain", "kinder/../elsewhere"),
        ("domain", "/elsewhere"),
        ("learner", ".hidden"),
        ("learner", "a/b"),
        ("planner", "a\\b"),
        ("seed", -1),
        ("demos", 0),
        ("tasks", -1),
        ("abstract_plans", 0),
        ("timeout", 0.0),
        ("timeout", math.inf),
        ("timeout", math.nan),
        ("learning_timeout", -1.0),
    ],
)
def test_bad_values_are_named(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=name) as caught:
        replace(JOB, **{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"seed": "0"}, ("seed", "whole number")),
        ({"timeout": True}, ("timeout", "number")),
        ({"sed": 0}, ("'sed'", "'seed'")),
        ({"demos": 0}, ("demos", "at least 1", "got 0")),
        ({"adaptive": 1}, ("adaptive", "true or false")),
    ],
)
def test_errors_in_files_name_the_field(change: dict[str, Any], facts: tuple[str, ...]) -> None:
    content = {**JOB.to_json(), **change}
    with pytest.raises(ResultsError) as caught:
        Job.from_json(Field(json.loads(json.dumps(content)), SOURCE))
    for fact in facts:
        assert fact in str(caught.value)


def test_a_missing_field_is_named() -> None:
    content = {name: value for name, value in JOB.to_json().items() if name != "planner"}
    with pytest.raises(ResultsError, match=r"'planner'.*missing"):
        Job.from_json(Field(content, SOURCE))
