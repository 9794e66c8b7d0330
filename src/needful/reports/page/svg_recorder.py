"""Pictures of states as vectors, for any environment that can draw itself with matplotlib.

Paths and looks of matplotlib in the words of SVG.

A renderer of matplotlib that paints nothing but writes down what would be painted.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.figure import Figure
from matplotlib.font_manager import weight_dict
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, BboxBase, Transform

from needful.core.atoms import AbstractState
from needful.core.state import State
from needful.envs.contract import Environment
from needful.reports.page.shared_tables import Form, Frame, MarkTable, Place, Style, short

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

DIGITS = 1
# Keeps halves, which lengths of drawings often are, from being rounded now up and now down.
ROUNDING_OFFSET = 1e-6
# In matplotlib y grows upwards, in SVG downwards.
FLIP_Y = np.array((1.0, -1.0))

MOVE, LINE, QUADRATIC, CUBIC, CLOSE = map(
    int, (Path.MOVETO, Path.LINETO, Path.CURVE3, Path.CURVE4, Path.CLOSEPOLY)
)
COMMANDS = {MOVE: "M", LINE: "L", QUADRATIC: "Q", CUBIC: "C"}
# After the first point of a curve come so many that belong to it.
FURTHER_POINTS = {QUADRATIC: 1, CUBIC: 2}
CAPS = {"projecting": "square", "round": "round"}


def path_to_svg(path: Path, start: np.ndarray) -> str:
    """Return a path as it is seen from a point; without codes it is a line from point to point."""
    points = np.round((np.asarray(path.vertices) - start) * FLIP_Y + ROUNDING_OFFSET, DIGITS).tolist()
    straight = [MOVE, *[LINE] * (len(points) - 1)]
    codes = straight if path.codes is None else np.asarray(path.codes).tolist()
    words: list[str] = []
    further = 0
    for code, (x, y) in zip(codes, points, strict=True):
        if code == CLOSE:
            words.append("Z")
        else:
            command = " " if further else COMMANDS[code]
            further = further - 1 if further else FURTHER_POINTS.get(code, 0)
            words.append(f"{command}{short(x)} {short(y)}")
    return "".join(words)


class Look(NamedTuple):
    """All that tells how a path is painted; looks can be compared.

    Attributes:
        face: the colour inside, or None.
        edge: the colour of the stroke.
        alpha: how opaque both are, or None if their colours tell.
        width: of the stroke, in points.
        join, cap: the shapes of corners and ends of the stroke.
        dashes: the lengths of dashes and gaps, or None.
    """

    face: tuple[float, ...] | None
    edge: tuple[float, ...]
    alpha: float | None
    width: float
    join: str
    cap: str
    dashes: tuple[float, ...] | None

    @classmethod
    def of(cls, gc: GraphicsContextBase, face: Any) -> Look:
        """Return the look that a graphics context gives to a path with a face of some colour."""
        dashes: Any = gc.get_dashes()[1]
        return cls(
            None if face is None else tuple(face),
            tuple(gc.get_rgb()),
            gc.get_alpha() if gc.get_forced_alpha() else None,
            float(gc.get_linewidth()),
            gc.get_joinstyle(),
            gc.get_capstyle(),
            None if dashes is None else tuple(dashes),
        )

    def style(self) -> dict[str, str | float]:
        """Return the attributes of SVG; none if there is nothing to be seen."""
        fill = {} if self.face is None else colour_to_svg("fill", self.face, self.alpha)
        stroke = colour_to_svg("stroke", self.edge, self.alpha) if self.width > 0 else {}
        if not fill and not stroke:
            return {}
        style: dict[str, str | float] = {"fill": "none", **fill, **stroke}
        if stroke:
            style["stroke-width"] = rounded(self.width, 2)
            if self.join != "miter":
                style["stroke-linejoin"] = self.join
            if self.cap in CAPS:
                style["stroke-linecap"] = CAPS[self.cap]
            if self.dashes is not None:
                style["stroke-dasharray"] = " ".join(str(rounded(length, 2)) for length in self.dashes)
        return style


def colour_to_svg(what: str, colour: Any, alpha: float | None) -> dict[str, str | float]:
    """Return a colour and how opaque it is; nothing if it cannot be seen.

    Without an alpha for all, that of the colour counts, if it has one.
    """
    opacity = alpha if alpha is not None else colour[3] if len(colour) > 3 else 1.0
    if not opacity:
        return {}
    levels = bytes(round(255 * float(part)) for part in colour[:3])
    style: dict[str, str | float] = {what: f"#{levels.hex()}"}
    if opacity < 1:
        style[f"{what}-opacity"] = rounded(opacity, 2)
    return style


def rounded(number: float, digits: int = DIGITS) -> float:
    """Return a number with few digits, which is short when it is written down."""
    return short(round(float(number) + ROUNDING_OFFSET, digits))


ANCHORS = {"left": ("start", 0.0), "center": ("middle", 0.5), "right": ("end", 1.0)}
BOLD = 600


class Recorder(RendererBase):
    """Writes down paths, texts and images of axes whose figure has 72 dots per inch."""

    def __init__(self, gallery: MarkTable, size: Place) -> None:
        super().__init__()
        self.gallery = gallery
        self.size = size
        self.frame: list[int] = []
        self._top_left = np.array((0.0, size[1]))
        self._groups: list[tuple[str | None, int]] = []
        self._setting: tuple[Hashable, ...] = ()
        # What was found out before, because matplotlib draws everything anew for each picture.
        self._known_groups: dict[tuple[Hashable, ...], Frame] = {}
        self._known_paths: dict[tuple[Hashable, ...], Frame] = {}
        self._known_boxes: dict[int, tuple[BboxBase, tuple[float, ...]]] = {}
        self._known_lengths: dict[tuple[Hashable, ...], tuple[float, float, float]] = {}

    def record(self, axes: Axes) -> Frame:
        """Return the marks of everything on the axes.

        An artist with a group id is taken to look the same wherever it has that id on axes of the same
        limits, so it is recorded once. This spares the layout of legends, which is slow.
        """
        axes.apply_aspect()
        self._setting = (axes.bbox.bounds, axes.viewLim.bounds)
        for artist in axes.get_children():
            known = self._known_groups.get((*self._setting, artist.get_gid()))
            if known is not None:
                artist.draw = partial(_repeat, known)  # type: ignore[method-assign]
        self.frame = []
        self._groups.clear()
        self._known_boxes.clear()
        axes.draw(self)
        return tuple(self.frame)

    def open_group(self, s: str, gid: str | None = None) -> None:
        """Begin with an artist."""
        self._groups.append((gid, len(self.frame)))

    def close_group(self, s: str) -> None:
        """End with an artist."""
        gid, start = self._groups.pop()
        if gid is not None:
            self._known_groups[(*self._setting, gid)] = tuple(self.frame[start:])

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None
    ) -> None:
        """Write down a path; that of a thing that stands still is known from another picture."""
        look, cut = Look.of(gc, rgbFace), self._cut(gc)
        bent = path if transform.is_affine else transform.transform_path_non_affine(path)
        matrix = transform.get_affine().get_matrix()
        key = (look, cut, *(np.asarray(part).tobytes() for part in (bent.vertices, bent.codes, matrix)))
        if key not in self._known_paths:
            self._known_paths[key] = self._new_path(bent.transformed(Affine2D(matrix)), look, cut)
        self.frame.extend(self._known_paths[key])

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Text | None = None,
    ) -> None:
        """Write down a line of text, anchored as it is aligned: other fonts are not as wide."""
        anchor, share = ANCHORS[mtext.get_horizontalalignment() if mtext is not None else "left"]
        width = self.get_text_width_height_descent(s, prop, ismath)[0]
        along = Affine2D().rotate_deg(-angle).transform((share * width, 0.0))
        style: dict[str, str | float] = {"font-size": rounded(prop.get_size_in_points())}
        style |= colour_to_svg("fill", gc.get_rgb(), gc.get_alpha() if gc.get_forced_alpha() else None)
        if anchor != "start":
            style["text-anchor"] = anchor
        if _is_bold(prop.get_weight()):
            style["font-weight"] = "bold"
        if angle:
            style["rotate"] = rounded(-angle)
        self.frame.append(self._mark((s,), (x + along[0], y + along[1]), style))

    def draw_image(
        self, gc: GraphicsContextBase, x: float, y: float, im: Any, transform: Any = None
    ) -> None:
        """Write down an image."""
        from PIL import Image

        pixels = np.ascontiguousarray(im[::-1])
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, format="png")
        height, width = pixels.shape[:2]
        form = ("", base64.b64encode(buffer.getvalue()).decode())
        place = (x, self.size[1] - y - height)
        self.frame.append(self._mark(form, place, {"width": width, "height": height}))

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Measure text as it is written: dollars in names are no mathematics."""
        key = (s, prop.get_size_in_points(), prop.get_name(), prop.get_weight())
        if key not in self._known_lengths:
            with warnings.catch_warnings():  # browsers have more letters than the font that measures
                warnings.simplefilter("ignore", UserWarning)
                self._known_lengths[key] = super().get_text_width_height_descent(s, prop, False)
        return self._known_lengths[key]

    def get_canvas_width_height(self) -> Place:
        """Return the size of a picture."""
        return self.size

    def flipy(self) -> bool:
        """Return that y grows downwards for texts."""
        return True

    def _mark(self, form: Form, place: Place, style: dict[str, str | float]) -> int:
        attributes: Style = tuple(sorted(style.items()))
        return self.gallery.mark(form, (rounded(place[0]), rounded(place[1])), attributes)

    def _new_path(self, path: Path, look: Look, cut: str | tuple[float, ...] | None) -> Frame:
        """Return the mark of a path, if it can be seen."""
        outline, style = _finite(path), look.style()
        points = np.asarray(outline.vertices)
        if not style or not len(points):
            return ()
        if isinstance(cut, tuple):
            cut = self._clip_rectangle(points, *cut)
        if cut is not None:
            style["clip"] = self.gallery.clip(cut)
        x, y = points[0].tolist()
        return (self._mark(path_to_svg(outline, points[0]), (x, self.size[1] - y), style),)

    def _cut(self, gc: GraphicsContextBase) -> str | tuple[float, ...] | None:
        """Return at what a path is to be cut off: an outline in words, a box, or nothing."""
        box = gc.get_clip_rectangle()
        found: tuple[Any, Any] = gc.get_clip_path()  # a path and its transform, or twice None
        if found[0] is not None:
            return path_to_svg(found[0].transformed(found[1]), self._top_left)
        if box is None:
            return None
        # The marks of an artist share a box, and to find out where it is takes long. It is kept with
        # its place, so that no other box gets its id.
        if id(box) not in self._known_boxes:
            self._known_boxes[id(box)] = (box, tuple(map(float, box.extents)))
        return self._known_boxes[id(box)][1]

    def _clip_rectangle(self, points: np.ndarray, *extents: float) -> str | None:
        """Return a box as an outline in words, unless the points are all inside of it."""
        low, high = np.array(extents[:2]), np.array(extents[2:])
        if ((points >= low) & (points <= high)).all():
            return None
        box = Path.unit_rectangle().transformed(Affine2D().scale(*(high - low)).translate(*low))
        return path_to_svg(box, self._top_left)


