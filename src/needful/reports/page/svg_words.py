"""Paths and looks of matplotlib in the words of SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.path import Path

from needful.reports.page.gallery import short

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase

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
CAPS = {"projecting": "square", "round": "round"}


def path_words(path: Path, start: np.ndarray) -> str:
    """Return a path as it is seen from a point; without codes it is a line from point to point."""
    points = np.round((np.asarray(path.vertices) - start) * DOWNWARDS + NUDGE, DIGITS).tolist()
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
        fill = {} if self.face is None else colour_words("fill", self.face, self.alpha)
        stroke = colour_words("stroke", self.edge, self.alpha) if self.width > 0 else {}
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


def colour_words(what: str, colour: Any, alpha: float | None) -> dict[str, str | float]:
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
    return short(round(float(number) + NUDGE, digits))
