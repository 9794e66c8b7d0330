"""Captions as lines of text: as many atoms as a sheet holds, and how many more there are."""

from __future__ import annotations

import pytest

from needful.core.atoms import Predicate
from needful.core.objects import Type
from needful.envs.drawing.pictures import LINE_HEIGHT, Caption, caption_lines

CUP = Type("cup")
CLEAN = Predicate("Clean", (CUP,))


def caption(count: int, name: str = "cup") -> Caption:
    """Return a caption with so many atoms, the last of which does not hold."""
    atoms = tuple(CLEAN(CUP(f"{name}{number:02}")) for number in range(count))
    return Caption("1. Wash(cup00)", atoms[:-1], atoms[-1:])


@pytest.mark.parametrize(
    ("count", "lines", "last"),
    [
        (6, 0, "✓ Clean(cup04)"),
        (7, 0, "and 2 more"),
        (11, 12, "✓ Clean(cup09)"),
        (12, 12, "and 2 more"),
        (30, 12, "and 20 more"),
        (30, 31, "✓ Clean(cup28)"),
        (7, 3, "and 2 more"),  # so many are always shown
    ],
)
def test_a_sheet_is_filled_and_no_more(count: int, lines: int, last: str) -> None:
    found = [line.text for line in caption_lines(caption(count), 3.0, (lines + 0.5) * LINE_HEIGHT)]
    assert found[:2] == ["1. Wash(cup00)", f"✗ Clean(cup{count - 1:02})"]
    assert found[-1] == last
    assert len(found) <= max(lines, 7)


def test_atoms_that_take_two_lines_count_twice() -> None:
    found = caption_lines(caption(10, name="cup_with_a_very_long_name_"), 2.0, 17.5 * LINE_HEIGHT)
    assert len(found) <= 17
    assert found[-1].text == "and 3 more"
