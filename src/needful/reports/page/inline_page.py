"""Self-contained HTML pages: a page is one file, needs no network and runs only its own script.

The page contains its data as JSON. In `MarkTable` and `AtomList`, each mark (drawn item) of a picture and
each text of an atom is stored once and has a number. Other data contains only this number, which keeps the
page small.
"""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeAlias

from needful.core.atoms import GroundAtom

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
# What a mark (one drawn item) shows: SVG path data, a text `(text,)`, or an image `("", PNG as base64)`.
Form: TypeAlias = str | tuple[str] | tuple[str, str]
# The style of a mark: sorted pairs of an SVG attribute and its value. Default values are omitted.
Style: TypeAlias = tuple[tuple[str, str | float], ...]
Point: TypeAlias = tuple[float, float]
# A picture: the numbers of its marks (drawn items, see `MarkTable`), from back to front.
Frame: TypeAlias = tuple[int, ...]


def fill_page(
    template: str, style: str, script: str, data: object, texts: Mapping[str, str], connects: bool = False
) -> str:
    """Return an HTML page: the shared head and the template of the body, with their placeholders filled in.

    The placeholders {{style}}, {{script}} and {{data}} (as JSON) stand for these arguments. Each key of
    `texts` is also a placeholder, for its value as escaped HTML; the key "title" is required. {{policy}}
    stands for a content security policy that allows only this script, this style and images in data URLs.
    With `connects`, the script may also send requests to the server of the page. Equal arguments give equal
    pages.
    """
    policy = (
        f"default-src 'none'; script-src {_policy_hash(script)}; style-src {_policy_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    ) + ("; connect-src 'self'" if connects else "")
    values = {
        "policy": policy,
        "style": style,
        "script": script,
        "data": as_safe_json(data),
        **{name: html.escape(text) for name, text in texts.items()},
    }
    # Fill in all placeholders in one pass, so that inserted text that looks like a placeholder stays.
    return PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], shared_asset("head.html") + template)


def join_scripts(*parts: Iterable[str]) -> str:
    """Join scripts into one strict-mode function that runs at once, so that their names are not global."""
    return "".join(['(() => {\n"use strict";\n', *itertools.chain(*parts), "})();\n"])


def shared_asset(name: str) -> str:
    """Return the text of a script or style that several pages share."""
    return files("needful.envs.drawing").joinpath(name).read_text(encoding="utf-8")


def as_safe_json(value: object) -> str:
    """Return a value as JSON that is safe inside an HTML script element: <, > and & are escaped."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy_hash(text: str) -> str:
    """Return the hash of an inline script or style, by which a content security policy allows it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


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
        """Return the number of the drawn item with this form, position and style; add it if it is new."""
        form_number = self.forms.setdefault(form, len(self.forms))
        style_number = self.styles.setdefault(style, len(self.styles))
        return self.marks.setdefault((form_number, *point, style_number), len(self.marks))

    def clip(self, outline: str) -> int:
        """Return the number of a clip outline, given as SVG path data; add the outline if it is new."""
        return self.clips.setdefault(outline, len(self.clips))

    def as_json(self) -> dict[str, Any]:
        """Return one list per dictionary; the index of an entry in its list is the entry's number."""
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

    `frame` has the numbers of the picture's drawn items. For example, 3, 4, 5, 9 become [3, 3, 9, 1]. Items
    that do not move usually have consecutive numbers, so most pictures consist of a few runs.
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
