"""A renderer of matplotlib that paints nothing but writes down what would be painted."""

from __future__ import annotations

import base64
import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.font_manager import weight_dict
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, BboxBase, Transform

from needful.reports.page.gallery import Form, Frame, Gallery, Place, Style, short

if TYPE_CHECKING:
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

DIGITS = 1
# Keeps halves, which lengths of drawings often are, from being rounded now up and now down.
NUDGE = 1e-6
# In matplotlib y grows upwards, in SVG downwards.
DOWNWARDS = np.array((1.0, -1.0))

MOVE, LINE, QUADRATIC, CUBIC, CLOSE = map(
    int, (Path.MOVETO, Path.LINETO, Path.CURVE3, Path.CURVE4, Path.CLOSEPOLY)
)
COMMANDS = {MOVE: "M", LINE: "L", QUADRATIC: "Q", CUBIC: "C"}
# After the first point of a curve come so many that belong to it.
FURTHER_POINTS = {QUADRATIC: 1, CUBIC: 2}
ANCHORS = {"left": ("start", 0.0), "center": ("middle", 0.5), "right": ("end", 1.0)}
CAPS = {"projecting": "square", "round": "round"}
BOLD = 600


class Recorder(RendererBase):
    """Writes down paths, texts and images of axes whose figure has 72 dots per inch."""

    def __init__(self, gallery: Gallery, size: Place) -> None:
        super().__init__()
        self.gallery = gallery
        self.size = size
        self.frame: list[int] = []
        self._groups: list[tuple[str | None, int]] = []
        self._setting: tuple[object, ...] = ()
        self._known: dict[tuple[object, ...], Frame] = {}
        self._forms: dict[tuple[bytes, bytes], str] = {}
        self._boxes: dict[int, tuple[BboxBase, np.ndarray, np.ndarray]] = {}
        self._measured: dict[tuple[object, ...], tuple[float, float, float]] = {}

    def record(self, axes: Axes) -> Frame:
        """Return the marks of everything on the axes.

        An artist with a group id is taken to look the same wherever it has that id on axes of the same
        limits, so it is recorded once. This spares the layout of legends, which is slow.
        """
        axes.apply_aspect()
        self._setting = (axes.bbox.bounds, axes.viewLim.bounds)
        for artist in axes.get_children():
            known = self._known.get((*self._setting, artist.get_gid()))
            if known is not None:
                artist.remove()
                axes.add_artist(_Again(known, artist.get_zorder()))
        self.frame = []
        self._groups.clear()
        self._boxes.clear()
        axes.draw(self)
        return tuple(self.frame)

    def open_group(self, s: str, gid: str | None = None) -> None:
        """Begin with an artist."""
        self._groups.append((gid, len(self.frame)))

    def close_group(self, s: str) -> None:
        """End with an artist."""
        gid, start = self._groups.pop()
        if gid is not None:
            self._known[(*self._setting, gid)] = tuple(self.frame[start:])

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None
    ) -> None:
        """Write down a path."""
        style = _paint(gc, rgbFace)
        outline = _finite(path.transformed(transform))
        points = np.asarray(outline.vertices)
        if style and len(points):
            x, y = points[0].tolist()
            style |= self._clip(gc, points)
            self._add(self._form(outline, points[0]), (x, self.size[1] - y), style)

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
        style: dict[str, str | float] = {"font-size": _rounded(prop.get_size_in_points())}
        style |= _colour("fill", gc, gc.get_rgb())
        if anchor != "start":
            style["text-anchor"] = anchor
        if _is_bold(prop.get_weight()):
            style["font-weight"] = "bold"
        if angle:
            style["rotate"] = _rounded(-angle)
        self._add((s,), (x + along[0], y + along[1]), style)

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
        self._add(form, (x, self.size[1] - y - height), {"width": width, "height": height})

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Measure text as it is written: dollars in names are no mathematics."""
        key = (s, prop.get_size_in_points(), prop.get_name(), prop.get_weight())
        if key not in self._measured:
            with warnings.catch_warnings():  # browsers have more letters than the font that measures
                warnings.simplefilter("ignore", UserWarning)
                self._measured[key] = super().get_text_width_height_descent(s, prop, False)
        return self._measured[key]

    def get_canvas_width_height(self) -> Place:
        """Return the size of a picture."""
        return self.size

    def flipy(self) -> bool:
        """Return that y grows downwards for texts."""
        return True

    def _add(self, form: Form, place: Place, style: dict[str, str | float]) -> None:
        rounded = (_rounded(place[0]), _rounded(place[1]))
        attributes: Style = tuple(sorted(style.items()))
        self.frame.append(self.gallery.mark(form, rounded, attributes))

    def _form(self, path: Path, start: np.ndarray) -> str:
        """Return a path as it is seen from a point."""
        seen = np.round((np.asarray(path.vertices) - start) * DOWNWARDS + NUDGE, DIGITS)
        codes = np.asarray([] if path.codes is None else path.codes)
        key = (seen.tobytes(), codes.tobytes())
        if key not in self._forms:
            self._forms[key] = _words(seen.tolist(), codes.tolist())
        return self._forms[key]

    def _clip(self, gc: GraphicsContextBase, points: np.ndarray) -> dict[str, str | float]:
        """Return the attribute that cuts a path off, unless all of it is inside of a box anyway."""
        box = gc.get_clip_rectangle()
        found: tuple[Any, Any] = gc.get_clip_path()  # a path and its transform, or twice None
        outline, transform = found
        if outline is None:
            if box is None:
                return {}
            low, high = self._corners(box)
            if ((points >= low) & (points <= high)).all():
                return {}
            outline, transform = Path.unit_rectangle(), Affine2D().scale(*(high - low)).translate(*low)
        top_left = np.array((0.0, self.size[1]))
        return {"clip": self.gallery.clip(self._form(outline.transformed(transform), top_left))}

    def _corners(self, box: BboxBase) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of a box; to find them takes long, and the marks of an artist share it."""
        if id(box) not in self._boxes:
            # The box is kept, so that no other one gets its id.
            self._boxes[id(box)] = (box, np.asarray(box.min), np.asarray(box.max))
        return self._boxes[id(box)][1:]


