"""A domain whose vocabulary lacks predicates: blocks are picked up and put on a table or a shelf.

A block can be put down only while it is held; several blocks can be held at once. The parameter of Pick
decides the grip: from above or from the side. Blocks go onto the table from above, and onto the shelf from
the side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from needful import (
    Controller,
    Environment,
    GroundController,
    Object,
    Predicate,
    Split,
    State,
    Task,
    Type,
    Vocabulary,
)
from needful.errors import EnvironmentFailure

BLOCK = Type("block", ("held", "grip", "surface", "colour"))
TABLE, SHELF = 1.0, 2.0


def _lies_on(surface: float):
    def classifier(state: State, objects: Sequence[Object]) -> bool:
        return state.get(objects[0], "surface") == surface

    return classifier


ON_TABLE = Predicate("OnTable", (BLOCK,), _lies_on(TABLE))
ON_SHELF = Predicate("OnShelf", (BLOCK,), _lies_on(SHELF))
# Written by hand, to compare with; withheld when predicates are invented.
HOLDING = Predicate("Holding", (BLOCK,), lambda state, objects: state.get(objects[0], "held") > 0.5)
PICK = Controller("Pick", (BLOCK,), (0.0,), (1.0,))
PUT_ON_TABLE = Controller("PutOnTable", (BLOCK,))
PUT_ON_SHELF = Controller("PutOnShelf", (BLOCK,))


class Gripping(Environment):
    """The goal is to put each block on the table or on the shelf."""

    name = "gripping"
    description = "Blocks are put on a table or a shelf."
    vocabulary = Vocabulary((BLOCK,), (ON_TABLE, ON_SHELF, HOLDING), (PICK, PUT_ON_TABLE, PUT_ON_SHELF))

    def simulate(self, state: State, action: GroundController) -> State:
        (block,) = action.objects
        if action.controller == PICK:
            return state.replace({block: {"held": 1.0, "grip": action.parameters[0], "surface": 0.0}})
        on_table = action.controller == PUT_ON_TABLE
        if not state.get(block, "held") or (state.get(block, "grip") > 0.5) != on_table:
            raise EnvironmentFailure(f"{block} is not held in the right way.", frozenset({block}))
        return state.replace({block: {"held": 0.0, "surface": TABLE if on_table else SHELF}})

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        blocks = [BLOCK(f"block{number}") for number in range(int(rng.integers(1, 4)))]
        state = State({block: (0.0, rng.uniform(), 0.0, rng.uniform()) for block in blocks})
        return Task(
            state, frozenset((ON_TABLE if rng.uniform() > 0.5 else ON_SHELF)(one) for one in blocks)
        )

    def demonstrate(self, task: Task, rng: np.random.Generator) -> Iterator[GroundController]:
        for atom in sorted(task.goal):
            (block,) = atom.objects
            on_table = atom.predicate == ON_TABLE
            yield PICK(block, parameters=(rng.uniform(0.55, 1.0) if on_table else rng.uniform(0.0, 0.45),))
            yield (PUT_ON_TABLE if on_table else PUT_ON_SHELF)(block)