def _repeat(marks: Frame, renderer: RendererBase) -> None:
    """Draw an artist that was recorded before."""
    assert isinstance(renderer, Recorder)
    renderer.frame.extend(marks)


def _finite(path: Path) -> Path:
    """Return a path without the points that are nowhere, at which lines are interrupted."""
    if np.isfinite(path.vertices).all():
        return path
    cleaned = path.cleaned(remove_nans=True)
    drawn = np.asarray(cleaned.codes) != Path.STOP
    return Path(np.asarray(cleaned.vertices)[drawn], np.asarray(cleaned.codes)[drawn])


def _is_bold(weight: str | int) -> bool:
    return weight_dict.get(weight, 400) >= BOLD if isinstance(weight, str) else weight >= BOLD


POINTS_PER_INCH = 72
# Environments choose sizes of text that suit a panel of a film strip, which is not wider.
MAX_WIDTH_INCHES = 6.0


class StateRenderer:
    """Draws the states of one environment, all on the same axes, which saves most of the time."""

    def __init__(self, environment: Environment) -> None:
        shrink = min(1.0, MAX_WIDTH_INCHES / environment.picture_size[0])
        width, height = (shrink * length for length in environment.picture_size)
        self.environment = environment
        self.size = (POINTS_PER_INCH * width, POINTS_PER_INCH * height)
        self.gallery = MarkTable()
        self._recorder = Recorder(self.gallery, self.size)
        figure = Figure(figsize=(width, height), dpi=POINTS_PER_INCH)
        self._axes = _FixedLimitAxes(figure, (0.0, 0.0, 1.0, 1.0))
        figure.add_axes(self._axes)
        self._empty = frozenset(self._axes.get_children())

    def frame(self, state: State, goal: AbstractState) -> Frame:
        """Return the picture of a state."""
        self._clear_axes()
        self.environment.draw(state, self._axes, goal)
        return self._recorder.record(self._axes)

    def _clear_axes(self) -> None:
        """Make the axes empty again; `Axes.clear` does more, but takes longer than most drawings."""
        for artist in self._axes.get_children():
            if artist not in self._empty:
                artist.remove()
        for text in (self._axes.title, self._axes.xaxis.label, self._axes.yaxis.label):
            text.set_text("")
        self._axes.set_prop_cycle(None)
        self._axes.relim()


class _FixedLimitAxes(Axes):
    """Axes that do not look how far patches reach once their limits are set, because that takes long."""

    def add_patch(self, p: Any) -> Any:
        """Add a patch."""
        growing = self.get_autoscalex_on() or self.get_autoscaley_on()
        return super().add_patch(p) if growing else self.add_artist(p)
