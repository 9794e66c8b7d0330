"""Pictures of states, and of plans as film strips with captions, as bytes of PNG files.

Figures are made without `pyplot`, so drawing needs no window system and changes no global state.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.cards import quote_code
from needful.core.controllers import GroundController
from needful.core.failure_causes import explain_failure
from needful.core.operators import GroundOperator
from needful.core.plans import Draw, PlanningResult
from needful.core.state import State
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160

# The maximum number of lines of atoms in a caption.
MAX_LINES = 6
# The maximum number of lines of notes in a caption.
MAX_NOTE_LINES = 10

# All lengths are in inches, except FONT_SIZE, which is in points. If FONT_SIZE changes, LINE_HEIGHT and
# LETTERS_PER_INCH must change too.
STRIP_WIDTH = 12.0
MARGIN = 0.2
GAP = 0.06
FONT_SIZE = 8
LINE_HEIGHT = 0.17
LETTERS_PER_INCH = 14

# The bounds of a rectangle in a figure: left, bottom, width and height in inches.
Bounds: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Caption:
    """The text beside a picture of one state.

    Subgoal atoms are the atoms that must hold in the state so that the rest of the plan reaches the goal.

    Attributes:
        title: the step that led to the state, for example a ground operator.
        holds: subgoal atoms that are true in the state.
        missing: subgoal atoms that are false in the state, although the step has ended.
        pending: subgoal atoms that are not true yet, because the step has not ended.
        added: subgoal atoms that the step adds; they are shown first and in bold.
        unpredicted: atoms that the step changed and its operator does not predict, with + or − before them.
        notes: lines below the title, such as the cause of a failure.
    """

    title: str
    holds: tuple[GroundAtom, ...] = ()
    missing: tuple[GroundAtom, ...] = ()
    pending: tuple[GroundAtom, ...] = ()
    added: AbstractState = frozenset()
    unpredicted: tuple[str, ...] = ()
    notes: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text with its colour and font weight."""

    text: str
    colour: str
    weight: str = "normal"


def make_captions(
    plan: Sequence[GroundOperator | GroundController],
    subgoals: Sequence[AbstractState],
    states: Sequence[State],
) -> tuple[Caption, ...]:
    """Return one caption for each state of a plan.

    State 0 is the initial state, and state i is the state after step i of the plan. Subgoal i is the set of
    atoms that must hold in state i; the caption lists them. There are fewer states than subgoals if the
    plan was not executed to its end.
    """
    titles = step_titles(plan)
    if len(states) > min(len(titles), len(subgoals)):
        raise InvalidInputError(
            f"A plan of {len(plan)} steps has at most {len(titles)} states, each with a subgoal; "
            f"got {len(states)} states and {len(subgoals)} subgoals."
        )
    return tuple(map(make_caption, titles, subgoals, states))


def make_caption(title: str, subgoal: AbstractState, state: State, moving: bool = False) -> Caption:
    """Return a caption with the atoms of a subgoal that hold in a state, and those that do not hold.

    While the robot is `moving`, atoms that do not hold are pending: the step may still make them true.
    """
    true = {atom for atom in subgoal if atom.holds(state)}
    false = tuple(sorted(subgoal - true))
    return Caption(title, tuple(sorted(true)), () if moving else false, false if moving else ())


def cause_notes(result: PlanningResult) -> tuple[Line, ...]:
    """Return the cause of a failure as a line of a caption; empty if the task was solved."""
    explained = explain_failure(result)
    return () if explained is None else (Line(quote_code(explained.cause), palette.RED),)


def predicted_atoms(step: GroundOperator | GroundController) -> AbstractState:
    """Return the atoms that a step adds according to its operator; none if it has no operator."""
    return step.add_effects if isinstance(step, GroundOperator) else frozenset()


def unpredicted_changes(
    step: GroundOperator | GroundController, before: AbstractState, after: AbstractState
) -> tuple[str, ...]:
    """Return the changed atoms that a step's operator does not predict; none if it has no operator."""
    if not isinstance(step, GroundOperator):
        return ()
    added = sorted(after - before - step.add_effects)
    removed = sorted(before - after - step.delete_effects)
    return (*(f"+ {atom}" for atom in added), *(f"− {atom}" for atom in removed))


def step_titles(plan: Sequence[GroundOperator | GroundController]) -> tuple[str, ...]:
    """Return the titles of the states of a plan: `start`, then the number and the text of each step."""
    return ("start", *(f"{number}. {step}" for number, step in enumerate(plan, 1)))


def check_captions(states: Sequence[State], captions: Sequence[Caption]) -> None:
    """Raise `InvalidInputError` unless there is at least one state, and one caption per state."""
    if not states or len(states) != len(captions):
        raise InvalidInputError(
            "Drawing a plan needs at least one state and one caption per state, "
            f"got {len(states)} states and {len(captions)} captions."
        )


