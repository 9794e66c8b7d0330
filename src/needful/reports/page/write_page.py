"""Write the page: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from needful.envs.drawing.inline_page import fill_page
from needful.errors import InvalidInputError
from needful.reports.page.page_data import FindEnvironment, page_data
from needful.reports.page.recorded_run import RecordedRun

# In this order they are one script.
SCRIPTS = (
    "elements.js",
    "charts.js",
    "summary.js",
    "operators.js",
    "climb.js",
    "picture.js",
    "tasks.js",
    "comparison.js",
    "page.js",
)


def make_report(runs: Sequence[RecordedRun], find_environment: FindEnvironment) -> str:
    """Return a page about runs as HTML without a link to anything; the same runs give the same page."""
    if not runs:
        raise InvalidInputError("A report needs at least one run.")
    script = "".join(['(() => {\n"use strict";\n', *map(_asset, SCRIPTS), "})();\n"])
    domains = dict.fromkeys(run.domain for run in runs)
    title = {"title": f"{', '.join(domains)} · needful"}
    data = page_data(runs, find_environment)
    return fill_page(_asset("page.html"), _asset("page.css"), script, data, title)


def _asset(name: str) -> str:
    return files("needful.reports.page").joinpath(name).read_text(encoding="utf-8")
