"""A stream of the plans that a program outside this process finds.

The program runs once, when the first plan is asked for, and only while that plan is waited for.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from needful.core.plans import Effort, Outcome
from needful.errors import PlannerError
from needful.planning.budget import Budget
from needful.planning.external.guarded_process import Finished, run_guarded
from needful.planning.external.sas_task import deleted_atoms, sas_task
from needful.planning.ground_problem import GroundProblem

Steps: TypeAlias = tuple[int, ...]

# What Fast Downward and its kin mean by their exit status.
_SOLVED = 0
_ENDED_WITHOUT_PLAN = {
    12: None,  # A search that may overlook plans found none.
    22: Outcome.OUT_OF_NODES,
    23: Outcome.TIMEOUT,
    24: Outcome.TIMEOUT,
}
_COUNTER = re.compile(r"(Generated|Expanded|Evaluated) (\d+) state")


@dataclass(frozen=True, slots=True)
class Program:
    """How a planner is started and understood.

    Attributes:
        name: what people call it.
        command: the program and its arguments; it finds the task on its standard input.
        memory: how many bytes it may use; when they are spent, the outcome is `OUT_OF_NODES`.
        plans: how many plans it looks for; with fewer it has proved that there are no others.
        unsolvable: the exit status by which it says that there is no plan at all.
        read: returns its plans from the folder in which it ran; raises OSError, ValueError, LookupError
            or TypeError if they make no sense.
    """

    name: str
    command: tuple[str, ...]
    memory: int
    plans: int
    unsolvable: int
    read: Callable[[Path], list[Steps]]


@dataclass(frozen=True, slots=True)
class _Answer:
    plans: list[Steps]
    ended: Outcome | None


class ExternalPlans:
    """The plans of one run of a program, none of which goes on after the goal; see `PlanStream`.

    After the last plan `ended` stays None if nobody knows whether there are others. A cap on nodes is
    looked at before the program starts; from then on its memory is limited instead.
    """

    def __init__(self, program: Program, problem: GroundProblem, budget: Budget, effort: Effort) -> None:
        self.ended: Outcome | None = None
        self._program = program
        self._problem = problem
        self._budget = budget
        self._effort = effort
        self._answer: _Answer | None = None

    def __iter__(self) -> ExternalPlans:
        return self

    def __next__(self) -> Steps:
        if self.ended is None and self._budget.expired():
            self.ended = Outcome.TIMEOUT
        if self.ended is None:
            self._answer = self._answer or self._ask()
            if self._answer.plans:
                return self._answer.plans.pop(0)
            self.ended = self._answer.ended
        raise StopIteration

    def _ask(self) -> _Answer:
        problem = self._problem
        if _achieved(problem.initial, problem):
            return _Answer([()], Outcome.NO_ABSTRACT_PLAN)
        if not problem.goal_reachable:
            return _Answer([], Outcome.NO_ABSTRACT_PLAN)
        if not self._budget.allows(self._effort.nodes_created):
            return _Answer([], Outcome.OUT_OF_NODES)
        task = sas_task(problem, self._budget)
        if task is None:
            return _Answer([], Outcome.TIMEOUT)
        with tempfile.TemporaryDirectory(prefix="needful-", ignore_cleanup_errors=True) as name:
            return self._run(task, Path(name))

    def _run(self, task: str, folder: Path) -> _Answer:
        program = self._program
        stdin = folder / "task.sas"
        stdin.write_text(task)
        finished = run_guarded(program.command, folder, stdin, self._budget.remaining(), program.memory)
        if finished is None:
            return _Answer([], Outcome.TIMEOUT)
        self._count(finished.output)
        endings = {**_ENDED_WITHOUT_PLAN, program.unsolvable: Outcome.NO_ABSTRACT_PLAN}
        if finished.status in endings:
            return _Answer([], endings[finished.status])
        if finished.status != _SOLVED:
            raise _failure(program, finished, "failed")
        try:
            found = program.read(folder)
            plans = [steps for steps in found if self._stops_at_goal(steps)]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise _failure(program, finished, f"gave an answer that makes no sense ({error})") from error
        return _Answer(plans, None if len(found) >= program.plans else Outcome.NO_ABSTRACT_PLAN)

    def _count(self, output: str) -> None:
        # Totals are printed last, so they replace what was printed on the way.
        counted = {kind: int(number) for kind, number in _COUNTER.findall(output)}
        self._effort.nodes_created += counted.get("Generated", 0)
        self._effort.nodes_expanded += counted.get("Expanded", 0)
        self._effort.nodes_evaluated += counted.get("Evaluated", 0)

    def _stops_at_goal(self, steps: Steps) -> bool:
        """Return whether the goal holds in the end and not before; a plan must work and reach it."""
        problem = self._problem
        state = problem.initial
        states = []
        for step in steps:
            states.append(state)
            operator = problem.ground_operators[step]
            if operator.preconditions & ~state:
                raise ValueError(f"the plan {steps} does not work")
            state = state & ~deleted_atoms(operator, problem) | operator.adds
        if not _achieved(state, problem):
            raise ValueError(f"the plan {steps} misses the goal")
        return not any(_achieved(earlier, problem) for earlier in states)


def step_of(name: str) -> int:
    """Return the number of a ground operator from its name in the task; see `sas_task`."""
    found = re.fullmatch(r"o(\d+)", name)
    if found is None:
        raise ValueError(f"unknown step {name!r}")
    return int(found[1])


def _achieved(state: int, problem: GroundProblem) -> bool:
    return problem.goal & ~state == 0


def _failure(program: Program, finished: Finished, what: str) -> PlannerError:
    lines = [line for line in finished.output.splitlines() if line.strip()][-10:]
    return PlannerError(
        f"{program.name} {what}; exit status {finished.status}. Choose another planner, or see what it "
        "said last:\n" + "\n".join(lines or ["(nothing)"])
    )
