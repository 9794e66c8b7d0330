"""Write a ground problem as input for Fast Downward's search component.

The format is SAS+ (version 3), the output of Fast Downward's translator, which grounds PDDL. Here the
problem is grounded already, so the translator is not needed. The translator would take longer than the
search on small tasks, and run out of memory on large tasks. Variables and operators have generated names,
such as v3 and o7, so the planner never reads names chosen by the user.

Each variable stands for an atom; its value is 0 if the atom holds, and 1 if not.
"""

from __future__ import annotations

from collections.abc import Iterator

from needful.abstraction.atom_table import bits
from needful.planning.budget import Budget
from needful.planning.grounding import EncodedOperator, GroundProblem, deleted_atoms

# The number of an additional variable, which stands for an atom that always holds.
_TRUE = 0


def sas_task(problem: GroundProblem, budget: Budget) -> str | None:
    """Return a ground problem as a text in the format SAS+, or None if time ran out.

    The ground operator with index 7 is named o7. Two kinds of atoms are left out: those that occur neither
    in a precondition nor in the goal, and those that always hold. Atoms of negative preconditions are never
    left out. The goal must not hold at the start. Otherwise all goal atoms might be left out, and the
    planner rejects a task without a goal.
    """
    deleted = []
    for operator in problem.ground_operators:
        if budget.expired():
            return None
        deleted.append(deleted_atoms(operator, problem))
    numbers = {
        atom: number for number, atom in enumerate(_necessary_variables(problem, deleted), start=_TRUE + 1)
    }
    lines = ["begin_version", "3", "end_version", "begin_metric", "0", "end_metric"]
    lines += _variables(len(numbers) + 1)
    lines += ["0", "begin_state", "0", *(str(1 - (problem.initial >> atom & 1)) for atom in numbers)]
    goal = [f"{number} 0" for atom, number in numbers.items() if problem.goal >> atom & 1]
    lines += ["end_state", "begin_goal", str(len(goal)), *goal, "end_goal"]
    lines.append(str(len(problem.ground_operators)))
    for index, operator in enumerate(problem.ground_operators):
        if budget.expired():
            return None
        lines += [f"begin_operator\no{index}", *_operator(operator, deleted[index], numbers)]
        lines += ["1", "end_operator"]
    lines.append("0\n")
    return "\n".join(lines)


def _necessary_variables(problem: GroundProblem, deleted: list[int]) -> Iterator[int]:
    needed, forbidden, ever_deleted = problem.goal, 0, 0
    for operator, mask in zip(problem.ground_operators, deleted, strict=True):
        needed |= operator.preconditions
        forbidden |= operator.negative_preconditions
        ever_deleted |= mask
    return bits(needed & (ever_deleted | ~problem.initial) | forbidden)


def _variables(count: int) -> Iterator[str]:
    yield str(count)
    for number in range(count):
        yield f"begin_variable\nv{number}\n-1\n2\nAtom a{number}()\nNegatedAtom a{number}()\nend_variable"


def _operator(operator: EncodedOperator, deleted: int, numbers: dict[int, int]) -> list[str]:
    """Return the lines of an operator: the conditions on atoms that it does not change, then its changes.

    A change gives a variable, its value before the step (-1 for any value) and its value after the step.
    """
    conditions, changes = [], []
    forbidden = operator.negative_preconditions
    for atom in bits(operator.preconditions | forbidden | operator.adds | deleted):
        number = numbers.get(atom)
        if number is None:
            continue
        before = 0 if operator.preconditions >> atom & 1 else 1 if forbidden >> atom & 1 else -1
        after = 1 if deleted >> atom & 1 else 0 if operator.adds >> atom & 1 else before
        if before == after:
            conditions.append(f"{number} {before}")
        else:
            changes.append(f"0 {number} {before} {after}")
    # The format requires at least one change, so an operator without effects sets the variable _TRUE.
    changes = changes or [f"0 {_TRUE} -1 0"]
    return [str(len(conditions)), *conditions, str(len(changes)), *changes]
