"""Pictures of states: reused axes give the same pictures as new ones."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes

from lamp_world import HOSTILE, Lamps
from needful.core.atoms import AbstractState
from needful.core.state import State
from needful.envs.catalogue import CATALOGUE, make_environment
from needful.envs.contract import Environment, Split
from needful.reports.page.svg_recorder import MAX_WIDTH_INCHES, POINTS_PER_INCH, StateRenderer

ANALYTIC = sorted(name for name, entry in CATALOGUE.items() if entry.extra is None)


def full_marks(renderer: StateRenderer, state: State, goal: AbstractState) -> list[tuple[object, ...]]:
    """Return the marks of a picture in full, to compare pictures of different renderers."""
    frame = renderer.frame(state, goal)
    forms, styles, marks = (
        list(getattr(renderer.mark_table, name)) for name in ("forms", "styles", "marks")
    )
    return [(forms[f], x, y, styles[s]) for f, x, y, s in (marks[number] for number in frame)]


@pytest.mark.parametrize("name", ANALYTIC)
def test_a_picture_does_not_depend_on_those_before_it(name: str) -> None:
    env = make_environment(name)
    tasks = env.tasks(Split.TEST, 2, seed=0)
    used = StateRenderer(env)
    for task in tasks:
        full_marks(used, task.initial_state, task.goal)
    for task in tasks:
        fresh = full_marks(StateRenderer(env), task.initial_state, task.goal)
        assert full_marks(used, task.initial_state, task.goal) == fresh
        assert len(fresh) > 5
    numbered = len(used.mark_table.marks)
    full_marks(used, tasks[0].initial_state, tasks[0].goal)
    assert len(used.mark_table.marks) == numbered


def test_pictures_are_no_wider_than_a_panel_of_a_film_strip() -> None:
    painting, screws = (
        StateRenderer(make_environment("painting")),
        StateRenderer(make_environment("screws")),
    )
    assert painting.size[0] == MAX_WIDTH_INCHES * POINTS_PER_INCH
    for renderer in (painting, screws):
        width, height = renderer.environment.picture_size
        assert renderer.size[1] / renderer.size[0] == pytest.approx(height / width)
        assert renderer.size[0] <= width * POINTS_PER_INCH


class Changing(Environment):
    """Draw with matplotlib's defaults, and differently each time."""

    name = "changing"
    drawn = 0

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        self.drawn += 1
        axes.plot([0, self.drawn], [0, 1])
        axes.fill_between([0, self.drawn], [0, 1])
        if self.drawn == 1:
            axes.set_title("only once")
            axes.set_xlabel("only once")
            axes.legend(["only once"])
            axes.bar([0], [50])

    simulate = sample_task = oracle_model = None  # type: ignore[assignment]


def test_nothing_stays_on_the_axes_for_the_next_picture() -> None:
    env, state = Changing.__new__(Changing), State({})
    used = StateRenderer(env)
    first = full_marks(used, state, frozenset())
    assert [mark[0] for mark in first].count(("only once",)) == 3
    second = full_marks(used, state, frozenset())
    env.drawn = 1
    assert full_marks(StateRenderer(env), state, frozenset()) == second
    assert ("only once",) not in [mark[0] for mark in second]


def test_names_can_be_anything() -> None:
    env = Lamps(HOSTILE)
    task = env.task(Split.TEST, 0, seed=0)
    texts = [
        form
        for form, *_ in full_marks(StateRenderer(env), task.initial_state, task.goal)
        if isinstance(form, tuple)
    ]
    assert texts == [(name,) for name in sorted(HOSTILE.lamps)]
