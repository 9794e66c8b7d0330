"""Films of plans in a house."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from needful.core.plans import Draw
from needful.envs.drawing.film import TRIES_MILLISECONDS
from needful.envs.household.view import film
from needful.envs.household.view.film import film_house
from opengl import skip_without_opengl
from tiny_errand import cut_short, run_errand


@pytest.fixture(scope="module")
def errand():
    skip_without_opengl()
    return run_errand()


def test_a_film_shows_the_house_and_the_captions(errand, monkeypatch):
    monkeypatch.setattr(film, "MAX_PICTURES", 13)
    monkeypatch.setattr(film, "HEIGHT", 240)
    monkeypatch.setattr(film, "WIDTH", 320)
    world, result = errand
    shown = film_house(world, result, result.subgoals[-1], ())
    assert len(result.states) < len(shown.pictures) == len(shown.milliseconds) <= 13
    assert {picture.size for picture in shown.pictures} == {(320 + 600, 240)}
    assert shown.milliseconds.count(film.STEP_MILLISECONDS) == len(result.states) - 1
    assert shown.milliseconds[-1] == 3000
    ends = [
        np.asarray(picture)[:, :320]
        for picture, pause in zip(shown.pictures, shown.milliseconds, strict=True)
        if pause > film.MILLISECONDS
    ]
    for one, other in itertools.pairwise(ends):
        assert 0 < (one != other).any(axis=2).mean() < 0.3
    captions = {np.asarray(picture)[:, 320:].tobytes() for picture in shown.pictures}
    assert len(captions) >= len(result.states)


def test_a_plan_that_failed_has_a_film_too(errand, monkeypatch):
    monkeypatch.setattr(film, "MAX_PICTURES", 3)
    world, result = errand
    assert 2 <= len(film_house(world, cut_short(result, 1), result.subgoals[-1], ()).pictures) <= 3


def test_the_tries_of_a_failed_step_are_shown(errand, monkeypatch):
    monkeypatch.setattr(film, "MAX_PICTURES", 3)
    world, result = errand
    failed = cut_short(result, 1)
    draws = tuple(
        Draw(result.actions[1].parameters, failed.outcome, state=state) for state in result.states[4:6]
    )
    missed = replace(failed, failure=replace(failed.failure, draws=draws))
    shown = film_house(world, missed, result.subgoals[-1], ())
    where = shown.milliseconds.index(TRIES_MILLISECONDS)
    before, tries = (np.asarray(shown.pictures[index])[:, : film.WIDTH] for index in (where - 1, where))
    assert 0.001 < (before != tries).any(axis=2).mean() < 0.2
