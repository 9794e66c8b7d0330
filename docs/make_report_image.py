"""Make docs/images/report.png: a screenshot of the report of a run in Chromium.

Usage: python docs/make_report_image.py
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

import needful
from needful.evaluation.run_folder import RunFolder
from needful.reports.page.page import make_report
from needful.reports.page.recorded_run import read_run
from needful.storage.outputs import write_bytes

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from headless_browser import open_browser  # noqa: E402

WIDTH, HEIGHT = 1120, 1880
COLOURS = 96
# Show two operator cards and, below them, a task in the middle of its plan.
SHOW = """
(() => {
  for (const name of ["summary", "climb"]) document.getElementById(name).hidden = true;
  document.querySelectorAll(".card").forEach((card, index) => { card.hidden = index > 1; });
  const slider = document.querySelector(".player input");
  slider.value = 3;
  slider.dispatchEvent(new Event("input"));
})()
"""


def draw_report(folder: Path) -> bytes:
    """Run Screws, open the report in Chromium, and return the screenshot as PNG."""
    env = needful.make_environment("screws")
    needful.run(env, needful.RunConfig(demos=50, tasks=50), RunFolder.create(folder / "run"))
    page = folder / "report.html"
    page.write_text(make_report([read_run(folder / "run")], lambda _: env))
    with open_browser(folder / "profile") as browser:
        browser.open(page, WIDTH, HEIGHT)
        browser.run(SHOW)
        shown = Image.fromarray(browser.picture())
    buffer = io.BytesIO()
    shown.quantize(COLOURS, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        write_bytes(DOCS / "images" / "report.png", draw_report(Path(temporary)))
    print(DOCS / "images" / "report.png")
