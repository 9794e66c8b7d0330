"""What a ground operator changes, as masks over the atoms of a compact problem."""

from __future__ import annotations

from typing import NamedTuple

from needful.planning.ground_problem import GroundProblem


class Change(NamedTuple):
    """What a ground operator needs, adds and deletes. What it needs and adds was there before."""

    needs: int
    adds: int
    deletes: int

    def after(self, state: int) -> int:
        """Return the state that follows one in which all that is needed holds."""
        return state & ~self.deletes | self.adds


def change_of(step: int, problem: GroundProblem) -> Change:
    """Return the change that a ground operator makes; adds win over all deletes."""
    operator = problem.ground_operators[step]
    deletes = operator.deletes
    for pattern in operator.patterns:
        deletes |= problem.pattern_masks[pattern]
    return Change(operator.preconditions, operator.adds & ~operator.preconditions, deletes & ~operator.adds)
