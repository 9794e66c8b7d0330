"""The tries of a failed step, grouped by the reason why they failed, for pages and films."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from needful.core.controllers import Parameters
from needful.core.plans import Draw, Outcome

# More reasons than this would need more colours than can be told apart.
MAX_GROUPS = 6
OTHER = "other reasons"
DIGITS = 4


def group_draws(draws: Sequence[Draw]) -> tuple[list[int], list[str]]:
    """Return the number of each draw's group, and the reason of each group, the most frequent first."""
    reasons = [_reason(draw) for draw in draws]
    frequent = [
        reason for reason, _ in sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0]))
    ]
    if len(frequent) > MAX_GROUPS:
        frequent[MAX_GROUPS - 1 :] = [OTHER]
    numbers = {reason: number for number, reason in enumerate(frequent)}
    return [numbers.get(reason, len(frequent) - 1) for reason in reasons], frequent


def _reason(draw: Draw) -> str:
    if draw.outcome is Outcome.NOT_INITIABLE:
        return "could not start"
    if draw.missing:
        return f"missed {', '.join(map(str, draw.missing))}"
    return draw.reason or draw.outcome.value.replace("_", " ")


def draws_data(
    draws: Sequence[Draw], bounds: tuple[Parameters, Parameters] | None
) -> dict[str, Any] | None:
    """Return the draws of a failed step as JSON values: bounds, reasons, and a row per draw.

    A row has the number of its reason, then the parameters. Without `bounds`, these are the smallest and
    the largest values that were drawn.
    """
    if not draws:
        return None
    numbers, reasons = group_draws(draws)
    values = np.array([draw.parameters for draw in draws])
    drawn = values.min(axis=0), values.max(axis=0)
    low, high = bounds if bounds and len(bounds[0]) == values.shape[1] else drawn
    return {
        "low": _rounded(low),
        "high": _rounded(high),
        "groups": reasons,
        "rows": [[number, *_rounded(draw.parameters)] for number, draw in zip(numbers, draws, strict=True)],
    }


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
