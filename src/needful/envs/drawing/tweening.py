"""Pictures between two states: items that moved are drawn on the way from one place to the other.

A `DrawingRecorder` records what `Environment.draw` draws as marks: paths, texts and images. `pair_marks`
finds marks of two pictures that may be the same item. Like the report page, it first pairs marks with the
same structure and style, then marks with the same structure only. `Tween` draws the pictures in between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform, Transform

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

Colour: TypeAlias = tuple[float, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """An item that matplotlib drew: a path, a text or an image.

    Attributes:
        points: the vertices of a path, or the position of a text or an image.
        content: what stays the same while the item moves: its kind ("path", "text" or "image"), then the
            codes of the path, the text and its font, or the image.
        gc: matplotlib's graphics context, with line width, colours and clipping.
        face: the fill colour of a path, or None.
    """

    points: np.ndarray
    content: tuple[Any, ...]
    gc: GraphicsContextBase
    face: Colour = None

    @property
    def structure(self) -> Hashable:
        """Equal for two marks if one can gradually become the other, such as polygons of four points."""
        kind, *rest = self.content
        if kind == "path":
            return kind, len(self.points), None if rest[0] is None else rest[0].tobytes()
        return (kind, rest[0], rest[1].get_size_in_points()) if kind == "text" else (kind, rest[0].shape)

    @property
    def style(self) -> Hashable:
        """The colours and the line width."""
        return self.face, tuple(self.gc.get_rgb()), float(self.gc.get_linewidth())

    @property
    def identity(self) -> Hashable:
        """A key; equal if two marks look the same at the same place. Pixels of images are ignored."""
        return self.structure, self.style, np.round(self.points, 2).tobytes()


class DrawingRecorder(RendererBase):
    """A matplotlib renderer that records each drawn item as a `Mark`; it measures texts as Agg does."""

    def __init__(self, width: int, height: int, dpi: float) -> None:
        super().__init__()
        self._canvas: Any = RendererAgg(width, height, dpi)  # type: ignore[no-untyped-call]
        self._size = (width, height)
        self.marks: list[Mark] = []

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None
    ) -> None:
        """Record a path."""
        shown = path.transformed(transform)
        face = None if rgbFace is None else tuple(rgbFace)
        self.marks.append(Mark(np.array(shown.vertices), ("path", shown.codes), self._copy(gc), face))

    def draw_text(
        self, gc: GraphicsContextBase, x: float, y: float, s: str, *font: Any, **options: Any
    ) -> None:
        """Record a line of text; `font` has matplotlib's font properties and the angle."""
        content = ("text", s, *font, options.get("ismath", False))
        self.marks.append(Mark(np.array([x, y]), content, self._copy(gc)))

    def draw_image(
        self, gc: GraphicsContextBase, x: float, y: float, im: Any, transform: Any = None
    ) -> None:
        """Record an image."""
        self.marks.append(Mark(np.array([x, y]), ("image", np.array(im)), self._copy(gc)))

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Return the size of a text in pixels."""
        size: tuple[float, float, float] = self._canvas.get_text_width_height_descent(s, prop, ismath)
        return size

    def get_canvas_width_height(self) -> tuple[float, float]:
        """Return the size of the picture in pixels."""
        return self._size

    def points_to_pixels(self, points: Any) -> Any:
        """Convert lengths from points (1/72 inch) to pixels."""
        return self._canvas.points_to_pixels(points)

    def flipy(self) -> bool:
        """Return True: the y of texts grows downwards, as in `RendererAgg`."""
        return True

    def _copy(self, gc: GraphicsContextBase) -> GraphicsContextBase:
        copied = self.new_gc()
        copied.copy_properties(gc)
        return copied


def record_marks(figure: Figure) -> tuple[Mark, ...]:
    """Return everything that is drawn on a figure, one `Mark` per path, text or image."""
    width, height = (round(length * figure.dpi) for length in figure.get_size_inches())
    recorder = DrawingRecorder(width, height, figure.dpi)
    figure.draw(recorder)
    return tuple(recorder.marks)


def pair_marks(before: Sequence[Mark], after: Sequence[Mark]) -> dict[Mark, Mark]:
    """Map each item in `before` that moved or changed to the item in `after` that it became, if any."""
    still = {mark.identity for mark in before} & {mark.identity for mark in after}
    left = [mark for mark in before if mark.identity not in still]
    right = [mark for mark in after if mark.identity not in still]
    keys: tuple[Callable[[Mark], Hashable], ...] = (
        lambda mark: (mark.structure, mark.style),
        lambda mark: mark.structure,
    )
    pairs: dict[Mark, Mark] = {}
    for key in keys:
        waiting: dict[Hashable, list[Mark]] = defaultdict(list)
        for mark in reversed(right):
            waiting[key(mark)].append(mark)
        for mark in left:
            if waiting[key(mark)]:
                pairs[mark] = waiting[key(mark)].pop()
        paired = set(pairs.values())
        left = [mark for mark in left if mark not in pairs]
        right = [mark for mark in right if mark not in paired]
    return pairs


@dataclass(frozen=True)
class Tween:
    """Draws the pictures of a motion between two recorded pictures, given by their marks."""

    before: tuple[Mark, ...]
    after: tuple[Mark, ...]

    @cached_property
    def _pairs(self) -> dict[Mark, Mark]:
        return pair_marks(self.before, self.after)

    @cached_property
    def _origins(self) -> dict[Mark, Mark]:
        return {target: mark for mark, target in self._pairs.items()}

    def draw(self, share: float, width: int, height: int, dpi: float) -> np.ndarray:
        """Return the pixels of the picture at a time from 0 (before) to 1 (after)."""
        canvas: Any = RendererAgg(width, height, dpi)  # type: ignore[no-untyped-call]
        canvas.clear()
        for mark in self.before if share < 0.5 else self.after:
            start = mark if share < 0.5 else self._origins.get(mark)
            target = self._pairs.get(start) if start is not None else None
            if start is None or target is None:
                _draw(canvas, mark, mark.points, mark.face)
            else:
                _draw(
                    canvas,
                    mark,
                    _mixed(start.points, target.points, share),
                    _mixed_colour(start, target, share),
                )
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def _mixed(before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    return np.asarray(before + (after - before) * share)


def _mixed_colour(start: Mark, target: Mark, share: float) -> Colour:
    if start.face is None or target.face is None or len(start.face) != len(target.face):
        return start.face if share < 0.5 else target.face
    return tuple(_mixed(np.array(start.face), np.array(target.face), share).tolist())


def _draw(canvas: Any, mark: Mark, points: np.ndarray, face: Colour) -> None:
    kind, *content = mark.content
    if kind == "path":
        canvas.draw_path(mark.gc, Path(points, content[0]), IdentityTransform(), face)
    elif kind == "text":
        text, font, angle, is_formula = content
        canvas.draw_text(mark.gc, points[0], points[1], text, font, angle, is_formula)
    else:
        canvas.draw_image(mark.gc, points[0], points[1], content[0])
