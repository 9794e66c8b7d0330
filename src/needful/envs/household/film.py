"""A film of a plan in a house: what happens on the left, the step and its subgoal on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needful.core.atoms import AbstractState
from needful.core.plans import PlanningResult
from needful.envs.drawing.animation import DOTS_PER_INCH, LAST_FRAME_MILLISECONDS, draw_sheet
from needful.envs.drawing.captions import Caption, judged, titles_of
from needful.envs.drawing.film import Film
from needful.envs.household.footage import footage, rooms_shown
from needful.envs.household.rendering import HouseRenderer, overview
from needful.envs.household.world import World

if TYPE_CHECKING:
    from PIL.Image import Image

# Without a graphics card a picture takes about a fifth of a second.
MOST_PICTURES = 80
WIDTH, HEIGHT = 640, 480
MILLISECONDS, STEP_MILLISECONDS = 100, 400


def film_house(world: World, result: PlanningResult, goal: AbstractState) -> Film:
    """Return a film of a plan as far as it went; needs OpenGL."""
    from PIL import Image

    scene = world.model.scene
    shots = footage(world, result, MOST_PICTURES)
    titles, subgoals = titles_of(result.steps), result.milestones(goal)
    captions = [judged(titles[shot.step], subgoals[shot.step], shot.state) for shot in shots]
    camera = overview(scene, rooms_shown(scene, shots, goal), WIDTH / HEIGHT)
    sheets: dict[Caption, Image.Image] = {}
    pictures = []
    with HouseRenderer(world.model, WIDTH, HEIGHT) as renderer:
        for shot, caption in zip(shots, captions, strict=True):
            if caption not in sheets:
                sheets[caption] = draw_sheet(caption, HEIGHT / DOTS_PER_INCH)
            house = Image.fromarray(renderer.frame(shot.state, camera))
            pictures.append(_side_by_side(house, sheets[caption]))
    pauses = [STEP_MILLISECONDS if shot.last else MILLISECONDS for shot in shots]
    return Film(tuple(pictures), (*pauses[:-1], LAST_FRAME_MILLISECONDS))


def _side_by_side(left: Image, right: Image) -> Image:
    from PIL import Image

    both = Image.new("RGB", (left.width + right.width, left.height))
    both.paste(left, (0, 0))
    both.paste(right, (left.width, 0))
    return both
