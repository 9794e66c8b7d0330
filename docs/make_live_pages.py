"""Make the live samples of the documentation: a report, and a plan in a house in 3D.

Writes docs/live/painting_run.html and docs/live/sorting_books.html with the commands that the pages name.

Usage: python docs/make_live_pages.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

LIVE = Path(__file__).parent / "live"


def needful(*arguments: object) -> None:
    """Run a command of `needful`."""
    subprocess.run([sys.executable, "-m", "needful", *map(str, arguments)], check=True)


def make_live_pages(folder: Path) -> None:
    """Run both domains in a folder and write their pages."""
    needful("run", "painting", "--tasks", 20, "--out", folder / "painting")
    needful("report", folder / "painting", "--out", LIVE / "painting_run.html", "--force")
    house = ("sorting-books", "--timeout", 60)
    needful("run", *house, "--demos", 10, "--tasks", 0, "--out", folder / "books")
    needful("plan", folder / "books", *house, "--page", LIVE / "sorting_books.html", "--force")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        make_live_pages(Path(temporary))
    for page in sorted(LIVE.iterdir()):
        print(page)
