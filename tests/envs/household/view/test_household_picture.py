"""Pictures of houses from above."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from needful.envs.contract import Split
from needful.envs.drawing import palette
from needful.envs.household.environment import LockingWindows, OpeningPresents
from needful.envs.household.scene.scene import RADIUS, REACH, ROBOT_OBJECT, THING


def empty_axes() -> Axes:
    return Figure(figsize=(8, 6)).add_subplot()


def bright_outlines(axes: Axes) -> list[np.ndarray]:
    _, things = axes.collections  # the first are the walls
    edges = map(to_hex, things.get_edgecolor())
    outlines = (path.vertices for path in things.get_paths())
    return [outline for outline, edge in zip(outlines, edges, strict=True) if edge == palette.RED]


def test_goal_things_have_bright_edges_and_the_robot_shows_its_reach() -> None:
    env = OpeningPresents()
    task = env.task(Split.TRAIN, 0, seed=0)
    axes = empty_axes()
    env.draw(task.initial_state, axes, task.goal)
    bright = bright_outlines(axes)
    packages = [obj for atom in task.goal for obj in atom.objects]
    for package in packages:
        x, y = task.initial_state[package][:2]
        assert any(np.allclose(outline[:-1].mean(axis=0), (x, y), atol=0.03) for outline in bright)
    x, y, *_ = task.initial_state[ROBOT_OBJECT]
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert {(circle.center, circle.radius) for circle in circles} == {((x, y), REACH), ((x, y), RADIUS)}


def test_all_things_lie_within_the_picture() -> None:
    env = OpeningPresents()
    state = env.task(Split.TEST, 0, seed=0).initial_state
    axes = empty_axes()
    env.draw(state, axes, frozenset())
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    for obj in state.of_type(THING):
        assert x0 < state.get(obj, "x") < x1
        assert y0 < state.get(obj, "y") < y1


def test_a_window_pane_is_drawn_at_its_angle() -> None:
    env = LockingWindows()
    state = env.task(Split.TRAIN, 0, seed=0).initial_state
    window = next(obj for obj in state if obj.name == "window_1")
    extents = []
    for joint in (0.0, 1.0):
        axes = empty_axes()
        env.draw(state.replace({window: {"joint": joint}}), axes, frozenset({_open(env, window)}))
        points = np.concatenate(bright_outlines(axes))
        extents.append(sorted(np.ptp(points, axis=0)))
    # Closed, it is as deep as the frame; open, it extends into the room by its width.
    assert extents[0][0] == pytest.approx(0.13, abs=0.02)
    assert extents[1][0] > 0.6


def _open(env: LockingWindows, window: object) -> object:
    (predicate,) = (p for p in env.vocabulary.predicates if p.name == "Open")
    return predicate(window)  # type: ignore[arg-type]
