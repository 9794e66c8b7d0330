"""Make the pictures of the tutorial in docs/images/tutorial, with the code that the tutorial shows.

Usage: python docs/make_tutorial_images.py
"""

from __future__ import annotations

import importlib
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import needful
from make_images import as_webp
from needful.envs.drawing.film import film_plan
from needful.envs.drawing.pictures import Caption, draw_film_strip, make_captions
from needful.evaluation.run_folder import RunFolder
from needful.reports.page.page import make_report
from needful.reports.page.recorded_run import read_run
from needful.storage.outputs import write_bytes

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "tutorial"
sys.path.insert(0, str(DOCS.parent / "tests"))

from headless_browser import open_browser  # noqa: E402

GARDENER = re.compile(r"```python\n(# gardener\.py.*?)```", re.DOTALL)
REPORT_SIZE = 1000, 640  # pixels
SHOW_LAST_OPERATOR = """
(() => {
  for (const one of document.querySelectorAll("#summary, #climb, #tasks")) one.hidden = true;
  const cards = [...document.querySelectorAll(".card")];
  cards.slice(0, -1).forEach(card => { card.hidden = true; });
  cards.at(-1).scrollIntoView({block: "center"});
})()
"""


def make_images(folder: Path) -> None:
    """Write the tutorial's domain to a folder, run it there, and draw the stages."""
    code = "\n".join(GARDENER.findall((DOCS / "tutorial.md").read_text("utf-8")))
    (folder / "gardener.py").write_text(code, "utf-8")
    sys.path.insert(0, str(folder))
    env: Any = importlib.import_module("gardener").Gardener()
    tasks = [env.task(split, 0, seed=0) for split in needful.Split]
    titles = [Caption("a training task"), Caption("a test task")]
    goal = tasks[0].goal | tasks[1].goal
    write_bytes(
        IMAGES / "tasks.png", draw_film_strip(env, [one.initial_state for one in tasks], titles, goal)
    )
    result = needful.run(env, needful.RunConfig(demos=30, tasks=20), RunFolder.create(folder / "run"))
    assert isinstance(result.learned, needful.LearnedModel)
    shown = needful.OracleDemonstrator(env).demonstrate(tasks[0], 0)
    captions = make_captions(shown.steps, shown.expected_atoms(tasks[0].goal), shown.states)
    write_bytes(IMAGES / "demonstration.png", draw_film_strip(env, shown.states, captions, tasks[0].goal))
    plan = needful.plan(tasks[1], result.learned.model, env.execute)
    write_bytes(IMAGES / "plan.webp", as_webp(film_plan(env, plan, tasks[1].goal), lossless=True))
    page = folder / "report.html"
    page.write_text(make_report([read_run(folder / "run")], lambda _: env), "utf-8")
    with open_browser(folder / "profile") as browser:
        browser.open(page, *REPORT_SIZE)
        browser.run(SHOW_LAST_OPERATOR)
        picture = Image.fromarray(browser.picture())
    buffer = io.BytesIO()
    picture.quantize(64, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    write_bytes(IMAGES / "report.png", buffer.getvalue())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        make_images(Path(temporary))
    print(IMAGES)
