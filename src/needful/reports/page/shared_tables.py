"""Atoms in writing, listed once and referred to by number.

What pictures are made of, each thing kept once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from needful.core.atoms import GroundAtom

# A path in the words of SVG, a text `(text,)`, or an image `("", PNG as base64)`.
Form: TypeAlias = str | tuple[str] | tuple[str, str]
# Attributes of SVG, sorted; those that have their default are left out.
Style: TypeAlias = tuple[tuple[str, str | float], ...]
Place: TypeAlias = tuple[float, float]
# The numbers of marks, from the back to the front.
Frame: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MarkTable:
    """The marks of many pictures. A mark is a form, drawn from a place on, in a style.

    Each dictionary maps what it holds to a number, counted from 0.
    """

    forms: dict[Form, int] = field(default_factory=dict)
    styles: dict[Style, int] = field(default_factory=dict)
    clips: dict[str, int] = field(default_factory=dict)
    marks: dict[tuple[int, float, float, int], int] = field(default_factory=dict)

    def mark(self, form: Form, place: Place, style: Style) -> int:
        """Return the number of a mark, a new one if there is none like it."""
        form_number = self.forms.setdefault(form, len(self.forms))
        style_number = self.styles.setdefault(style, len(self.styles))
        return self.marks.setdefault((form_number, *place, style_number), len(self.marks))

    def clip(self, outline: str) -> int:
        """Return the number of the outline that something is cut off at."""
        return self.clips.setdefault(outline, len(self.clips))

    def as_json(self) -> dict[str, Any]:
        """Return everything that frames refer to."""
        return {
            "forms": list(self.forms),
            "styles": [dict(style) for style in self.styles],
            "clips": list(self.clips),
            "marks": [(form, short(x), short(y), style) for form, x, y, style in self.marks],
        }


def run_length_pairs(frame: Iterable[int]) -> list[int]:
    """Return numbers as pairs of a first number and how many follow each other from there.

    Things that stand still got their numbers one after the other, so most pictures are few ranges.
    """
    pairs: list[int] = []
    for number in frame:
        if pairs and pairs[-2] + pairs[-1] == number:
            pairs[-1] += 1
        else:
            pairs += [number, 1]
    return pairs


def short(number: float) -> float:
    """Return a number that is short when it is written down; a whole one without a point."""
    return int(number) if float(number).is_integer() else number


@dataclass(frozen=True, slots=True)
class AtomList:
    """The atoms that a page speaks of."""

    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, atoms: Iterable[GroundAtom]) -> list[int]:
        """Return the numbers of atoms, in the order of the atoms."""
        return [self.numbers.setdefault(str(atom), len(self.numbers)) for atom in sorted(atoms)]

    def texts(self) -> list[str]:
        """Return all atoms by number."""
        return list(self.numbers)
