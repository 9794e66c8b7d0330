"""Demonstrations with their atoms numbered, so that learning works on integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needful.abstraction.atom_table import AtomTable
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTransition:
    """One transition τ: s_{i-1} is `before`, s_i is `after`, u_i is `controller` on `arguments`.

    `demonstration` and `step` (from 0) say where it comes from; masks and object numbers are those
    of the demonstration's `table`.
    """

    demonstration: int
    step: int
    table: AtomTable
    controller: Controller
    arguments: tuple[int, ...]
    before: int
    after: int

    @property
    def added(self) -> int:
        """The atoms that became true."""
        return self.after & ~self.before

    @property
    def deleted(self) -> int:
        """The atoms that became false."""
        return self.before & ~self.after


@dataclass(frozen=True, slots=True, eq=False)
class EncodedDemonstration:
    """The transitions of one demonstration and its goal."""

    index: int
    table: AtomTable
    goal: int
    transitions: tuple[EncodedTransition, ...]


def encode_demonstrations(demonstrations: Sequence[Demonstration]) -> tuple[EncodedDemonstration, ...]:
    """Number the objects and atoms of each demonstration."""
    return tuple(_encode(index, demo) for index, demo in enumerate(demonstrations))


def _encode(index: int, demonstration: Demonstration) -> EncodedDemonstration:
    table = AtomTable(demonstration.objects)
    states = [table.encode(state) for state in demonstration.abstract_states]
    transitions = tuple(
        EncodedTransition(
            index,
            step,
            table,
            action.controller,
            tuple(table.object_number[obj] for obj in action.objects),
            states[step],
            states[step + 1],
        )
        for step, action in enumerate(demonstration.actions)
    )
    return EncodedDemonstration(index, table, table.encode(demonstration.goal), transitions)