class _Again(Artist):
    """Stands for an artist that was recorded before."""

    def __init__(self, marks: Frame, zorder: float) -> None:
        super().__init__()
        self.marks = marks
        self.set_zorder(zorder)

    def draw(self, renderer: RendererBase) -> None:
        """Repeat the marks."""
        assert isinstance(renderer, Recorder)
        renderer.frame.extend(self.marks)


def _finite(path: Path) -> Path:
    """Return a path without the points that are nowhere, at which lines are interrupted."""
    if np.isfinite(path.vertices).all():
        return path
    cleaned = path.cleaned(remove_nans=True)
    drawn = np.asarray(cleaned.codes) != Path.STOP
    return Path(np.asarray(cleaned.vertices)[drawn], np.asarray(cleaned.codes)[drawn])


def _words(points: list[list[float]], codes: list[int]) -> str:
    """Return a path in the words of SVG; without codes it is a line from point to point."""
    words: list[str] = []
    further = 0
    for code, (x, y) in zip(codes or [MOVE, *[LINE] * (len(points) - 1)], points, strict=True):
        if code == CLOSE:
            words.append("Z")
        else:
            command = " " if further else COMMANDS[code]
            further = further - 1 if further else FURTHER_POINTS.get(code, 0)
            words.append(f"{command}{short(x)} {short(y)}")
    return "".join(words)


def _paint(gc: GraphicsContextBase, face: Any) -> dict[str, str | float]:
    """Return how a path is filled and stroked; nothing if it cannot be seen."""
    fill = {} if face is None else _colour("fill", gc, face)
    width = gc.get_linewidth()
    stroke = _colour("stroke", gc, gc.get_rgb()) if width > 0 else {}
    if not fill and not stroke:
        return {}
    style: dict[str, str | float] = {"fill": "none", **fill, **stroke}
    if stroke:
        style["stroke-width"] = _rounded(width, 2)
        if gc.get_joinstyle() != "miter":
            style["stroke-linejoin"] = gc.get_joinstyle()
        if gc.get_capstyle() in CAPS:
            style["stroke-linecap"] = CAPS[gc.get_capstyle()]
        dashes = gc.get_dashes()[1]
        if dashes is not None:
            lengths = np.asarray(dashes, dtype=float).tolist()
            style["stroke-dasharray"] = " ".join(str(_rounded(length, 2)) for length in lengths)
    return style


def _colour(what: str, gc: GraphicsContextBase, colour: Any) -> dict[str, str | float]:
    """Return a colour and how opaque it is; nothing if it cannot be seen."""
    alpha = gc.get_alpha() if gc.get_forced_alpha() or len(colour) == 3 else colour[3]
    if not alpha:
        return {}
    levels = bytes(round(255 * float(part)) for part in colour[:3])
    style: dict[str, str | float] = {what: f"#{levels.hex()}"}
    if alpha < 1:
        style[f"{what}-opacity"] = _rounded(alpha, 2)
    return style


def _is_bold(weight: str | int) -> bool:
    return weight_dict.get(weight, 400) >= BOLD if isinstance(weight, str) else weight >= BOLD


def _rounded(number: float, digits: int = DIGITS) -> float:
    return short(round(float(number) + NUDGE, digits))
