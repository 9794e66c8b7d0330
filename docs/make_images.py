"""Draw the pictures in docs/images: a film strip and an animation of one solved task per domain.

Household domains have long plans and get only the animation.

Usage: python docs/make_images.py [DOMAIN ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import needful
from needful.envs.drawing.film import Filmable, as_gif, film_plan
from needful.envs.drawing.pictures import draw_film_strip, make_captions
from needful.storage.outputs import write_bytes

IMAGES = Path(__file__).parent / "images"


def draw_domain(name: str) -> None:
    """Learn a model of a domain and draw the shortest plan for its first six test tasks."""
    env = needful.make_environment(name)
    learned = needful.run(env, needful.RunConfig(demos=50, tasks=0)).learned
    assert isinstance(learned, needful.LearnedModel)
    plans = []
    for index, task in enumerate(env.tasks(needful.Split.TEST, 6, seed=0)):
        found = needful.plan(task, learned.model, env.execute, seed=index)
        if found.solved:
            plans.append((len(found.actions), index, task, found))
    _, _, task, found = min(plans, key=lambda entry: entry[:2])
    write_bytes(IMAGES / f"{name}.gif", as_gif(film_plan(env, found, task.goal)))
    if not isinstance(env, Filmable):
        captions = make_captions(found.abstract_plan, found.subgoals, found.states)
        strip = draw_film_strip(env, found.states, captions, task.goal)
        write_bytes(IMAGES / f"{name}.png", strip)
    print(IMAGES / f"{name}.*")


if __name__ == "__main__":
    for domain in sys.argv[1:] or needful.environment_names():
        draw_domain(domain)
