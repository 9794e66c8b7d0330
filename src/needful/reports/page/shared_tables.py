"""Tables of the marks (drawn items) of pictures, and of the texts of atoms, for the HTML page.

Each entry is stored once and has a number. Other data of the page contains only this number, which keeps
the page small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from needful.core.atoms import GroundAtom

# What a mark (one drawn item) shows: SVG path data, a text `(text,)`, or an image `("", PNG as base64)`.
Form: TypeAlias = str | tuple[str] | tuple[str, str]
# The style of a mark: sorted pairs of an SVG attribute and its value. Default values are omitted.
Style: TypeAlias = tuple[tuple[str, str | float], ...]
Point: TypeAlias = tuple[float, float]
# A picture: the numbers of its marks, from back to front.
Frame: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MarkTable:
    """The marks of many pictures, each stored once.

    A mark is one drawn item. It has a form (a path, a text or an image), a position and a style. A style
    can contain the number of an outline in `clips`: then only the part of the mark inside the outline is
    visible. Each dictionary maps its entries to their numbers: 0, 1, 2 and so on.
    """

    forms: dict[Form, int] = field(default_factory=dict)
    styles: dict[Style, int] = field(default_factory=dict)
    clips: dict[str, int] = field(default_factory=dict)
    marks: dict[tuple[int, float, float, int], int] = field(default_factory=dict)

    def mark(self, form: Form, point: Point, style: Style) -> int:
        """Return the number of the mark with this form, position and style; add the mark if it is new."""
        form_number = self.forms.setdefault(form, len(self.forms))
        style_number = self.styles.setdefault(style, len(self.styles))
        return self.marks.setdefault((form_number, *point, style_number), len(self.marks))

    def clip(self, outline: str) -> int:
        """Return the number of a clip outline, given as SVG path data; add the outline if it is new."""
        return self.clips.setdefault(outline, len(self.clips))

    def as_json(self) -> dict[str, Any]:
        """Return the forms, styles, clip outlines and marks as lists; an entry's index is its number."""
        return {
            "forms": list(self.forms),
            "styles": [dict(style) for style in self.styles],
            "clips": list(self.clips),
            "marks": [
                (form, compact_number(x), compact_number(y), style) for form, x, y, style in self.marks
            ],
        }


def run_length_pairs(frame: Iterable[int]) -> list[int]:
    """Return a compressed picture: the first number and the length of each run of consecutive numbers.

    For example, the mark numbers 3, 4, 5, 9 become [3, 3, 9, 1]. Items that do not move usually have
    consecutive numbers, so most pictures consist of a few runs.
    """
    pairs: list[int] = []
    for number in frame:
        if pairs and pairs[-2] + pairs[-1] == number:
            pairs[-1] += 1
        else:
            pairs += [number, 1]
    return pairs


def compact_number(number: float) -> float:
    """Return a number in its shortest JSON form: a whole number becomes an int."""
    return int(number) if float(number).is_integer() else number


@dataclass(frozen=True, slots=True)
class AtomList:
    """The texts of all atoms on a page, each stored once."""

    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, atoms: Iterable[GroundAtom]) -> list[int]:
        """Return the number of each atom, in sorted order of the atoms; add atoms that are new."""
        return [self.numbers.setdefault(str(atom), len(self.numbers)) for atom in sorted(atoms)]

    def texts(self) -> list[str]:
        """Return the texts of all atoms; the index of a text is the atom's number."""
        return list(self.numbers)
