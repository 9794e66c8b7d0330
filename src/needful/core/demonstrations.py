"""Demonstrations and their transitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.controllers import Controller, GroundController
from needful.core.objects import Object, Type, counted, short_repr
from needful.core.state import State
from needful.errors import DemonstrationError


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of a demonstration: the execution of a controller.

    Attributes:
        before: the abstract state before the action (s_{i-1} in the paper).
        action: the executed controller with its objects and parameters (u_i).
        after: the abstract state after the action (s_i).
        state: the continuous state before the action (x_{i-1}); None if states were not recorded.
    """

    before: AbstractState
    action: GroundController
    after: AbstractState
    state: State | None = None

    def __repr__(self) -> str:
        return short_repr(
            self, str(self.action), f"{len(self.added)} added", f"{len(self.deleted)} deleted"
        )

    @property
    def added(self) -> AbstractState:
        """The atoms that became true in this transition."""
        return self.after - self.before

    @property
    def deleted(self) -> AbstractState:
        """The atoms that became false in this transition."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A solved task: n actions, n + 1 abstract states and, if recorded, n + 1 continuous states."""

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
        # Check the union of the states, so that an atom that holds in many states is checked only once.
        checked: tuple[GroundController | GroundAtom, ...] = (
            *self.actions,
            *sorted(frozenset[GroundAtom]().union(*self.abstract_states)),
        )
        for item in checked:
            unknown = [obj for obj in item.objects if obj not in known]
            if unknown:
                raise DemonstrationError(
                    f"{item} names {unknown[0]}, which is not among the demonstration's objects: {listed}."
                )

    def __repr__(self) -> str:
        recorded = "no states" if self.states is None else counted(self.states, "state")
        return short_repr(self, counted(self.actions, "action"), counted(self.objects, "object"), recorded)

    def __len__(self) -> int:
        return len(self.actions)

    def transitions(self) -> Iterator[Transition]:
        """Yield one transition per action, in order."""
        for index, action in enumerate(self.actions):
            yield Transition(
                self.abstract_states[index],
                action,
                self.abstract_states[index + 1],
                None if self.states is None else self.states[index],
            )


Demonstrations: TypeAlias = Sequence[Demonstration]


def check_declarations(demonstrations: Demonstrations) -> None:
    """Raise if two types, predicates or controllers of demonstrations have the same name, but differ."""
    declared: dict[tuple[str, str], tuple[int, object]] = {}
    # Comparing all items by value takes a tenth of the learning time. So remember by id which items were
    # already compared.
    compared: dict[int, object] = {}
    for number, one in enumerate(demonstrations):
        kinds: dict[str, Mapping[int, Type | Predicate | Controller]] = {
            "type": {id(obj.type): obj.type for obj in one.objects},
            "predicate": {
                id(atom.predicate): atom.predicate
                for atom in frozenset[GroundAtom]().union(*one.abstract_states)
            },
            "controller": {id(action.controller): action.controller for action in one.actions},
        }
        for kind, items in kinds.items():
            if items.keys() <= compared.keys():
                continue
            for item in sorted([items[key] for key in items.keys() - compared.keys()], key=repr):
                first, other = declared.setdefault((kind, item.name), (number, item))
                if other != item:
                    raise DemonstrationError(
                        f"Demonstration {first} uses {other!r} and demonstration {number} uses {item!r}, "
                        "which have the same name. Rename one of them."
                    )
            compared.update(items)
