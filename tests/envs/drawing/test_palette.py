"""Tests of colours."""

from __future__ import annotations

import pytest

from needful.envs.drawing import palette


@pytest.mark.parametrize(
    ("fraction", "colour"), [(0.0, "#fefefe"), (0.5, "#7fbf7f"), (0.25, "#bedebe"), (1.0, "#008000")]
)
def test_colours_are_blended_channel_by_channel(fraction: float, colour: str) -> None:
    assert palette.blend("#fefefe", "#008000", fraction) == colour
