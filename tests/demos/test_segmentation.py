"""Segmenters of episodes, on made-up actions and states."""

from __future__ import annotations

import pytest

from needful.core.controllers import Controller, GroundController
from needful.core.objects import Type
from needful.core.state import State
from needful.demos.episodes import Segment, segment_by_controller, segment_by_step

ROBOT = Type("robot", ("x",))
ROBBY = ROBOT("robby")
GO = Controller("Go", (ROBOT,), (0.0,), (9.0,))
STOP = Controller("Stop", (ROBOT,))
STATES = [State({ROBBY: (float(x),)}) for x in range(7)]


def controller_of(action: str, state: State) -> GroundController | None:
    """Return the controller of a letter; the parameter of `Go` is a digit or the robot's position."""
    if action[0] == "g":
        return GO(ROBBY, parameters=[float(action[1:] or state.get(ROBBY, "x"))])
    return STOP(ROBBY) if action == "s" else None


def by_step(actions: str) -> list[Segment]:
    return list(segment_by_step(controller_of)(STATES, actions.split()))


def by_controller(actions: str) -> list[Segment]:
    return list(segment_by_controller(controller_of)(STATES, actions.split()))


def go(target: float) -> GroundController:
    return GO(ROBBY, parameters=[target])


def test_every_step_is_a_segment() -> None:
    assert by_step("g1 g1 s ? g") == [
        Segment(go(1), 1),
        Segment(go(1), 2),
        Segment(STOP(ROBBY), 3),
        Segment(None, 4),
        Segment(go(4), 5),  # the state before the action
    ]
    assert by_step("") == []


def test_equal_neighbours_are_one_segment() -> None:
    assert by_controller("g1 g1 g2 s s g1") == [
        Segment(go(1), 2),
        Segment(go(2), 3),
        Segment(STOP(ROBBY), 5),
        Segment(go(1), 6),
    ]
    assert by_controller("") == []


def test_unexplained_steps_stay_apart() -> None:
    assert by_controller("s ? ? s") == [
        Segment(STOP(ROBBY), 1),
        Segment(None, 2),
        Segment(None, 3),
        Segment(STOP(ROBBY), 4),
    ]


def test_steps_are_explained_one_by_one() -> None:
    """An error is raised only after the segments before it."""
    segments = iter(segment_by_step(lambda action, state: go({"a": 1.0}[action]))(STATES, ["a", "b"]))
    assert next(segments) == Segment(go(1), 1)
    with pytest.raises(KeyError):
        next(segments)
