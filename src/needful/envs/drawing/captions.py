"""Captions: what is said of the states of a plan, and the sheets it is written on."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import GroundController
from needful.core.operators import GroundOperator
from needful.core.state import State
from needful.envs.drawing import palette
from needful.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ATOMS = 6

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


def captions_of(
    plan: Sequence[GroundOperator | GroundController],
    subgoals: Sequence[AbstractState],
    states: Sequence[State],
) -> tuple[Caption, ...]:
    """Return the captions of the states of a plan, which may end early.

    State i comes after step i and is judged by subgoal i; state 0 is the initial one.
    """
    titles = titles_of(plan)
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


def titles_of(plan: Sequence[GroundOperator | GroundController]) -> tuple[str, ...]:
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

    There are `MOST_ATOMS` atoms, or more as far as a height holds them; lengths are in inches.
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
    most = max(MOST_ATOMS, sum(count <= int(height / LINE_HEIGHT) for count in held) - 1)
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
