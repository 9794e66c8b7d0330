"""Vector pictures of states: a matplotlib renderer that records drawn items instead of painting pixels.

`StateRenderer` draws the states of any environment that implements `draw`. `RecordingRenderer` records the
paths, texts and images in a `MarkTable`; there a drawn item is called a mark.
`path_to_svg` and `PathStyle` convert paths and styles to SVG.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.figure import Figure
from matplotlib.font_manager import weight_dict
from matplotlib.patches import Rectangle
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, BboxBase, IdentityTransform, Transform

from needful.core.atoms import AbstractState
from needful.core.state import State
from needful.envs.contract import Environment
from needful.reports.page.inline_page import Form, Frame, MarkTable, Point, Style, compact_number

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.font_manager import FontProperties

DIGITS = 1
# Added to numbers before rounding, so that a number halfway between two rounded ones is always rounded up.
ROUNDING_OFFSET = 1e-6
# Points are multiplied by this vector, because y grows upwards in matplotlib and downwards in SVG.
FLIP_Y = np.array((1.0, -1.0))

MOVE, LINE, QUADRATIC, CUBIC, CLOSE = map(
    int, (Path.MOVETO, Path.LINETO, Path.CURVE3, Path.CURVE4, Path.CLOSEPOLY)
)
COMMANDS = {MOVE: "M", LINE: "L", QUADRATIC: "Q", CUBIC: "C"}
# For each kind of curve segment: the number of points that follow its first control point.
FURTHER_POINTS = {QUADRATIC: 1, CUBIC: 2}
CAPS = {"projecting": "square", "round": "round"}
# For each horizontal alignment of text: SVG's `text-anchor`, and the anchor's position from 0 (left) to 1.
ANCHORS = {"left": ("start", 0.0), "center": ("middle", 0.5), "right": ("end", 1.0)}
BOLD = 600

# The matplotlib properties that determine how an artist looks: those of all artists (LOOK), and those of
# texts and of rectangles.
LOOK = "alpha clip_on sketch_params visible"
TEXT_LOOK = "text position color rotation ha va fontproperties bbox_patch"
RECTANGLE_LOOK = "xy width height angle facecolor edgecolor hatch linewidth linestyle joinstyle capstyle"
LOOKS: dict[type, str] = {Text: f"{LOOK} {TEXT_LOOK}", Rectangle: f"{LOOK} {RECTANGLE_LOOK}"}

POINTS_PER_INCH = 72
# Wider pictures are shrunk to this width, because text sizes are chosen for pictures up to this width.
MAX_WIDTH_INCHES = 6.0


def path_to_svg(path: Path, start: np.ndarray) -> str:
    """Return a matplotlib path as SVG path data, with coordinates relative to the point `start`."""
    points = np.round((np.asarray(path.vertices) - start) * FLIP_Y + ROUNDING_OFFSET, DIGITS).tolist()
    straight = [MOVE, *[LINE] * (len(points) - 1)]
    codes = straight if path.codes is None else np.asarray(path.codes).tolist()
    parts: list[str] = []
    further = 0
    for code, (x, y) in zip(codes, points, strict=True):
        if code == CLOSE:
            parts.append("Z")
        else:
            command = " " if further else COMMANDS[code]
            further = further - 1 if further else FURTHER_POINTS.get(code, 0)
            parts.append(f"{command}{compact_number(x)} {compact_number(y)}")
    return "".join(parts)


class PathStyle(NamedTuple):
    """The style of a path, as a hashable value.

    Attributes:
        face: the fill colour, or None.
        edge: the stroke colour.
        alpha: the opacity of fill and stroke, or None to use the alpha values of the two colours.
        width: the stroke width in points.
        join, cap: the join and cap styles of the stroke.
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
    def of(cls, gc: GraphicsContextBase, face: Any) -> PathStyle:
        """Return the style that a matplotlib graphics context and a fill colour describe."""
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

    def attributes(self) -> dict[str, str | float]:
        """Return the style as SVG attributes; no attributes if the path is invisible."""
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


def colour_to_svg(attribute: str, colour: Any, alpha: float | None) -> dict[str, str | float]:
    """Return a colour as SVG attributes; no attributes if the colour is fully transparent.

    `attribute` is "fill" or "stroke". `alpha`, if given, replaces the alpha of the colour.
    """
    opacity = alpha if alpha is not None else colour[3] if len(colour) > 3 else 1.0
    if not opacity:
        return {}
    levels = bytes(round(255 * float(part)) for part in colour[:3])
    style: dict[str, str | float] = {attribute: f"#{levels.hex()}"}
    if opacity < 1:
        style[f"{attribute}-opacity"] = rounded(opacity, 2)
    return style


def rounded(number: float, digits: int = DIGITS) -> float:
    """Return a number rounded to `digits` decimals; a whole number becomes an int."""
    return compact_number(round(float(number) + ROUNDING_OFFSET, digits))


