from __future__ import annotations

import io

import pytest
from PIL import Image, ImageSequence

from envs.plan_following import follow
from needful.core.plans import necessary_atoms
from needful.envs.catalogue import make_environment
from needful.envs.contract import Split
from needful.envs.drawing.film import draw_animation
from needful.envs.drawing.pictures import make_captions
from needful.errors import InvalidInputError


def test_an_animation_shows_each_state_and_waits_at_the_end() -> None:
    env = make_environment("cluttered-1d")
    (task,) = env.tasks(Split.TEST, 1, seed=0)
    move, grasp = env.oracle_model().operators
    (wanted,) = task.goal
    plan = (move.ground(wanted.objects), grasp.ground(wanted.objects))
    states = follow(env, task.initial_state, plan)
    captions = make_captions(plan, necessary_atoms(plan, task.goal), states)
    gif = draw_animation(env, states, captions, task.goal)
    frames = [
        (frame.info["duration"], frame.convert("RGB").tobytes())
        for frame in ImageSequence.Iterator(Image.open(io.BytesIO(gif)))
    ]
    assert [duration for duration, _ in frames] == [1200, 1200, 3000]
    assert len({pixels for _, pixels in frames}) == len(states) == 3
    assert gif == draw_animation(env, states, captions, task.goal)
    with pytest.raises(InvalidInputError, match="a caption for each"):
        draw_animation(env, states, captions[:1], task.goal)
