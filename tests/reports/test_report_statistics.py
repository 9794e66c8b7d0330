"""Means, spreads, the choice of the best, and bootstrap intervals."""

from __future__ import annotations

import math
import statistics as python_statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.reports.statistics import (
    Estimate,
    bootstrap_interval,
    estimate,
    intervals_overlap,
    mark_best,
    mean,
    standard_deviation,
    standard_error,
    success_interval,
    within_spread_of_best,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)
ESTIMATES = st.lists(
    st.none() | st.builds(Estimate, st.floats(0, 100), st.none() | st.floats(0, 20), st.just(10)),
    max_size=7,
)


def test_spreads_of_a_sample_worked_by_hand() -> None:
    sample = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
    assert mean(sample) == 5.0
    assert standard_deviation(sample) == 2.0  # squares 9 1 1 1 0 0 4 16 sum to 32 = 8 * 2²
    assert standard_error(sample) == pytest.approx(2.0 / math.sqrt(8))


def test_the_paper_uses_population_deviations() -> None:
    # CI+QE on Screws: all or nothing, published as 50.00 (15.81).
    assert standard_error([0.0] * 5 + [100.0] * 5) == pytest.approx(15.811, abs=5e-4)


def test_one_value_has_no_spread_and_none_has_no_mean() -> None:
    assert estimate([3.0], standard_error) == Estimate(3.0, None, 1)
    assert estimate([1.0, 3.0], standard_deviation) == Estimate(2.0, 1.0, 2)
    assert estimate([], standard_error) is None


@given(VALUES)
def test_spreads_agree_with_pythons(values: list[float]) -> None:
    scale = max(map(abs, values)) + 1.0
    assert mean(values) == pytest.approx(python_statistics.fmean(values), abs=1e-9 * scale)
    assert standard_deviation(values) == pytest.approx(python_statistics.pstdev(values), abs=1e-7 * scale)


@given(VALUES, st.floats(-1e3, 1e3), st.floats(-100, 100))
def test_spreads_follow_shifts_and_scales(values: list[float], shift: float, factor: float) -> None:
    moved = [factor * value + shift for value in values]
    tolerance = 1e-9 * (max(map(abs, values)) + 1e3) * (abs(factor) + 1)
    assert mean(moved) == pytest.approx(factor * mean(values) + shift, abs=tolerance)
    assert standard_deviation(moved) == pytest.approx(
        abs(factor) * standard_deviation(values), abs=10 * tolerance
    )


@given(VALUES)
def test_the_order_of_values_changes_nothing(values: list[float]) -> None:
    assert mean(values) == mean(values[::-1])
    assert standard_error(values) == standard_error(sorted(values))


def test_overlapping_intervals_count_as_best() -> None:
    best = Estimate(95.2, 1.3, 10)
    # 3.6 apart: less than 1.3 + 2.68, though more than either.
    assert intervals_overlap(best, Estimate(91.6, 2.68, 10))
    assert not within_spread_of_best(best, Estimate(91.6, 2.68, 10))
    assert not intervals_overlap(best, Estimate(91.6, 2.2, 10))
    assert within_spread_of_best(best, Estimate(94.0, 0.0, 10))


def test_ties_are_all_best() -> None:
    tied = [Estimate(100.0, 0.0, 10), Estimate(99.0, 0.0, 10), None, Estimate(100.0, 0.0, 10)]
    assert mark_best(tied, True, intervals_overlap) == (True, False, False, True)
    assert mark_best(tied, False, intervals_overlap) == (False, True, False, False)


def test_a_tie_that_rounding_hides_is_a_tie() -> None:
    thirds = Estimate(100 * (0.1 + 0.2), 0.0, 10)
    exact = Estimate(30.0, 0.0, 10)
    assert thirds.mean != exact.mean
    assert mark_best([thirds, exact], True, within_spread_of_best) == (True, True)


def test_of_equal_means_the_wider_one_is_the_reference() -> None:
    narrow, wide, near = Estimate(90.0, 0.0, 10), Estimate(90.0, 5.0, 10), Estimate(86.0, 0.0, 10)
    for order in ([narrow, wide, near], [wide, narrow, near]):
        assert mark_best(order, True, within_spread_of_best) == (True, True, True)


def test_unknown_spreads_count_as_none() -> None:
    assert mark_best([Estimate(5.0, None, 1), Estimate(4.0, None, 1)], True, intervals_overlap) == (
        True,
        False,
    )
    assert mark_best([], True, intervals_overlap) == ()
    assert mark_best([None, None], True, intervals_overlap) == (False, False)


@given(ESTIMATES, st.booleans())
def test_the_best_is_always_among_the_best(
    estimates: list[Estimate | None], higher_is_better: bool
) -> None:
    found = mark_best(estimates, higher_is_better, intervals_overlap)
    known = [one.mean for one in estimates if one is not None]
    for one, best in zip(estimates, found, strict=True):
        assert not (one is None and best)
        if one is not None and one.mean == (max(known) if higher_is_better else min(known)):
            assert best
    backwards = mark_best(estimates[::-1], higher_is_better, intervals_overlap)
    assert found == backwards[::-1]
    strict = mark_best(estimates, higher_is_better, within_spread_of_best)
    assert all(wide or not narrow for wide, narrow in zip(found, strict, strict=True))


def test_a_bootstrap_interval_worked_by_hand() -> None:
    # Of [0, 10] the means of resamples are 0, 5 and 10 with chances 1/4, 1/2 and 1/4.
    found = bootstrap_interval([0.0, 10.0], np.random.default_rng(0))
    assert (found.mean, found.low, found.high) == (5.0, 0.0, 10.0)
    same = bootstrap_interval([7.0, 7.0, 7.0], np.random.default_rng(0))
    assert (same.mean, same.low, same.high) == (7.0, 7.0, 7.0)


def test_one_value_has_no_interval() -> None:
    found = bootstrap_interval([3.0], np.random.default_rng(0))
    assert (found.mean, found.low, found.high) == (3.0, None, None)


def test_a_bootstrap_interval_has_about_the_normal_width() -> None:
    values = list(np.random.default_rng(1).normal(0.0, 1.0, 400))
    found = bootstrap_interval(values, np.random.default_rng(2))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.mean < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * standard_error(values), rel=0.05)
    assert bootstrap_interval(values, np.random.default_rng(2)) == found


def test_success_interval_is_wilsons_if_seeds_agree() -> None:
    assert success_interval([50], [50]) == pytest.approx((92.865, 100.0), abs=1e-3)
    assert success_interval([5, 5], [10, 10]) == pytest.approx(success_interval([10], [20]))


def test_success_interval_is_wider_if_seeds_differ() -> None:
    low, high = success_interval([0, 10, 0, 10], [10] * 4)
    even_low, even_high = success_interval([5, 5, 5, 5], [10] * 4)
    assert low < even_low < 50.0 < even_high < high
