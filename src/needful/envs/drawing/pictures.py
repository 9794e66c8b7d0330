"""Pictures of states, and of plans as film strips, as the bytes of PNG files.

Figures are made without `pyplot`, so no window system and no global state are touched.

Captions: what is said of the states of a plan, and the sheets it is written on.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import GroundController
from needful.core.operators import GroundOperator
from needful.core.state import State
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_ATOMS = 6

# All lengths are in inches; at this font size a line of text is so high and holds so many letters.
MARGIN = 0.2
GAP = 0.06
FONT_SIZE = 8
LINE_HEIGHT = 0.17
LETTERS_PER_INCH = 14

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Caption:
    """What a film strip says of one state.

    Attributes:
        title: how the state came about, for example the ground operator.
        holds: subgoal atoms that are true in the state.
        misses: subgoal atoms that are not.
    """

    title: str
    holds: tuple[GroundAtom, ...] = ()
    misses: tuple[GroundAtom, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text as it is drawn."""

    text: str
    colour: str
    weight: str = "normal"


def make_captions(
    plan: Sequence[GroundOperator | GroundController],
    subgoals: Sequence[AbstractState],
    states: Sequence[State],
) -> tuple[Caption, ...]:
    """Return the captions of the states of a plan, which may end early.

    State i comes after step i and is judged by subgoal i; state 0 is the initial one.
    """
    titles = step_titles(plan)
    if len(states) > min(len(titles), len(subgoals)):
        raise InvalidInputError(
            f"A plan of {len(plan)} steps has at most {len(titles)} states with a subgoal each, "
            f"got {len(states)} states and {len(subgoals)} subgoals."
        )
    return tuple(map(judged, titles, subgoals, states))


def judged(title: str, subgoal: AbstractState, state: State) -> Caption:
    """Return a caption that tells which atoms of a subgoal hold in a state."""
    true = {atom for atom in subgoal if atom.holds(state)}
    return Caption(title, tuple(sorted(true)), tuple(sorted(subgoal - true)))


def step_titles(plan: Sequence[GroundOperator | GroundController]) -> tuple[str, ...]:
    """Return how the start and each step of a plan are called."""
    return ("start", *(f"{number}. {step}" for number, step in enumerate(plan, 1)))


def check_captions(states: Sequence[State], captions: Sequence[Caption]) -> None:
    """Raise unless there are states, and a caption for each."""
    if not states or len(states) != len(captions):
        raise InvalidInputError(
            f"Drawing a plan needs states and a caption for each, got {len(states)} and {len(captions)}."
        )


def caption_lines(caption: Caption, width: float, height: float = 0.0) -> list[Line]:
    """Return a caption as lines no longer than a width; what is missing comes first.

    There are `MAX_ATOMS` atoms, or more as far as a height holds them; lengths are in inches.
    """
    letters = int(width * LETTERS_PER_INCH)

    def broken(text: str, colour: str, weight: str = "normal") -> list[Line]:
        return [
            Line(part, colour, weight) for part in textwrap.wrap(text, letters, subsequent_indent="    ")
        ]

    marked = [broken(f"✗ {atom}", palette.RED) for atom in caption.misses]
    marked += [broken(f"✓ {atom}", palette.GREEN) for atom in caption.holds]
    title = broken(caption.title, palette.INK, "bold")
    held = accumulate((len(lines) for lines in marked), initial=len(title))
    most = max(MAX_ATOMS, sum(count <= int(height / LINE_HEIGHT) for count in held) - 1)
    if len(marked) > most:
        marked[most - 1 :] = [[Line(f"and {len(marked) - most + 1} more", palette.GREY)]]
    return title + [line for atom in marked for line in atom]


def draw_panel(figure: Figure, box: Box, lines: Sequence[Line]) -> None:
    """Draw the sheet that a picture lies on, with text from its top downwards."""
    left, bottom, wide, high = box
    sheet = add_axes(figure, (left + GAP, bottom + GAP, wide - 2 * GAP, high - 2 * GAP))
    sheet.set(xticks=(), yticks=())
    sheet.spines[:].set_color(palette.FAINT)
    width, height = figure.get_size_inches()
    for number, line in enumerate(lines):
        figure.text(
            (left + MARGIN) / width,
            (bottom + high - MARGIN - number * LINE_HEIGHT) / height,
            line.text,
            color=line.colour,
            fontweight=line.weight,
            fontsize=FONT_SIZE,
            va="top",
        )


def add_axes(figure: Figure, box: Box) -> Axes:
    """Add axes whose left, bottom, width and height are given in inches."""
    width, height = figure.get_size_inches()
    left, bottom, wide, high = box
    return figure.add_axes((left / width, bottom / height, wide / width, high / height))


DOTS_PER_INCH = 160
STRIP_WIDTH = 12.0  # inches


def draw_state(env: Environment, state: State, goal: AbstractState) -> bytes:
    """Return a picture of one state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=env.picture_size, dpi=DOTS_PER_INCH, facecolor=palette.PAPER)
    env.draw(state, figure.add_axes((0.0, 0.0, 1.0, 1.0)), goal)
    return as_png(figure)


def draw_film_strip(
    env: Environment,
    states: Sequence[State],
    captions: Sequence[Caption],
    goal: AbstractState,
) -> bytes:
    """Return the states of a plan as one picture, row by row, each under its caption."""
    from matplotlib.figure import Figure

    check_captions(states, captions)
    width, height = env.picture_size
    columns = min(len(states), 2 if width > 2.5 * height else 3)
    panel = STRIP_WIDTH / columns
    inside = panel - 2 * MARGIN
    picture = inside * height / width
    frames = [
        (state, caption_lines(caption, inside)) for state, caption in zip(states, captions, strict=True)
    ]
    rows = [frames[start : start + columns] for start in range(0, len(frames), columns)]
    heights = [picture + 3 * MARGIN + LINE_HEIGHT * max(len(lines) for _, lines in row) for row in rows]
    figure = Figure(figsize=(STRIP_WIDTH, sum(heights)), dpi=DOTS_PER_INCH, facecolor=palette.BACKGROUND)
    bottom = sum(heights)
    for row, high in zip(rows, heights, strict=True):
        bottom -= high
        for column, (state, lines) in enumerate(row):
            left = column * panel
            draw_panel(figure, (left, bottom, panel, high), lines)
            env.draw(state, add_axes(figure, (left + MARGIN, bottom + MARGIN, inside, picture)), goal)
    return as_png(figure)


def as_png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    # Without the version of matplotlib in it, the same picture is the same bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
