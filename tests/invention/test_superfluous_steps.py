"""Demonstrations with superfluous steps are set aside if enough others remain."""

from __future__ import annotations

from dataclasses import replace

from gripping_world import Gripping
from needful import ScriptedDemonstrator, collect_demonstrations
from needful.demos.imperfections import insert_detours
from needful.invention.invent import LEAST_REMAINING, has_superfluous_step, without_detours

WORLD = Gripping()


def test_demonstrations_with_superfluous_steps_are_set_aside() -> None:
    count = LEAST_REMAINING + 2
    clean = collect_demonstrations(WORLD, ScriptedDemonstrator(WORLD), count, 0).demonstrations
    assert without_detours(clean, WORLD.execute) == clean
    (longer,) = insert_detours(clean[:1], WORLD, 1.0, 0)
    assert len(longer) > len(clean[0])
    assert has_superfluous_step(longer, WORLD.execute)
    assert without_detours((longer, *clean[1:]), WORLD.execute) == clean[1:]


def test_all_demonstrations_are_kept_if_too_few_would_remain() -> None:
    clean = collect_demonstrations(WORLD, ScriptedDemonstrator(WORLD), LEAST_REMAINING, 0).demonstrations
    (longer,) = insert_detours(clean[:1], WORLD, 1.0, 0)
    for some in ((longer, *clean[1:]), (longer, longer, *clean[1:])):
        assert without_detours(some, WORLD.execute) == some


def test_a_demonstration_without_states_is_not_suspected() -> None:
    (one,) = collect_demonstrations(WORLD, ScriptedDemonstrator(WORLD), 1, 0).demonstrations
    assert not has_superfluous_step(replace(one, states=None), WORLD.execute)
