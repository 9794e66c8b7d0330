"""Film a solved task of each domain, and write its learned operators, for the documentation.

Writes docs/images/DOMAIN.webp and docs/domain_operators/DOMAIN.txt. Household domains need OpenGL.

Usage: python docs/make_images.py [DOMAIN ...]
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import needful
from needful.envs.drawing.film import Film, Filmable, film_plan
from needful.paper.published import DOMAINS, protocol_of
from needful.storage.outputs import write_bytes, write_text

DOCS = Path(__file__).parent
TASKS = 6  # the film shows the shortest plan for these test tasks
MAX_WIDTH = 1000  # pixels


def make_images(name: str) -> None:
    """Learn a model of a domain from as many demonstrations as in the paper, and film one of its plans."""
    env, protocol = needful.make_environment(name), protocol_of(name)
    assert protocol is not None
    learned = needful.run(env, needful.RunConfig(demos=protocol.demos, tasks=0)).learned
    assert isinstance(learned, needful.LearnedModel)
    operators = "\n\n".join(map(str, learned.model.operators))
    write_text(DOCS / "domain_operators" / f"{name}.txt", f"{operators}\n")
    config = needful.PlanningConfig(timeout=protocol.timeout)
    plans = []
    for index, task in enumerate(env.tasks(needful.Split.TEST, TASKS, seed=0)):
        found = needful.plan(task, learned.model, env.execute, config, seed=index)
        if found.solved:
            plans.append((len(found.actions), index, task, found))
    _, _, task, found = min(plans, key=lambda entry: entry[:2])
    film = film_plan(env, found, task.goal)
    write_bytes(DOCS / "images" / f"{name}.webp", as_webp(film, lossless=not isinstance(env, Filmable)))
    print(DOCS / "images" / f"{name}.webp")


def as_webp(film: Film, lossless: bool) -> bytes:
    """Return a film as the bytes of a WebP file, which is smaller than a GIF file."""
    first, *others = film.pictures
    if first.width > MAX_WIDTH:
        size = (MAX_WIDTH, round(first.height * MAX_WIDTH / first.width))
        first, *others = (picture.resize(size) for picture in film.pictures)
    buffer = io.BytesIO()
    options = {"lossless": lossless, "quality": 100 if lossless else 60, "method": 4}
    first.save(
        buffer,
        format="WEBP",
        save_all=True,
        append_images=others,
        duration=list(film.milliseconds),
        loop=0,
        **options,
    )
    return buffer.getvalue()


if __name__ == "__main__":
    for domain in sys.argv[1:] or DOMAINS:
        make_images(domain)
