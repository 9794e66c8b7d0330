"""Films of plans, as bytes of GIF and MP4 files.

A film shows each state of a plan. Between two states, it shows the motion of everything whose place in the
picture changes. The caption has the step, the atoms that must hold after the step (goal atoms and
preconditions of later steps), and the atoms that changed although the operator does not predict them.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, Predicate
from needful.core.controllers import GroundController
from needful.core.plans import Draw, PlanningResult
from needful.core.state import State
from needful.envs.contract import Environment
from needful.envs.drawing import palette
from needful.envs.drawing.pictures import (
    LINE_HEIGHT,
    MARGIN,
    Caption,
    Line,
    as_png,
    atom_lines,
    caption_lines,
    cause_notes,
    make_caption,
    predicted_atoms,
    step_titles,
    unpredicted_changes,
    wrap_lines,
    write_lines,
)
from needful.errors import InvalidInputError, importing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from needful.envs.drawing.tweening import Mark, Tween

FRAMES_PER_SECOND = 20  # of MP4 videos
# A film's colour palette is computed from thumbnails, which are smaller than the pictures by this factor.
THUMBNAIL_DIVISOR = 3

# A film that is 6 inches wide has 1200 pixels. If a page shows it 600 pixels wide, it is sharp even on a
# screen with twice the usual resolution.
DOTS_PER_INCH = 200
# All lengths are in inches. MAX_WIDTH[True] is the maximum width of wide pictures, whose captions are below
# them. MAX_WIDTH[False] is the maximum width of other pictures, whose captions are beside them.
MAX_WIDTH = {True: 6.0, False: 4.4}
SIDE_CAPTION_WIDTH = 3.0
MAX_ROWS = 5  # the maximum number of atoms in a caption below a picture
WIDE = 1.5  # the ratio of width to height above which a picture is wide
CROP_MARGIN = 0.08

# The number of frames that show the motion of a step, and the duration of each of these frames.
MOTION_FRAMES, MOTION_MILLISECONDS = 12, 50
STATE_MILLISECONDS = 1_200
LAST_FRAME_MILLISECONDS = 3_000
TRIES_MILLISECONDS = 3_000


@dataclass(frozen=True, slots=True)
class Film:
    """A film: pictures of the same size, and the duration of each picture in milliseconds."""

    pictures: tuple[Image, ...]
    milliseconds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FilmedPlan:
    """A plan to film in 3D.

    Attributes:
        states: the initial state and the state after each action.
        actions: the actions.
        goal: the goal.
        draws: if a step failed, the parameters that were tried for it. The film then ends with those that
            missed the fewest atoms of the subgoal; see `best_draw`.
    """

    states: Sequence[State]
    actions: Sequence[GroundController]
    goal: AbstractState
    draws: Sequence[Draw] = ()


@runtime_checkable
class Filmable(Protocol):
    """A domain with its own methods to show a plan in 3D: as a film, or on a page with a movable camera."""

    def film(self, result: PlanningResult, goal: AbstractState) -> Film:
        """Return a film of a planning result."""

    def film_3d(self, plan: FilmedPlan, max_keyframes: int) -> dict[str, Any]:
        """Return the data of a 3D film as a JSON object for `scene.js`, with these entries:

        shapes        boxes, cylinders and balls, each with the body that it belongs to
        bodies        the bodies of each object
        arm           the arm of the robot, or None
        focus         the area to show first
        moves         the motion of the bodies: about `max_keyframes` keyframes, including every state
        ends          the keyframe in which each state is reached
        milliseconds  the duration of each step
        tries         for each try (parameters that were tried for a failed step), what it moved
        """


def film_plan(env: Environment, result: PlanningResult, goal: AbstractState) -> Film:
    """Return a film of a planning result.

    If the domain is `Filmable`, its own method makes the film. Otherwise the film has one frame per state,
    and frames that show the motion between two states. If a step failed, one frame shows what moved when
    its controller was tried with different parameters (see `draw_tries`). The film then ends with the best
    try: the one after which the fewest of the atoms that had to hold after the step were false.
    """
    if isinstance(env, Filmable):
        return env.film(result, goal)
    if not result.states:
        raise InvalidInputError("A film of a plan needs at least one state.")
    from needful.envs.drawing.tweening import Tween

    draws = () if result.failure is None else result.failure.draws
    started = len(result.states) - 1  # the index of the state in which the failed step started
    result = result.with_missed_step()
    captions = PlanCaptions(result, goal, env.vocabulary.predicates)
    painter = _Painter(env, goal)
    frames: list[tuple[Image, Caption, int]] = []
    before = painter.record(result.states[0])
    for index, state in enumerate(result.states):
        after = painter.record(state) if index else before
        tween = Tween(before, after)
        if index:
            moving = captions.moving(index, result.states[index - 1])
            trace = _trace(env, result, index)
            frames += [(picture, moving, MOTION_MILLISECONDS) for picture in painter.motion(tween, trace)]
        frames.append((painter.paint(tween, 1.0), captions.still(index, state), STATE_MILLISECONDS))
        if draws and index == started:
            tried = painter.record(state, draws)
            tries = painter.paint(Tween(tried, tried), 1.0)
            frames.append((tries, captions.tries(index, state), TRIES_MILLISECONDS))
        before = after
    pictures, texts, milliseconds = zip(*frames, strict=True)
    return Film(add_captions(_cropped(pictures), texts), (*milliseconds[:-1], LAST_FRAME_MILLISECONDS))


def _trace(env: Environment, result: PlanningResult, step: int) -> list[State]:
    """Return at most `MOTION_FRAMES` states during a step; none if the domain has no `trace`.

    `step` is the number of the step, from 1.
    """
    if step > len(result.actions):
        return []
    states = list(env.trace(result.states[step - 1], result.actions[step - 1]))[:-1]
    return states[:: -(-len(states) // MOTION_FRAMES) or 1]


class PlanCaptions:
    """The captions of a film: for each step, one while it is executed and one when it has ended."""

    def __init__(
        self, result: PlanningResult, goal: AbstractState, predicates: Sequence[Predicate]
    ) -> None:
        self._titles, self._subgoals = step_titles(result.steps), result.expected_atoms(goal)
        states = [abstract(state, predicates) for state in result.states]
        # If the plan failed, the states after its last steps are missing; `map` stops at the last state.
        self._changes = ((), *map(unpredicted_changes, result.steps, states, states[1:]))
        self._added = (frozenset(), *map(predicted_atoms, result.steps))
        self._last, self._cause = len(result.states) - 1, cause_notes(result)
        failure = result.failure
        self._tries = 0 if failure is None else len(failure.draws) + failure.unlisted

    def moving(self, step: int, state: State) -> Caption:
        """Return the caption during a step, numbered from 1; `state` is the state before the step."""
        caption = make_caption(self._titles[step], self._subgoals[step], state, moving=True)
        return replace(caption, added=self._added[step])

    def still(self, step: int, state: State) -> Caption:
        """Return the caption of the state after a step; step 0 means the initial state."""
        caption = make_caption(self._titles[step], self._subgoals[step], state)
        notes = self._cause if step == self._last else ()
        return replace(caption, added=self._added[step], unpredicted=self._changes[step], notes=notes)

    def tries(self, step: int, state: State) -> Caption:
        """Return the caption of the picture that shows the tries of a failed step.

        `step` is the number of steps before the failed one.
        """
        tries = "1 try" if self._tries == 1 else f"{self._tries} tries"
        title = f"{self._titles[step + 1]}: {tries}"
        caption = make_caption(title, self._subgoals[step + 1], state, moving=True)
        return replace(caption, notes=self._cause)


def as_gif(film: Film) -> bytes:
    """Return a film as the bytes of a GIF file that repeats endlessly."""
    from PIL import Image

    # With one colour palette for all pictures, GIF stores only the pixels that change between pictures.
    colours = _contact_sheet(film).quantize()
    first, *others = (
        picture.quantize(palette=colours, dither=Image.Dither.NONE) for picture in film.pictures
    )
    durations = list(film.milliseconds)
    buffer = io.BytesIO()
    first.save(
        buffer, format="GIF", save_all=True, append_images=others, duration=durations, loop=0, disposal=1
    )
    return buffer.getvalue()


def as_mp4(film: Film) -> bytes:
    """Return a film as the bytes of an MP4 file; each picture is repeated for its duration."""
    ffmpeg = import_ffmpeg()
    # Make width and height even: most video players require it.
    width, height = (length // 2 * 2 for length in film.pictures[0].size)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        # Encode with one thread, so that equal films have equal bytes on every machine.
        writer = ffmpeg.write_frames(
            str(path),
            (width, height),
            fps=FRAMES_PER_SECOND,
            macro_block_size=2,
            output_params=["-threads", "1", "-movflags", "+faststart", "-bitexact"],
        )
        writer.send(None)
        for picture, milliseconds in zip(film.pictures, film.milliseconds, strict=True):
            pixels = np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:height, :width])
            for _ in range(max(1, round(milliseconds * FRAMES_PER_SECOND / 1000))):
                writer.send(pixels)
        writer.close()
        return path.read_bytes()


def import_ffmpeg() -> Any:
    """Return the module imageio_ffmpeg; raise `MissingExtraError` if it is not installed."""
    with importing_extra("household", "An MP4 film", ", or write a GIF instead"):
        import imageio_ffmpeg
    return imageio_ffmpeg


def add_captions(pictures: Sequence[Image], captions: Sequence[Caption]) -> tuple[Image, ...]:
    """Return each picture with its caption below it, or beside it if the pictures are not wide."""
    from PIL import Image

    width, height = pictures[0].size
    below = width > WIDE * height
    rows = min(MAX_ROWS, max(len(_atoms(caption)) for caption in captions))
    inside = width / DOTS_PER_INCH - MARGIN
    head = max(len(caption_lines(Caption(one.title, notes=one.notes), inside)) for one in captions)
    size = (
        (width, round((LINE_HEIGHT * (rows + head + 1) + MARGIN) * DOTS_PER_INCH))
        if below
        else (round(SIDE_CAPTION_WIDTH * DOTS_PER_INCH), height)
    )
    total = (width, height + size[1]) if below else (width + size[0], height)
    drawn: dict[Caption, Image.Image] = {}
    framed = []
    for picture, caption in zip(pictures, captions, strict=True):
        if caption not in drawn:
            drawn[caption] = draw_caption(caption, *(length / DOTS_PER_INCH for length in size))
        frame = Image.new("RGB", total, palette.WHITE)
        frame.paste(picture, (0, 0))
        frame.paste(drawn[caption], (0, height) if below else (width, 0))
        framed.append(frame)
    return tuple(framed)


def _atoms(caption: Caption) -> Sequence[object]:
    """Return the longer list of a caption: the atoms that the plan relies on, or the unpredicted changes.

    In a caption below a picture, both lists are side by side, so the longer one determines the height.
    """
    needed = (*caption.missing, *caption.pending, *caption.holds)
    return max(needed, caption.unpredicted, key=len)


def draw_caption(caption: Caption, width: float, height: float) -> Image:
    """Draw a caption as an image; width and height are in inches.

    Below the title are the notes, then the atoms that the plan relies on. Beside these atoms, or below them
    in a narrow image, are the changes that the operator does not predict.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor=palette.BACKGROUND)
    columns = 2 if width > height else 1
    column = width / columns
    head = caption_lines(Caption(caption.title, notes=caption.notes), width - MARGIN)
    lines = int((height - MARGIN) / LINE_HEIGHT) - len(head) + 1
    inside, room = column - MARGIN, lines * columns // 2 - 2
    atoms = [Line("The plan relies on", palette.GREY), *atom_lines(caption, inside, room)]
    top = height - MARGIN / 2
    write_lines(figure, [*head, *atoms], MARGIN / 2, top)
    top -= LINE_HEIGHT * (len(head) - 1)
    if caption.unpredicted:
        changes = [Line("Also changed, not predicted", palette.GREY), *_change_lines(caption, inside, room)]
        left = MARGIN / 2 + (columns - 1) * column
        write_lines(figure, changes, left, top - LINE_HEIGHT * (1 if columns == 2 else room + 2.5))
    return _as_image(figure)