def caption_lines(caption: Caption, width: float, max_lines: int = MAX_LINES) -> list[Line]:
    """Return a caption as lines of text that fit into a width in inches.

    The atoms are in the order of `atom_lines`. The title has at most `max_lines` lines, and so have the
    atoms.
    """
    title = Line(caption.title, palette.DARK_GREY, "bold")
    return [
        *wrap_lines([title], width, max_lines),
        *wrap_lines(caption.notes, width, MAX_NOTE_LINES),
        *atom_lines(caption, width, max_lines),
    ]


def atom_lines(caption: Caption, width: float, max_lines: int) -> list[Line]:
    """Return the atoms of a caption's subgoal as lines; a sign shows whether an atom holds."""
    signs = (("✗", palette.RED, caption.missing), ("○", palette.GREY, caption.pending))
    atoms = [
        Line(f"{sign} {atom}", colour, "bold" if atom in caption.added else "normal")
        for sign, colour, shown in (*signs, ("✓", palette.GREEN, caption.holds))
        for atom in shown
    ]
    # Bold lines come first. Sorting is stable, so atoms that do not hold come first among the bold lines,
    # and also among the normal lines.
    return wrap_lines(sorted(atoms, key=lambda line: line.weight), width, max_lines)


def wrap_lines(lines: Sequence[Line], width: float, max_lines: int) -> list[Line]:
    """Break lines that are longer than a width in inches, and return all lines.

    If the result would have more than `max_lines` lines, it ends with a line such as "and 3 more", which
    counts the given lines that were left out.
    """
    letters = int(width * LETTERS_PER_INCH)
    wrapped = [
        [replace(line, text=part) for part in textwrap.wrap(line.text, letters, subsequent_indent="    ")]
        for line in lines
    ]
    line_counts = list(accumulate(map(len, wrapped)))
    if line_counts and line_counts[-1] > max_lines:
        shown = sum(count < max_lines for count in line_counts)
        wrapped[shown:] = [[Line(f"and {len(wrapped) - shown} more", palette.GREY)]]
    return [line for parts in wrapped for line in parts]


def draw_state(env: Environment, state: State, goal: AbstractState) -> bytes:
    """Return a picture of one state as a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=env.picture_size, dpi=DOTS_PER_INCH, facecolor=palette.WHITE)
    env.draw(state, figure.add_axes((0.0, 0.0, 1.0, 1.0)), goal)
    return as_png(figure)


def draw_film_strip(
    env: Environment,
    states: Sequence[State],
    captions: Sequence[Caption],
    goal: AbstractState,
    draws: Sequence[Draw] = (),
) -> bytes:
    """Return a film strip as the bytes of a PNG file; `film_strip` explains the arguments."""
    return as_png(film_strip(env, states, captions, goal, draws))


def film_strip(
    env: Environment,
    states: Sequence[State],
    captions: Sequence[Caption],
    goal: AbstractState,
    draws: Sequence[Draw] = (),
) -> Figure:
    """Return a figure with pictures of all states, in rows; each has its caption above it.

    If a step failed, `draws` are the parameters that were tried for it. What they moved is drawn over the
    state in which the step started. This is the second last state, because the last one shows the best
    try; it is the last state if the controller never ran.
    """
    from matplotlib.figure import Figure

    from needful.envs.drawing.tries import draw_tries

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
    started = len(states) - (2 if any(draw.state is not None for draw in draws) else 1)
    for number, (row, high) in enumerate(zip(rows, heights, strict=True)):
        bottom -= high
        for column, (state, lines) in enumerate(row):
            left = column * panel
            draw_panel(figure, (left, bottom, panel, high), lines)
            axes = add_axes(figure, (left + MARGIN, bottom + MARGIN, inside, picture))
            env.draw(state, axes, goal)
            if draws and number * columns + column == started:
                draw_tries(env, axes, state, draws, goal)
    return figure


def draw_panel(figure: Figure, bounds: Bounds, lines: Sequence[Line]) -> None:
    """Draw a white panel with the given bounds; the lines of text start at the top of the panel."""
    left, bottom, wide, high = bounds
    panel = add_axes(figure, (left + GAP, bottom + GAP, wide - 2 * GAP, high - 2 * GAP))
    panel.set(xticks=(), yticks=())
    panel.spines[:].set_color(palette.LIGHT_GREY)
    write_lines(figure, lines, left + MARGIN, bottom + high - MARGIN)


def write_lines(figure: Figure, lines: Sequence[Line], left: float, top: float) -> None:
    """Write lines of text on a figure; `left` and `top` are in inches from the lower left corner."""
    width, height = figure.get_size_inches()
    for number, line in enumerate(lines):
        figure.text(
            left / width,
            (top - number * LINE_HEIGHT) / height,
            line.text,
            color=line.colour,
            fontweight=line.weight,
            fontsize=FONT_SIZE,
            va="top",
        )


def add_axes(figure: Figure, bounds: Bounds) -> Axes:
    """Add axes with the given bounds to a figure, and return the axes."""
    width, height = figure.get_size_inches()
    left, bottom, wide, high = bounds
    return figure.add_axes((left / width, bottom / height, wide / width, high / height))


def as_png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    # Omit the version of matplotlib from the metadata, so that equal pictures have equal bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
