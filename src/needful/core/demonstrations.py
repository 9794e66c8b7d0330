"""Demonstrations and the transitions they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import GroundController
from needful.core.objects import Object
from needful.core.state import State
from needful.errors import DemonstrationError


@dataclass(frozen=True, slots=True)
class Transition:
    """One execution of a controller: s_{i-1}, u_i, s_i, and x_{i-1} where states were recorded."""

    before: AbstractState
    action: GroundController
    after: AbstractState
    state: State | None = None

    @property
    def added(self) -> AbstractState:
        """The atoms that became true."""
        return self.after - self.before

    @property
    def deleted(self) -> AbstractState:
        """The atoms that became false."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A solved task: n actions, n + 1 abstract states, and n + 1 states if they were recorded."""

    objects: tuple[Object, ...]
    goal: AbstractState
    abstract_states: tuple[AbstractState, ...]
    actions: tuple[GroundController, ...]
    states: tuple[State, ...] | None = None

    def __post_init__(self) -> None:
        count = len(self.actions)
        if len(self.abstract_states) != count + 1:
            raise DemonstrationError(
                f"A demonstration of {count} actions needs {count + 1} abstract states, "
                f"got {len(self.abstract_states)}."
            )
        if self.states is not None and len(self.states) != count + 1:
            raise DemonstrationError(
                f"A demonstration of {count} actions needs {count + 1} states, got {len(self.states)}."
            )
        missing = self.goal - self.abstract_states[-1]
        if missing:
            atoms = ", ".join(map(str, sorted(missing)))
            raise DemonstrationError(f"The goal does not hold at the end of a demonstration: {atoms}.")
        self._check_objects()

    def _check_objects(self) -> None:
        known = set(self.objects)
        listed = ", ".join(map(str, sorted(known)))
        if len({obj.name for obj in known}) != len(known):
            raise DemonstrationError(f"Two objects of a demonstration share a name: {listed}.")
        # Neighbouring states share most atoms; looking at each once keeps long demonstrations cheap.
        named: tuple[GroundController | GroundAtom, ...] = (
            *self.actions,
            *sorted(frozenset[GroundAtom]().union(*self.abstract_states)),
        )
        for item in named:
            strangers = [obj for obj in item.objects if obj not in known]
            if strangers:
                raise DemonstrationError(
                    f"{item} names {strangers[0]}, which is none of the demonstration's objects: {listed}."
                )

    def __len__(self) -> int:
        return len(self.actions)

    def transitions(self) -> Iterator[Transition]:
        """Yield the transitions in order."""
        for index, action in enumerate(self.actions):
            yield Transition(
                self.abstract_states[index],
                action,
                self.abstract_states[index + 1],
                None if self.states is None else self.states[index],
            )
