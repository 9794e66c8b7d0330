"""Named streams of random numbers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from needful.seeding import rng_for, seed_for


def test_same_labels_same_numbers():
    assert np.array_equal(rng_for(3, "tasks", 1).random(5), rng_for(3, "tasks", 1).random(5))


def test_streams_differ_by_seed_by_label_and_by_the_order_of_labels():
    streams = [
        rng_for(0, "tasks", "test", 1),
        rng_for(1, "tasks", "test", 1),
        rng_for(0, "tasks", "test", 2),
        rng_for(0, "test", "tasks", 1),
        rng_for(0, "tasks", "test"),
        rng_for(0),
    ]
    first = [stream.random() for stream in streams]
    assert len(set(first)) == len(first)


@given(seed=st.integers(-5, 2**70), labels=st.lists(st.text("ab", max_size=2), max_size=3))
def test_a_label_boundary_counts(seed, labels):
    """("a", "b") and ("ab",) are different streams."""
    others = {seed_for(seed, "".join(labels)), seed_for(seed, *labels, "")}
    assert (seed_for(seed, *labels) in others) == (len(labels) == 1)


def test_draws_from_one_stream_do_not_change_another():
    alone = rng_for(0, "planning").random(3)
    greedy, beside = rng_for(0, "sampling"), rng_for(0, "planning")
    greedy.random(1000)
    assert np.array_equal(beside.random(3), alone)


def test_streams_are_uncorrelated():
    draws = np.array([rng_for(7, "stream", index).random(400) for index in range(20)])
    correlations = np.corrcoef(draws)[~np.eye(20, dtype=bool)]
    # 380 coefficients with standard deviation 1/20: the chance of one beyond five deviations is below 1e-3.
    assert np.abs(correlations).max() < 5 / np.sqrt(400)


def test_streams_are_the_same_in_every_process():
    code = "from needful.seeding import rng_for; print(rng_for(5, 'a', 2).integers(0, 10**9, 4).tolist())"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert printed == {f"{rng_for(5, 'a', 2).integers(0, 10**9, 4).tolist()}\n"}


def test_seeds_fit_into_64_bits():
    assert all(0 <= seed_for(seed) < 2**64 for seed in range(100))
