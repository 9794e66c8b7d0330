"""Tests of the predicate Sees: the view triangle and occlusion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from envs.satellite_skies import OBJ0, SAT0, SEEN, Sat, sky
from needful.abstraction import abstract
from needful.envs.contract import Split
from needful.envs.satellites import ClutteredSatellites, Occlusion, Satellites
from needful.errors import UnknownNameError

LINE, SEGMENT = Satellites(), Satellites("segment")


@pytest.mark.parametrize(
    ("position", "seen"),
    [
        ((0.7, 0.5), True),
        ((0.5 + 0.277, 0.5), True),
        ((0.5 + 0.278, 0.5), False),
        ((0.5 + 0.29 * math.cos(0.35), 0.5 + 0.29 * math.sin(0.35)), True),
        ((0.5 + 0.29, 0.5), False),
        ((0.7, 0.5 + 0.2 * math.tan(math.pi / 8) - 1e-6), True),
        ((0.7, 0.5 + 0.2 * math.tan(math.pi / 8) + 1e-6), False),
        ((0.7, 0.5 - 0.2 * math.tan(math.pi / 8) - 1e-6), False),
        ((0.3, 0.5), False),
        ((0.5, 0.7), False),
    ],
)
@pytest.mark.parametrize("env", [LINE, SEGMENT])
def test_the_view_is_a_triangle(env: Satellites, position: tuple[float, float], seen: bool) -> None:
    assert env.sees(SAT0, OBJ0).holds(sky([Sat()], [position])) is seen


@pytest.mark.parametrize("as_satellite", [False, True])
@pytest.mark.parametrize(
    ("position", "hides_on_line", "hides_on_segment"),
    [
        ((0.6, 0.5), True, True),
        ((0.6, 0.5399), True, True),
        ((0.6, 0.4601), True, True),
        ((0.6, 0.5401), False, False),
        ((0.4, 0.5), True, False),
        ((0.1, 0.461), True, False),
        ((0.9, 0.5), True, False),
        ((0.465, 0.5), True, True),
        ((0.735, 0.51), True, True),
        ((0.735, 0.535), True, False),
        ((0.4, 0.55), False, False),
    ],
)
def test_entities_near_the_line_of_sight_hide_the_object(
    position: tuple[float, float], hides_on_line: bool, hides_on_segment: bool, as_satellite: bool
) -> None:
    third = Sat(*position, theta=2.0)
    state = sky([Sat(), third], [SEEN]) if as_satellite else sky([Sat()], [SEEN, position])
    assert LINE.sees(SAT0, OBJ0).holds(state) is not hides_on_line
    assert SEGMENT.sees(SAT0, OBJ0).holds(state) is not hides_on_segment


def distance_to_sight(point: np.ndarray, start: np.ndarray, end: np.ndarray, occlusion: Occlusion) -> float:
    """Return the distance of a point from the line of sight, or from its segment."""
    fraction = float(np.dot(point - start, end - start) / np.dot(end - start, end - start))
    if occlusion == "segment":
        fraction = min(max(fraction, 0.0), 1.0)
    return float(np.linalg.norm(point - (start + fraction * (end - start))))


def depth_in_triangle(point: np.ndarray, corners: list[np.ndarray]) -> float:
    """Return the smallest distance of a point from the sides of a triangle, negative outside."""
    inside = []
    for one, two, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        side = corners[two] - corners[one]
        normal = np.array([-side[1], side[0]]) / np.linalg.norm(side)
        facing = np.sign(np.dot(normal, corners[third] - corners[one]))
        inside.append(float(facing * np.dot(normal, point - corners[one])))
    return min(inside)


coordinate = st.floats(0, 1)


@settings(max_examples=200, deadline=None)
@given(
    theta=st.floats(-math.pi, math.pi),
    turn=st.floats(-0.5, 0.5),
    distance=st.floats(0.05, 0.32),
    others=st.lists(st.tuples(coordinate, coordinate), max_size=3),
    occlusion=st.sampled_from(["line", "segment"]),
)
def test_sees_agrees_with_its_geometric_definition(
    theta: float,
    turn: float,
    distance: float,
    others: list[tuple[float, float]],
    occlusion: Occlusion,
) -> None:
    start = np.array([0.5, 0.5])
    end = start + distance * np.array([math.cos(theta + turn), math.sin(theta + turn)])
    corners = [
        start + 0.3 * np.array([math.cos(theta + side), math.sin(theta + side)])
        for side in (-math.pi / 8, math.pi / 8)
    ]
    depth = depth_in_triangle(end, [start, *corners])
    clearances = [distance_to_sight(np.array(other), start, end, occlusion) - 0.04 for other in others]
    assume(all(abs(margin) > 1e-9 for margin in (depth, *clearances)))
    state = sky([Sat(theta=theta)], [tuple(end), *others])
    sees = depth > 0 and all(clearance > 0 for clearance in clearances)
    assert Satellites(occlusion).sees(SAT0, OBJ0).holds(state) is sees


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_objects_visible_with_line_are_visible_with_segment(seed: int) -> None:
    cluttered, easier = ClutteredSatellites(), ClutteredSatellites("segment")
    state = cluttered.sample_task(Split.TEST, 0, np.random.default_rng(seed)).initial_state
    assert abstract(state, [cluttered.sees]) <= abstract(state, [easier.sees])


def test_an_unknown_occlusion_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'segment'\? Known: line, segment"):
        Satellites("segments")  # type: ignore[arg-type]
