"""The tries of a failed step, grouped by the reason why they failed, for pages and films.

A try is a `Draw`: parameters that were tried for the step, the reason why they failed, and the state in
which the controller ended, if it ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from needful.core.atoms import AbstractState
from needful.core.controllers import Parameters
from needful.core.plans import Draw, Outcome
from needful.core.state import State
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.envs.drawing.pictures import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The maximum number of groups of tries; readers could not distinguish the colours of more groups.
MAX_GROUPS = 6
OTHER = "other reasons"
DIGITS = 4
# The colours of the groups of tries in films and pictures. A group has the tries with the same reason.
TONES = (palette.ORANGE, palette.PURPLE, palette.GOLD, palette.BLUE, palette.GREEN, palette.GREY)
# How many tries of a failed step are drawn, and how many letters a reason may have in a picture.
MAX_DRAWN_TRIES = 20
MAX_LETTERS = 60
# The resolution of the pictures before and after a try, which are compared to find what moved.
DOTS_PER_INCH = 100


def group_draws(draws: Sequence[Draw]) -> tuple[list[int], list[str]]:
    """Group draws by the reason why they failed; return each draw's group number, and each group's reason.

    The most frequent reason is group 0. If there are more than `MAX_GROUPS` reasons, the rarest ones share
    the last group.
    """
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
        return f"could not start: {draw.reason}" if draw.reason else "could not start"
    if draw.missing:
        return f"missed {', '.join(map(str, draw.missing))}"
    return draw.reason or draw.outcome.value.replace("_", " ")


def reason_lines(draws: Sequence[Draw]) -> list[Line]:
    """Return one coloured line per reason, such as "12 × missed On(a, b)" if 12 draws failed for it."""
    groups, reasons = group_draws(draws)
    texts = [f"{groups.count(group)} × {reason}" for group, reason in enumerate(reasons)]
    short = [text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]}…" for text in texts]
    return [Line(text, colour, "bold") for text, colour in zip(short, TONES, strict=False)]


def draws_data(
    draws: Sequence[Draw], bounds: tuple[Parameters, Parameters] | None, unlisted: int = 0
) -> dict[str, Any] | None:
    """Return the draws (tried parameters) of a failed step as JSON values; None if there are no draws.

    Each of the `rows` stands for one draw: the index of its reason in `groups`, then its parameters. `low`
    and `high` are the `bounds`; if these are None or have another number of parameters, they are the
    smallest and the largest drawn values. `total` is the number of draws plus `unlisted`, the number of
    draws that are not in `draws`. `ran` is the number of draws with which the controller ran.
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
        "total": len(draws) + unlisted,
        "ran": sum(draw.state is not None for draw in draws),
        "rows": [[number, *_rounded(draw.parameters)] for number, draw in zip(numbers, draws, strict=True)],
    }


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def draw_tries(
    env: Environment, axes: Axes, before: State, draws: Sequence[Draw], goal: AbstractState
) -> None:
    """Draw the tries of a failed step over a picture of `before`, the state in which the step started.

    Everything that a try moved is outlined at its new place; the colour stands for the reason why the try
    failed. The picture also lists the reasons, each with its number of tries. Not outlined are tries that
    moved nothing or did not run, and those after the first `MAX_DRAWN_TRIES`; the picture counts them.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.transforms import BboxTransformTo, TransformedBbox

    from needful.envs.drawing.tweening import Mark, record_marks

    whole = cast("Figure", axes.figure)
    # Matplotlib shrinks axes whose x and y have equal scales. The tries are drawn on new axes, which shrink
    # in the same way, so use the rectangle of `axes` before it was shrunk.
    place = axes.get_position(original=True)
    to_place = BboxTransformTo(TransformedBbox(place, whole.transFigure))
    width, height = whole.get_size_inches() * np.array(place.size)

    def marks(state: State) -> tuple[Mark, ...]:
        figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
        env.draw(state, figure.add_axes((0.0, 0.0, 1.0, 1.0)), goal)
        return record_marks(figure)

    groups, _ = group_draws(draws)
    still = {mark.identity for mark in marks(before)}
    tries = [
        (group, draw.state) for group, draw in zip(groups, draws, strict=True) if draw.state is not None
    ]
    scale = np.array((width, height)) * DOTS_PER_INCH
    moved_nothing = 0
    for group, state in tries[:MAX_DRAWN_TRIES]:
        moved = [mark for mark in marks(state) if mark.content[0] == "path" and mark.identity not in still]
        moved_nothing += not moved
        for mark in moved:
            path, colour = Path(mark.points / scale, mark.content[1]), TONES[group]
            outline = PathPatch(path, transform=to_place, edgecolor=colour, zorder=50)
            outline.set_facecolor((colour, 0.12) if mark.face is not None else "none")
            axes.add_artist(outline)
    for number, line in enumerate([*reason_lines(draws), *_without_outline(draws, moved_nothing)]):
        axes.text(
            0.01,
            0.99 - number * 0.13 / height,
            line.text,
            color=line.colour,
            fontsize=7,
            fontweight=line.weight,
            va="top",
            transform=to_place,
            zorder=51,
            parse_math=False,
        )


def _without_outline(draws: Sequence[Draw], moved_nothing: int) -> list[Line]:
    """Return a line such as "without an outline: 3 could not start, 1 moved nothing", or no line."""
    rejected = sum(draw.outcome is Outcome.NOT_INITIABLE for draw in draws)
    ran = sum(draw.state is not None for draw in draws)
    counts = {
        "could not start": rejected,
        "failed at once": len(draws) - rejected - ran,
        "moved nothing": moved_nothing,
        "beyond the limit of the picture": max(0, ran - MAX_DRAWN_TRIES),
    }
    parts = [f"{count} {reason}" for reason, count in counts.items() if count]
    return [Line(f"without an outline: {', '.join(parts)}", palette.GREY)] if parts else []