class RecordingRenderer(RendererBase):
    """Record the paths, texts and images on matplotlib axes as marks of a `MarkTable`.

    The figure of the axes must have 72 dots per inch, so that one dot is one point.
    """

    def __init__(self, mark_table: MarkTable, size: Point) -> None:
        super().__init__()
        self.mark_table = mark_table
        self.size = size
        self.frame: list[int] = []
        self._top_left = np.array((0.0, size[1]))
        # Caches: matplotlib draws all artists again for each picture, and many of them did not change.
        self._known_artists: dict[Hashable, Frame] = {}
        self._known_paths: dict[tuple[Hashable, ...], Frame] = {}
        self._known_bounds: dict[int, tuple[BboxBase, tuple[float, ...]]] = {}
        self._known_lengths: dict[tuple[Hashable, ...], tuple[float, float, float]] = {}

    def record(self, axes: Axes) -> Frame:
        """Draw the axes and return the numbers of all marks (drawn items) on them.

        To save time, an artist that looks like one in an earlier picture is not drawn again: the marks of
        the earlier one are used. Two artists count as alike if they have the same group id (`gid`), or if
        they are texts or rectangles with the same properties. So artists with the same `gid` must look the
        same whenever the axes have the same position and limits. All other artists are drawn again.
        """
        axes.apply_aspect()
        setting = (axes.bbox.bounds, axes.viewLim.bounds)
        for artist in axes.get_children():
            look = artist.get_gid() or _appearance(artist, axes)
            if look is not None:
                draw = partial(self._draw_once, (*setting, look), artist.draw)
                artist.draw = draw  # type: ignore[method-assign]
        self.frame = []
        self._known_bounds.clear()
        axes.draw(self)
        return tuple(self.frame)

    def _draw_once(self, look: Hashable, draw: Callable[[RendererBase], None], _: RendererBase) -> None:
        """Draw an artist; if one with the same `look` (a key) was drawn before, reuse its marks."""
        known = self._known_artists.get(look)
        if known is None:
            start = len(self.frame)
            draw(self)
            self._known_artists[look] = tuple(self.frame[start:])
        else:
            self.frame.extend(known)

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None
    ) -> None:
        """Add a path to the current picture, as a mark (a numbered drawn item in the `MarkTable`).

        If an equal path with the same style and clipping was drawn before, its mark is used again. An
        invisible path has no mark.
        """
        style, clip = PathStyle.of(gc, rgbFace), self._clip_shape(gc)
        curved = path if transform.is_affine else transform.transform_path_non_affine(path)
        matrix = transform.get_affine().get_matrix()
        key = (
            style,
            clip,
            *(np.asarray(part).tobytes() for part in (curved.vertices, curved.codes, matrix)),
        )
        if key not in self._known_paths:
            self._known_paths[key] = self._new_path(curved.transformed(Affine2D(matrix)), style, clip)
        self.frame.extend(self._known_paths[key])

    def draw_text(
        self, gc: GraphicsContextBase, x: float, y: float, s: str, *font: Any, **options: Any
    ) -> None:
        """Add a line of text with its alignment to the current picture, as a mark (drawn item).

        The browser uses another font, in which the text has another width. With the alignment, the browser
        can place the text correctly. `font` has matplotlib's font properties and the angle.
        """
        (prop, angle), text = font, options.get("mtext")
        anchor, share = ANCHORS[text.get_horizontalalignment() if text is not None else "left"]
        width = self.get_text_width_height_descent(s, prop, ismath=False)[0]
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
        """Add an image to the current picture, as a mark (drawn item) with the pixels in PNG format."""
        from PIL import Image

        pixels = np.ascontiguousarray(im[::-1])
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, format="png")
        height, width = pixels.shape[:2]
        form = ("", base64.b64encode(buffer.getvalue()).decode())
        point = (x, self.size[1] - y - height)
        self.frame.append(self._mark(form, point, {"width": width, "height": height}))

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Return the width, height and descent of a text; `$` does not start a formula."""
        key = (s, prop.get_size_in_points(), prop.get_name(), prop.get_weight())
        if key not in self._known_lengths:
            # Ignore warnings about letters that the font lacks: the browser's font may have them.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                self._known_lengths[key] = super().get_text_width_height_descent(s, prop, False)
        return self._known_lengths[key]

    def get_canvas_width_height(self) -> Point:
        """Return the width and height of a picture in points."""
        return self.size

    def flipy(self) -> bool:
        """Return True: matplotlib then passes text positions whose y grows downwards."""
        return True

    def _mark(self, form: Form, point: Point, style: dict[str, str | float]) -> int:
        attributes: Style = tuple(sorted(style.items()))
        return self.mark_table.mark(form, (rounded(point[0]), rounded(point[1])), attributes)

    def _new_path(self, path: Path, style: PathStyle, clip: str | tuple[float, ...] | None) -> Frame:
        """Add a path to the `MarkTable`; return its number as a 1-tuple, or () if the path is invisible."""
        outline, attributes = _finite(path), style.attributes()
        points = np.asarray(outline.vertices)
        if not attributes or not len(points):
            return ()
        if isinstance(clip, tuple):
            clip = self._clip_rectangle(points, *clip)
        if clip is not None:
            attributes["clip"] = self.mark_table.clip(clip)
        x, y = points[0].tolist()
        return (self._mark(path_to_svg(outline, points[0]), (x, self.size[1] - y), attributes),)

    def _clip_shape(self, gc: GraphicsContextBase) -> str | tuple[float, ...] | None:
        """Return the clip region of a graphics context: SVG path data, rectangle bounds, or None."""
        bounds = gc.get_clip_rectangle()
        found: tuple[Any, Any] = gc.get_clip_path()  # A path and its transform, or (None, None).
        if found[0] is not None:
            return path_to_svg(found[0].transformed(found[1]), self._top_left)
        if bounds is None:
            return None
        # Many paths share one `bounds` object. Its extents are slow to compute and therefore cached by its
        # id. The cache also keeps the object alive: otherwise a new object could get the same id.
        if id(bounds) not in self._known_bounds:
            self._known_bounds[id(bounds)] = (bounds, tuple(map(float, bounds.extents)))
        return self._known_bounds[id(bounds)][1]

    def _clip_rectangle(self, points: np.ndarray, *extents: float) -> str | None:
        """Return a clip rectangle as SVG path data; None if it contains all `points` and clips nothing."""
        low, high = np.array(extents[:2]), np.array(extents[2:])
        if ((points >= low) & (points <= high)).all():
            return None
        rectangle = Path.unit_rectangle().transformed(Affine2D().scale(*(high - low)).translate(*low))
        return path_to_svg(rectangle, self._top_left)


def _appearance(artist: Artist, axes: Axes) -> Hashable:
    """Return a key that is equal for artists that look the same; None for artists without such a key."""
    names = LOOKS.get(type(artist))
    transform = artist.get_data_transform() if isinstance(artist, Rectangle) else artist.get_transform()
    if names is None or transform is not axes.transData or artist.get_path_effects():
        return None
    look = tuple(getattr(artist, f"get_{name}")() for name in names.split())
    return look if all(isinstance(value, Hashable) for value in look) else None


def _finite(path: Path) -> Path:
    """Return a path without its NaN or infinite points; the line is interrupted at these points."""
    if np.isfinite(path.vertices).all():
        return path
    cleaned = path.cleaned(remove_nans=True)
    drawn = np.asarray(cleaned.codes) != Path.STOP
    return Path(np.asarray(cleaned.vertices)[drawn], np.asarray(cleaned.codes)[drawn])


def _is_bold(weight: str | int) -> bool:
    return weight_dict.get(weight, 400) >= BOLD if isinstance(weight, str) else weight >= BOLD


class StateRenderer:
    """Draws the states of one environment as pictures that consist of marks (drawn items).

    All states are drawn on the same axes, because new axes are slow to create.
    """

    def __init__(self, environment: Environment) -> None:
        shrink = min(1.0, MAX_WIDTH_INCHES / environment.picture_size[0])
        width, height = (shrink * length for length in environment.picture_size)
        self.environment = environment
        self.size = (POINTS_PER_INCH * width, POINTS_PER_INCH * height)
        self.mark_table = MarkTable()
        self._recorder = RecordingRenderer(self.mark_table, self.size)
        figure = Figure(figsize=(width, height), dpi=POINTS_PER_INCH)
        self._axes = _FixedLimitAxes(figure, (0.0, 0.0, 1.0, 1.0))
        figure.add_axes(self._axes)
        self._empty = frozenset(self._axes.get_children())

    def frame(self, state: State, goal: AbstractState) -> Frame:
        """Draw a state of a task with this goal; return the numbers of the drawn items in `mark_table`."""
        self._clear_axes()
        self.environment.draw(state, self._axes, goal)
        return self._recorder.record(self._axes)

    def _clear_axes(self) -> None:
        """Remove all drawn items from the axes; `Axes.clear` is slower than drawing most states."""
        legend = self._axes.get_legend()
        for artist in self._axes.get_children():
            if artist is legend:
                artist.set_visible(False)  # `draw_legend` shows it again
            elif artist not in self._empty:
                artist.remove()
        for text in (self._axes.title, self._axes.xaxis.label, self._axes.yaxis.label):
            text.set_text("")
        self._axes.set_prop_cycle(None)
        self._axes.relim()


class _Background(Rectangle):
    """The background of the axes. Every artist is clipped by it, so its transform must be fast."""

    def get_patch_transform(self) -> Transform:
        """Return the identity: the background is the unit square in the coordinates of the axes."""
        return IdentityTransform()


class _FixedLimitAxes(Axes):
    """Matplotlib axes with a faster `add_patch` for the case that autoscaling is off.

    Matplotlib updates the data limits for each new patch. This is slow, and only autoscaling needs it.
    """

    def _gen_axes_patch(self) -> Rectangle:
        return _Background((0.0, 0.0), 1.0, 1.0)

    def add_patch(self, p: Any) -> Any:
        """Add a patch to the axes; update the data limits only if autoscaling is on."""
        autoscaled = self.get_autoscalex_on() or self.get_autoscaley_on()
        return super().add_patch(p) if autoscaled else self.add_artist(p)
