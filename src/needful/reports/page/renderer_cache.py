"""The renderers that draw the states of a page's domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from needful.envs.contract import Environment
from needful.errors import InvalidInputError
from needful.reports.page.task_films import FilmLimits

if TYPE_CHECKING:
    from needful.reports.page.svg_recorder import StateRenderer

# A function that returns the environment of a domain; it raises `InvalidInputError` if there is none.
FindEnvironment: TypeAlias = Callable[[str], Environment]


@dataclass(frozen=True, slots=True)
class RendererCache:
    """Creates one renderer per domain, on demand, to draw the states of its tasks.

    If the states of a domain cannot be drawn, `renderers` has the reason as a text instead of a renderer.
    """

    find_environment: FindEnvironment
    limits: FilmLimits
    renderers: dict[str, StateRenderer | str] = field(default_factory=dict)

    def renderer(self, domain: str) -> StateRenderer | str:
        """Return the renderer of a domain, or the reason why there is none."""
        if domain not in self.renderers:
            self.renderers[domain] = self._make_renderer(domain)
        return self.renderers[domain]

    def disable(self, domain: str, reason: str) -> None:
        """Replace the renderer of a domain by the reason why it cannot be used."""
        self.renderers[domain] = reason

    def as_json(self) -> dict[str, Any]:
        """Return, for each domain with a renderer, the size of its pictures and its `MarkTable`."""
        return {
            domain: {"size": renderer.size, **renderer.mark_table.as_json()}
            for domain, renderer in self.renderers.items()
            if not isinstance(renderer, str)
        }

    def _make_renderer(self, domain: str) -> StateRenderer | str:
        from needful.reports.page.svg_recorder import StateRenderer

        try:
            return StateRenderer(self.find_environment(domain))
        except InvalidInputError as error:
            return str(error)