def _change_lines(caption: Caption, width: float, max_lines: int) -> list[Line]:
    """Return the unpredicted changes, one per line; if there are too many, one line per predicate."""
    changes = caption.unpredicted
    if len(changes) > max_lines:
        counts = Counter((change[2:].partition("(")[0], change[0]) for change in changes)
        names = sorted({name for name, _ in counts})
        changes = tuple(f"{name}: {counts[name, '+']} true, {counts[name, '−']} false" for name in names)
    return wrap_lines([Line(change, palette.PURPLE) for change in changes], width, max_lines)


def _contact_sheet(film: Film) -> Image:
    """Return one image with thumbnails of all pictures of a film, one below the other."""
    from PIL import Image

    width, height = (max(1, length // THUMBNAIL_DIVISOR) for length in film.pictures[0].size)
    sheet = Image.new("RGB", (width, height * len(film.pictures)))
    for index, picture in enumerate(film.pictures):
        sheet.paste(picture.resize((width, height), Image.Resampling.NEAREST), (0, index * height))
    return sheet


class _Painter:
    """Records and paints pictures of the states of a task."""

    def __init__(self, env: Environment, goal: AbstractState) -> None:
        width, height = env.picture_size
        scale = min(1.0, MAX_WIDTH[width > WIDE * height] / width)
        self._env, self._goal = env, goal
        self._inches = (scale * width, scale * height)
        self._pixels = [round(length * DOTS_PER_INCH) for length in self._inches]

    def record(self, state: State, draws: Sequence[Draw] = ()) -> tuple[Mark, ...]:
        """Draw a state, and over it the tries of a failed step; return the drawn items."""
        from matplotlib.figure import Figure

        from needful.envs.drawing.tries import draw_tries
        from needful.envs.drawing.tweening import record_marks

        figure = Figure(figsize=self._inches, dpi=DOTS_PER_INCH, facecolor=palette.WHITE)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self._env.draw(state, axes, self._goal)
        if draws:
            draw_tries(self._env, axes, state, draws, self._goal)
        return record_marks(figure)

    def motion(self, tween: Tween, trace: Sequence[State]) -> list[Image]:
        """Return pictures of the states in `trace`; if it is empty, pictures interpolated by `tween`."""
        from needful.envs.drawing.tweening import Tween

        if trace:
            recorded = [self.record(state) for state in trace]
            return [self.paint(Tween(marks, marks), 1.0) for marks in recorded]
        return [self.paint(tween, _eased(number / MOTION_FRAMES)) for number in range(1, MOTION_FRAMES)]

    def paint(self, tween: Tween, share: float) -> Image:
        """Return the picture of `tween` at a time from 0 (first state) to 1 (second state)."""
        from PIL import Image

        return Image.fromarray(tween.draw(share, self._pixels[0], self._pixels[1], DOTS_PER_INCH))


def _cropped(pictures: Sequence[Image]) -> list[Image]:
    """Return pictures without the white margins that all of them have."""
    used = np.logical_or.reduce([(np.asarray(picture) < 255).any(axis=2) for picture in pictures])
    if not used.any():
        return list(pictures)
    margin = round(CROP_MARGIN * DOTS_PER_INCH)
    (top, *_, bottom), (left, *_, right) = (
        [max(0, index[0] - margin), min(len(line), index[-1] + 1 + margin)]
        for line in (used.any(axis=1), used.any(axis=0))
        for index in [np.flatnonzero(line)]
    )
    return [picture.crop((left, top, right, bottom)) for picture in pictures]


def _eased(share: float) -> float:
    """Return the progress of a motion that starts and ends slowly, at a time from 0 to 1."""
    return share * share * (3 - 2 * share)


def _as_image(figure: Figure) -> Image:
    from PIL import Image

    return Image.open(io.BytesIO(as_png(figure))).convert("RGB")
