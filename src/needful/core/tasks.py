"""Tasks: a goal and an initial state, which is continuous (`Task`) or a set of atoms (`AbstractTask`)."""

from __future__ import annotations

from dataclasses import dataclass

from needful.core.atoms import AbstractState
from needful.core.objects import Object, counted, short_repr
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError


@dataclass(frozen=True, slots=True)
class Task:
    """An initial state and a goal, which is a set of ground atoms."""

    initial_state: State
    goal: AbstractState

    def __post_init__(self) -> None:
        if not self.goal:
            raise InvalidInputError("The goal of a task is empty. Give at least one atom.")
        for atom in sorted(self.goal):
            for obj in atom.objects:
                if obj not in self.initial_state:
                    raise UnknownNameError(
                        f"object in the goal atom {atom}", obj.name, (o.name for o in self.objects)
                    )

    def __repr__(self) -> str:
        return short_repr(self, counted(self.objects, "object"), counted(self.goal, "goal atom"))

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects of the task, sorted by name."""
        return self.initial_state.objects

    def achieved_in(self, state: State) -> bool:
        """Return whether the goal of this task holds in the given state."""
        return all(atom.holds(state) for atom in self.goal)


@dataclass(frozen=True, slots=True, repr=False)
class AbstractTask:
    """A task for a symbolic planner: atoms instead of a continuous state.

    Attributes:
        objects: the objects of the task, in any order.
        initial: the atoms that hold at the start.
        goal: the atoms that must hold at the end.
    """

    objects: tuple[Object, ...]
    initial: AbstractState
    goal: AbstractState

    def __repr__(self) -> str:
        counts = f"{len(self.objects)} objects, {len(self.initial)} initial atoms"
        return f"AbstractTask({counts}, {len(self.goal)} goal atoms)"
