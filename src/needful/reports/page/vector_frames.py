"""Pictures of states as vectors, for any environment that can draw itself with matplotlib."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from needful.core.atoms import AbstractState
from needful.core.state import State
from needful.envs.contract import Environment
from needful.reports.page.gallery import Frame, Gallery
from needful.reports.page.recorder import Recorder

POINTS_PER_INCH = 72
# Environments choose sizes of text that suit a panel of a film strip, which is not wider.
MOST_INCHES = 6.0


class Easel:
    """Draws the states of one environment, all on the same axes, which saves most of the time."""

    def __init__(self, environment: Environment) -> None:
        shrink = min(1.0, MOST_INCHES / environment.picture_size[0])
        width, height = (shrink * length for length in environment.picture_size)
        self.environment = environment
        self.size = (POINTS_PER_INCH * width, POINTS_PER_INCH * height)
        self.gallery = Gallery()
        self._recorder = Recorder(self.gallery, self.size)
        figure = Figure(figsize=(width, height), dpi=POINTS_PER_INCH)
        self._axes = _Sheet(figure, (0.0, 0.0, 1.0, 1.0))
        figure.add_axes(self._axes)
        self._empty = frozenset(self._axes.get_children())

    def frame(self, state: State, goal: AbstractState) -> Frame:
        """Return the picture of a state."""
        self._wipe()
        self.environment.draw(state, self._axes, goal)
        return self._recorder.record(self._axes)

    def _wipe(self) -> None:
        """Make the axes empty again; `Axes.clear` does more, but takes longer than most drawings."""
        for artist in self._axes.get_children():
            if artist not in self._empty:
                artist.remove()
        for text in (self._axes.title, self._axes.xaxis.label, self._axes.yaxis.label):
            text.set_text("")
        self._axes.set_prop_cycle(None)
        self._axes.relim()


class _Sheet(Axes):
    """Axes that do not look how far patches reach once their limits are set, because that takes long."""

    def add_patch(self, p: Any) -> Any:
        """Add a patch."""
        growing = self.get_autoscalex_on() or self.get_autoscaley_on()
        return super().add_patch(p) if growing else self.add_artist(p)
