"""Means with spreads, rules for bold entries of tables, and bootstrap intervals.

A spread is a standard deviation or a standard error. As in the paper, the sum of squares is divided by n,
not by n - 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from needful.paper.published import Estimate

# The tolerance for comparisons of means, because rounding errors can make equal means differ slightly.
ROUNDING = 1e-9
CONFIDENCE = 0.95
# The 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom. For more degrees of
# freedom, `NORMAL_QUANTILE` is used.
STUDENT_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
RESAMPLES = 9_999
# The 97.5 % quantile of the standard normal distribution.
NORMAL_QUANTILE = 1.959964


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds of its confidence interval; the bounds are None if there are too few values."""

    mean: float
    low: float | None
    high: float | None


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values; there must be at least one."""
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float]) -> float:
    """Return sqrt(Σ (x - mean)² / n) for the n values x; there must be at least one."""
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))


def standard_error(values: Sequence[float]) -> float:
    """Return the standard deviation of the n values, divided by sqrt(n)."""
    return standard_deviation(values) / math.sqrt(len(values))


def estimate(values: Sequence[float], spread: Callable[[Sequence[float]], float]) -> Estimate | None:
    """Return the mean of the values with its spread, or None if there are no values.

    The function `spread` computes the spread. It is not called for a single value, whose spread is None.
    """
    if not values:
        return None
    return Estimate(mean(values), spread(values) if len(values) > 1 else None, len(values))


def intervals_overlap(best: Estimate, other: Estimate) -> bool:
    """Return whether two means differ by at most the sum of their spreads.

    In the paper's Table 1, an entry is bold if this holds for the entry and the best entry of its row.
    """
    return abs(best.mean - other.mean) <= (best.spread or 0.0) + (other.spread or 0.0) + ROUNDING


def within_spread_of_best(best: Estimate, other: Estimate) -> bool:
    """Return whether a mean differs from the best mean by at most the spread of the best mean.

    In the paper's Tables 2 and 3, an entry is bold if this holds for its mean.
    """
    return abs(best.mean - other.mean) <= (best.spread or 0.0) + ROUNDING


def mark_best(
    estimates: Sequence[Estimate | None], higher_is_better: bool, rule: Callable[[Estimate, Estimate], bool]
) -> tuple[bool, ...]:
    """Return one flag per estimate: whether a table shows it in bold. The flag of None is False.

    An estimate is bold if `rule(best, estimate)` is true. `best` is the estimate with the best mean; if
    several have the same mean, it is the one with the largest spread.
    """
    known = [one for one in estimates if one is not None]
    if not known:
        return tuple(False for _ in estimates)
    sign = 1.0 if higher_is_better else -1.0
    best = max(known, key=lambda one: (sign * one.mean, one.spread or 0.0))
    return tuple(one is not None and rule(best, one) for one in estimates)


def student_interval(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Interval:
    """Return the mean of values with its 95 % interval from Student's t; a single value has none.

    The bounds are cut off at `least` and `most`. If there are only a few values, a bootstrap interval would
    be too narrow; this interval is more reliable.
    """
    count, centre = len(values), mean(values)
    if count < 2:
        return Interval(centre, None, None)
    variance = math.fsum((value - centre) ** 2 for value in values) / (count - 1)
    quantile = STUDENT_QUANTILES[count - 2] if count - 2 < len(STUDENT_QUANTILES) else NORMAL_QUANTILE
    half = quantile * math.sqrt(variance / count)
    return Interval(centre, max(least, centre - half), min(most, centre + half))


def success_interval(solved: Sequence[int], tasks: Sequence[int]) -> tuple[float, float]:
    """Return the 95 % interval of the percentage of solved tasks; the arguments have one number per seed.

    It is the Wilson score interval with a correction. All tasks of a seed are solved with the same model,
    so their successes are correlated, and the interval must be wider than for independent tasks. Therefore
    the number of tasks is divided by the design effect; see `_design_effect`.
    """
    total = sum(tasks)
    share = sum(solved) / total
    effective = total / _design_effect(solved, tasks, share)
    z2 = NORMAL_QUANTILE**2 / effective
    centre = (share + z2 / 2.0) / (1.0 + z2)
    half = math.sqrt(z2 * share * (1.0 - share) + z2 * z2 / 4.0) / (1.0 + z2)
    return 100.0 * max(0.0, centre - half), 100.0 * min(1.0, centre + half)


def _design_effect(solved: Sequence[int], tasks: Sequence[int], share: float) -> float:
    """Return the design effect: the variance of `share`, divided by its variance for independent tasks.

    `share` is the share of solved tasks over all seeds. Its variance is estimated from the differences
    between seeds. The result is at least 1.
    """
    seeds, total = len(tasks), sum(tasks)
    if seeds < 2 or share in (0.0, 1.0):
        return 1.0
    residuals = math.fsum((done - share * count) ** 2 for done, count in zip(solved, tasks, strict=True))
    between = residuals * seeds / (seeds - 1) / total**2
    return max(1.0, between / (share * (1.0 - share) / total))


def bootstrap_interval(values: Sequence[float], rng: np.random.Generator) -> Interval:
    """Return the mean of values with its 95 % percentile bootstrap interval; a single value has none."""
    if len(values) < 2:
        return Interval(mean(values), None, None)
    drawn = rng.integers(0, len(values), (RESAMPLES, len(values)))
    means = np.asarray(values, dtype=float)[drawn].mean(axis=1)
    outside = 100.0 * (1.0 - CONFIDENCE) / 2.0
    low, high = np.percentile(means, [outside, 100.0 - outside]).tolist()
    return Interval(mean(values), low, high)
