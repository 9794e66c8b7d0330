"""The files in which `needful plan` shows a plan: pictures, films and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import typer

from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Environment
from needful.envs.drawing.animation import film_plan
from needful.envs.drawing.captions import captions_of
from needful.envs.drawing.film import Filmable, as_gif, as_mp4, import_ffmpeg
from needful.envs.drawing.pictures import draw_film_strip
from needful.storage.atomic import check_output_file, write_bytes
from needful.storage.output_kinds import GIF, MP4, PAGE, PNG

KINDS = {"picture": PNG, "gif": GIF, "mp4": MP4, "page": PAGE}


@dataclass(frozen=True, slots=True)
class PlanDrawings:
    """Where each kind of drawing goes; None if it is not wanted. The names are those of the options."""

    picture: Path | None = None
    gif: Path | None = None
    mp4: Path | None = None
    page: Path | None = None

    @property
    def wanted(self) -> dict[str, Path]:
        """The options that were given, with their paths."""
        paths = {field.name: getattr(self, field.name) for field in fields(self)}
        return {option: path for option, path in paths.items() if path is not None}

    def check(self, environment: Environment, force: bool) -> None:
        """Raise now, before long work, if any drawing cannot be made or its file not be written."""
        if self.page is not None and not isinstance(environment, Filmable):
            raise typer.BadParameter(
                f"{environment.name} has no space to look around in; pages are for household domains. "
                "Use --gif or --picture.",
                param_hint="--page",
            )
        if self.mp4 is not None:
            import_ffmpeg()
        for option, path in self.wanted.items():
            check_output_file(path, KINDS[option], force)

    def write(self, environment: Environment, task: Task, result: PlanningResult) -> None:
        """Make all drawings and then write them, so that an error leaves none of them behind."""
        # In both kinds of file it is the same film.
        film = cache(lambda: film_plan(environment, result, task.goal))
        makers: dict[str, Callable[[], bytes]] = {
            "picture": lambda: _picture(environment, task, result),
            "gif": lambda: as_gif(film()),
            "mp4": lambda: as_mp4(film()),
            "page": lambda: _page(environment, task, result),
        }
        drawn = [(path, makers[option]()) for option, path in self.wanted.items()]
        for path, data in drawn:
            write_bytes(path, data)


def _picture(environment: Environment, task: Task, result: PlanningResult) -> bytes:
    captions = captions_of(result.steps, result.milestones(task.goal), result.states)
    return draw_film_strip(environment, result.states, captions, task.goal)


def _page(environment: Environment, task: Task, result: PlanningResult) -> bytes:
    assert isinstance(environment, Filmable)  # `check` says so to people
    return environment.page(result, task.goal).encode()
